package token

import (
	"math"
	"sort"
	"strings"
)

// imageRule is how a provider prices an image by its size in pixels. Each
// divides the picture into squares, after scaling it down where it is too large.
type imageRule struct {
	kind ruleKind

	square    int     // side of a patch or tile
	maxEdge   int     // longest side, 0 for no limit
	maxCount  int     // most patches, 0 for no limit
	factor    float64 // tokens for a patch
	base      int64   // tokens for any image
	perSquare int64   // tokens for a tile
}

type ruleKind uint8

const (
	patches ruleKind = iota // a token for each small square, in the largest size that fits
	shrunk                  // the same, but a picture that is too large shrinks to whole squares
	tiles                   // many tokens for each large square
	crops                   // squares cut to the shape of the picture
	flat                    // the same for every picture
)

// An image whose size can't be read is priced as a picture of a usual screen.
const (
	unknownWidth  = 1920
	unknownHeight = 1080
)

// tokens returns the price of an image.
func (r *imageRule) tokens(width, height int) int64 {
	if width <= 0 || height <= 0 {
		width, height = unknownWidth, unknownHeight
	}
	switch r.kind {
	case patches:
		return r.patchTokens(width, height)
	case shrunk:
		return r.shrunkTokens(width, height)
	case tiles:
		return r.tileTokens(width, height)
	case crops:
		return r.cropTokens(width, height)
	default: // flat
		return r.base
	}
}

// patchTokens scales the picture to the largest size of its shape that fits the
// limits, and counts the patches that cover it.
func (r *imageRule) patchTokens(width, height int) int64 {
	long, short := max(width, height), min(width, height)
	shape := float64(short) / float64(long)
	at := func(edge int) int {
		return ceilTo(edge, r.square) * ceilTo(max(1, int(math.RoundToEven(float64(edge)*shape))), r.square)
	}
	fits := func(edge int) bool {
		return (r.maxEdge == 0 || edge <= r.maxEdge) && (r.maxCount == 0 || at(edge) <= r.maxCount)
	}
	if !fits(long) {
		// The first edge that no longer fits, less one.
		long = max(1, sort.Search(long, func(edge int) bool { return edge > 0 && !fits(edge) })-1)
	}
	return int64(math.Ceil(float64(at(long)) * r.factor))
}

// shrunkTokens fits the picture into a square of maxEdge and then, if it has too
// many patches, scales it so that the side that loses most by it is whole patches.
func (r *imageRule) shrunkTokens(width, height int) int64 {
	w, h, square := float64(width), float64(height), float64(r.square)
	if s := float64(r.maxEdge) / max(w, h); s < 1 {
		w, h = math.Round(w*s), math.Round(h*s)
	}
	count := math.Ceil(w/square) * math.Ceil(h/square)
	if most := float64(r.maxCount); most > 0 && count > most {
		s := math.Sqrt(square * square * most / (w * h))
		across, down := w*s/square, h*s/square
		s *= min(math.Floor(across)/across, math.Floor(down)/down)
		// A picture so narrow that less than one patch is left keeps one.
		count = max(1, math.Ceil(math.Floor(w*s)/square)) * max(1, math.Ceil(math.Floor(h*s)/square))
		count = min(count, most)
	}
	return int64(math.Ceil(max(count, 1) * r.factor))
}

// tileTokens fits the picture into a square of maxEdge, its short side into 768
// pixels, and counts the tiles that cover it.
func (r *imageRule) tileTokens(width, height int) int64 {
	w, h := float64(width), float64(height)
	if s := float64(r.maxEdge) / max(w, h); s < 1 {
		w, h = w*s, h*s
	}
	if s := 768 / min(w, h); s < 1 {
		w, h = w*s, h*s
	}
	n := ceilTo(int(math.Round(w)), r.square) * ceilTo(int(math.Round(h)), r.square)
	return r.base + r.perSquare*int64(max(n, 1))
}

// cropTokens cuts the picture into squares of two thirds of its short side, but
// of at least 256 and at most r.square pixels.
func (r *imageRule) cropTokens(width, height int) int64 {
	if width <= 384 && height <= 384 {
		return r.perSquare
	}
	side := min(max(min(width, height)*2/3, 256), r.square)
	return r.perSquare * int64(ceilTo(width, side)*ceilTo(height, side))
}

