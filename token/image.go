package token

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // formats that image.DecodeConfig tells
	_ "image/jpeg"
	_ "image/png"
	"io"
	"math"
	"sort"
	"strings"
)

type imageRule func(width, height int) int64

// tokens returns the price of an image. One whose size can't be read is priced as a
// picture of a usual screen.
func (r imageRule) tokens(width, height int) int64 {
	if width <= 0 || height <= 0 {
		width, height = 1920, 1080
	}
	return r(width, height)
}

// imageRuleOf returns the price of images for a model; without a model, that of
// the newest of the family.
func imageRuleOf(f family, provider, model string) imageRule {
	model = strings.ToLower(model)
	switch {
	case f == claude47:
		return claudeImages(2576, 4784)
	case f == gpt:
		return openAIImages(model)
	case f == universal && (strings.Contains(model, "gemini") || model == "" && strings.Contains(strings.ToLower(provider), "google")):
		return geminiImages(model)
	}
	// Other models are taken to be like Claude up to 4.6: patches of 28 pixels are also
	// what Qwen cuts images into.
	return claudeImages(1568, 1568)
}

// claudeImages is the rule of
// https://platform.claude.com/docs/en/build-with-claude/vision#evaluate-image-size:
// a token for each patch of 28 × 28 pixels, after the image was scaled down to the
// greatest edge and number of patches.
func claudeImages(maxEdge, maxPatches int) imageRule {
	return func(width, height int) int64 {
		long, short := max(width, height), min(width, height)
		shape := float64(short) / float64(long)
		patches := func(edge int) int {
			return squares(edge, 28) * squares(max(1, int(math.RoundToEven(float64(edge)*shape))), 28)
		}
		fits := func(edge int) bool { return edge <= maxEdge && patches(edge) <= maxPatches }
		if !fits(long) {
			// The first edge that no longer fits, less one.
			long = max(1, sort.Search(long, func(edge int) bool { return edge > 0 && !fits(edge) })-1)
		}
		return int64(patches(long))
	}
}

// patchImages prices patches of 32 pixels. It fits the picture into a square of maxEdge,
// then into maxPatches whole patches; 0 is no limit.
func patchImages(factor, maxEdge, maxPatches float64) imageRule {
	const side = 32
	return func(width, height int) int64 {
		w, h := float64(width), float64(height)
		if s := maxEdge / max(w, h); s < 1 {
			w, h = math.Round(w*s), math.Round(h*s)
		}
		count := math.Ceil(w/side) * math.Ceil(h/side)
		if maxPatches > 0 && count > maxPatches {
			s := math.Sqrt(side * side * maxPatches / (w * h))
			across, down := w*s/side, h*s/side
			s *= min(math.Floor(across)/across, math.Floor(down)/down)
			// A picture so narrow that less than one patch is left keeps one.
			count = max(1, math.Ceil(math.Floor(w*s)/side)) * max(1, math.Ceil(math.Floor(h*s)/side))
			count = min(count, maxPatches)
		}
		return int64(math.Ceil(max(count, 1) * factor))
	}
}

// tileImages fits the picture into a square of 2,048 pixels, its short side into 768,
// and prices the tiles of 512 pixels that cover it.
func tileImages(base, each int64) imageRule {
	return func(width, height int) int64 {
		w, h := float64(width), float64(height)
		if s := 2048 / max(w, h); s < 1 {
			w, h = w*s, h*s
		}
		if s := 768 / min(w, h); s < 1 {
			w, h = w*s, h*s
		}
		n := squares(int(math.Round(w)), 512) * squares(int(math.Round(h)), 512)
		return base + each*int64(max(n, 1))
	}
}

func squares(n, side int) int { return (n + side - 1) / side }

// openAIImages is the rule of
// https://developers.openai.com/api/docs/guides/images-vision#calculating-costs
// for the default level of detail: tiles for most models up to GPT-5.1, patches times a
// factor for small ones and all later ones.
func openAIImages(model string) imageRule {
	model = model[strings.LastIndexByte(model, '/')+1:]
	small, tiny := strings.Contains(model, "mini"), strings.Contains(model, "nano")
	switch {
	case strings.HasPrefix(model, "gpt-4o") && small:
		return tileImages(2833, 5667)
	case strings.HasPrefix(model, "gpt-4.1") && small:
		return patchImages(1.62, 2048, 6144)
	case strings.HasPrefix(model, "gpt-4.1") && tiny:
		return patchImages(2.46, 2048, 1536)
	case strings.HasPrefix(model, "gpt-4"), strings.HasPrefix(model, "chatgpt-4"):
		return tileImages(85, 170)
	case strings.HasPrefix(model, "o4"):
		return patchImages(1.72, 2048, 1536)
	case openAIReasoner(model):
		return tileImages(75, 150)
	}
	_, after, _ := strings.Cut(model, "gpt")
	major, minor, ok := version(after)
	switch {
	case !ok || major > 5 || major == 5 && minor > 5:
		return patchImages(1.2, maxSide, 0)
	case minor == 5:
		return patchImages(1.2, 6000, 10_000)
	case minor == 4:
		return patchImages(1.2, 2048, 2500)
	case minor >= 2:
		return patchImages(1.2, 2048, 6144)
	case tiny:
		return patchImages(1.5, 2048, 1536)
	case small:
		return patchImages(1.2, 2048, 1536)
	}
	return tileImages(70, 140)
}

// geminiImages is the rule of https://ai.google.dev/gemini-api/docs/tokens up to Gemini
// 2.5: 258 tokens for a small picture and for each crop of a larger one. Since Gemini 3
// every picture costs 1,120: https://ai.google.dev/gemini-api/docs/media-resolution.
func geminiImages(model string) imageRule {
	const each = 258
	_, after, _ := strings.Cut(model, "gemini")
	if major, _, ok := version(after); !ok || major >= 3 {
		return func(int, int) int64 { return 1120 }
	}
	return func(width, height int) int64 {
		if width <= 384 && height <= 384 {
			return each
		}
		// Crops have two thirds of the short side, but 256 to 768 pixels.
		side := min(max(min(width, height)*2/3, 256), 768)
		return each * int64(squares(width, side)*squares(height, side))
	}
}

// headerLimit is how much of an image is decoded in search of its size. The
// size of a JPEG stands behind its metadata, which can hold a small picture.
const headerLimit = 256 << 10

// maxSide is the longest side any image is taken to have, whatever it says.
const maxSide = 1<<16 - 1

// imageSize returns width and height of an image given as base64 or as a data URL. Both
// are 0 when it is no PNG, JPEG, GIF or WebP, or its header is damaged.
func imageSize(data string) (width, height int) {
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	header := func() io.Reader {
		return io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), headerLimit)
	}
	c, _, err := image.DecodeConfig(header())
	if errors.Is(err, image.ErrFormat) {
		c, err = webpConfig(header())
	}
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return 0, 0
	}
	return min(c.Width, maxSide), min(c.Height, maxSide)
}

// webpConfig reads the size of a WebP image from its first chunk: "VP8 " (RFC
// 6386, section 9.1), "VP8L" (RFC 9649, section 3.4) or "VP8X" (RFC 9649, section 2.7).
func webpConfig(r io.Reader) (image.Config, error) {
	var b [30]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return image.Config{}, err
	}
	if string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return image.Config{}, image.ErrFormat
	}
	var width, height uint32
	switch string(b[12:16]) {
	case "VP8 ":
		// Three bytes of frame tag, three of start code, then 14 bits each.
		width = uint32(binary.LittleEndian.Uint16(b[26:]) & 0x3FFF)
		height = uint32(binary.LittleEndian.Uint16(b[28:]) & 0x3FFF)
	case "VP8L":
		// One byte of signature, then 14 bits each, less one.
		bits := binary.LittleEndian.Uint32(b[21:])
		width, height = bits&0x3FFF+1, bits>>14&0x3FFF+1
	case "VP8X":
		// Four bytes of flags, then 24 bits each, less one.
		width = binary.LittleEndian.Uint32(b[24:])&0xFFFFFF + 1
		height = binary.LittleEndian.Uint32(b[26:])>>8 + 1
	}
	return image.Config{Width: int(width), Height: int(height)}, nil
}