func ceilTo(n, square int) int { return (n + square - 1) / square }

// imageRuleOf returns the price of images for a model; without a model, that of
// the newest of the family.
func imageRuleOf(f family, provider, model string) imageRule {
	model = strings.ToLower(model)
	switch f {
	case claude:
		return claudeImages(1568, 1568)
	case claude47:
		return claudeImages(2576, 4784)
	case gpt:
		return openAIImages(model)
	default:
	}
	if strings.Contains(model, "gemini") || model == "" && strings.Contains(strings.ToLower(provider), "google") {
		return geminiImages(model)
	}
	// Other models are taken to be like the first Claude models that see: patches of
	// 28 pixels are also what Qwen cuts images into.
	return claudeImages(1568, 1568)
}

// claudeImages is the rule of
// https://platform.claude.com/docs/en/build-with-claude/vision#evaluate-image-size:
// a token for each patch of 28 × 28 pixels. Up to 4.6 an image is scaled down to
// at most 1,568 pixels on the long side and 1,568 patches, since 4.7 to 2,576
// pixels and 4,784 patches. (Older editions of that page say width × height / 750,
// which is nearly the same.)
func claudeImages(maxEdge, maxCount int) imageRule {
	return imageRule{kind: patches, square: 28, maxEdge: maxEdge, maxCount: maxCount, factor: 1}
}

// openAIImages is the rule of
// https://developers.openai.com/api/docs/guides/images-vision#calculating-costs
// for the default level of detail. Models up to GPT-5.1 count tiles of 512
// pixels, but for the small ones; those and all since GPT-5.2 count patches of 32
// pixels times a factor.
func openAIImages(model string) imageRule {
	patch := func(factor float64, maxEdge, maxCount int) imageRule {
		return imageRule{kind: shrunk, square: 32, maxEdge: maxEdge, maxCount: maxCount, factor: factor}
	}
	tile := func(base, each int64) imageRule {
		return imageRule{kind: tiles, square: 512, maxEdge: 2048, base: base, perSquare: each}
	}
	model = model[strings.LastIndexByte(model, '/')+1:]
	small := strings.Contains(model, "mini")
	tiny := strings.Contains(model, "nano")
	switch {
	case strings.HasPrefix(model, "gpt-4o") && small:
		return tile(2833, 5667)
	case strings.HasPrefix(model, "gpt-4.1") && small:
		return patch(1.62, 2048, 6144)
	case strings.HasPrefix(model, "gpt-4.1") && tiny:
		return patch(2.46, 2048, 1536)
	case strings.HasPrefix(model, "gpt-4"), strings.HasPrefix(model, "chatgpt-4"):
		return tile(85, 170)
	case strings.HasPrefix(model, "o4"):
		return patch(1.72, 2048, 1536)
	case openAIReasoner(model):
		return tile(75, 150)
	}
	_, after, _ := strings.Cut(model, "gpt")
	major, minor, ok := version(after)
	switch {
	case !ok || major > 5 || major == 5 && minor > 5:
		return patch(1.2, maxSide, 0)
	case minor == 5:
		return patch(1.2, 6000, 10_000)
	case minor == 4:
		return patch(1.2, 2048, 2500)
	case minor >= 2:
		return patch(1.2, 2048, 6144)
	case tiny:
		return patch(1.5, 2048, 1536)
	case small:
		return patch(1.2, 2048, 1536)
	}
	return tile(70, 140)
}

// geminiImages is the rule of https://ai.google.dev/gemini-api/docs/tokens up to
// Gemini 2.5: 258 tokens for a picture of at most 384 pixels a side and for
// each crop of a larger one. Since Gemini 3 every picture costs up to 1,120 at the default
// resolution: https://ai.google.dev/gemini-api/docs/media-resolution.
func geminiImages(model string) imageRule {
	_, after, _ := strings.Cut(model, "gemini")
	if major, _, ok := version(after); ok && major < 3 {
		return imageRule{kind: crops, square: 768, perSquare: 258}
	}
	return imageRule{kind: flat, base: 1120}
}
