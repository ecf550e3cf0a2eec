package token

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// The prices that the providers' pages work out.
func TestImagePrices(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		width, height   int
		want            int64
	}{
		// platform.claude.com, vision: sizes on the standard and the high-resolution tier.
		{"anthropic", "claude-opus-4-5", 200, 200, 64},
		{"anthropic", "claude-opus-4-5", 1000, 1000, 1296},
		{"anthropic", "claude-opus-4-5", 1075, 1520, 33 * 47}, // becomes 924 × 1307
		{"anthropic", "claude-opus-4-5", 1920, 1080, 1560},    // becomes 1456 × 819
		{"anthropic", "claude-opus-4-7", 1920, 1080, 2691},
		{"anthropic", "claude-opus-4-7", 3840, 2160, 4784}, // becomes 2576 × 1449
		{"anthropic", "claude-opus-4-5", 10, 8000, 56},     // a strip: the long side decides
		{"anthropic", "claude-opus-4-5", 1, 1, 1},

		// developers.openai.com, images and vision: the worked examples.
		{"openai", "gpt-4o", 1024, 1024, 765},
		{"openai", "gpt-4o", 2048, 4096, 1105},
		{"openai", "gpt-4o", 300, 200, 255},
		{"openai", "gpt-5", 1024, 1024, 70 + 4*140},
		{"openai", "gpt-5.1-codex", 1024, 1024, 70 + 4*140},
		{"openai", "o3", 512, 512, 225},
		{"openai", "gpt-5.4", 1024, 1024, 1229},
		{"openai", "gpt-5.4", 2048, 2048, 3000},
		{"openai", "o4-mini", 1800, 2400, 2498}, // 1,452 patches
		{"openai", "gpt-5-nano", 1024, 1024, 1536},
		{"openai", "gpt-5.5", 4032, 3024, 11868}, // as billed
		{"openai", "gpt-6-astra", 4032, 3024, 14364},
		{"openai", "gpt-6-astra", 256, 256, 77},

		// ai.google.dev: tokens, image understanding, media resolution.
		{"google", "gemini-2.5-pro", 384, 384, 258},
		{"google", "gemini-2.0-flash", 960, 540, 6 * 258},
		{"google", "gemini-3-pro-preview", 4000, 3000, 1120},

		{"ollama", "qwen3-vl", 560, 280, 200},
		// A size that is not known counts as that of a screen.
		{"anthropic", "claude-opus-4-5", 0, 0, 1560},
	} {
		rule := imageRuleOf(FamilyOf(c.provider, c.model), c.provider, c.model)
		if got := rule.tokens(c.width, c.height); got != c.want {
			t.Errorf("%s: %d × %d costs %d, want %d", c.model, c.width, c.height, got, c.want)
		}
	}
}

// Whatever the size, a price is positive and within the limits of the model.
func TestImagePricesAreBounded(t *testing.T) {
	for _, c := range []struct {
		model string
		most  int64
	}{
		{"claude-opus-4-5", 1568},
		{"claude-opus-5", 4784},
		{"gpt-4o", 85 + 8*170},
		{"gpt-5.4", 3000},
		{"gpt-5.5", 12_000},
		{"gpt-4.1-mini", 9954},
		{"gemini-3-pro", 1120},
		{"gemini-2.5-pro", 1 << 40},
		{"gpt-6", 1 << 40},
		{"", 1568},
	} {
		rule := imageRuleOf(FamilyOf("", c.model), "", c.model)
		for _, w := range []int{1, 2, 27, 28, 29, 31, 33, 511, 513, 768, 1092, 1568, 2049, 7000, maxSide} {
			for _, h := range []int{1, 3, 28, 384, 385, 1000, 2576, 6001, maxSide} {
				if got := rule.tokens(w, h); got < 1 || got > c.most {
					t.Errorf("%s: %d × %d costs %d, want 1 to %d", c.model, w, h, got, c.most)
				}
			}
		}
	}
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func picture(w, h int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	for i := range m.Pix {
		m.Pix[i] = uint8(i * 7 / 3 & 1)
	}
	return m
}

func webp(chunk string, body []byte) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk), 0, 0, 0, 0)
	return append(append(b, body...), make([]byte, 16)...)
}

func TestImageSize(t *testing.T) {
	var pngs, jpegs, gifs bytes.Buffer
	if png.Encode(&pngs, picture(321, 45)) != nil || jpeg.Encode(&jpegs, picture(64, 200), nil) != nil || gif.Encode(&gifs, picture(33, 7), nil) != nil {
		t.Fatal("could not make pictures")
	}
	// A JPEG whose size stands behind 60 KB of metadata.
	meta := append([]byte{0xFF, 0xD8, 0xFF, 0xE1, 0xEA, 0x60}, make([]byte, 0xEA60-2)...)
	meta = append(meta, jpegs.Bytes()[2:]...)
	vp8 := []byte{0, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x80}
	vp8l := binary.LittleEndian.AppendUint32([]byte{0x2F}, 799|(599<<14))
	vp8x := []byte{0, 0, 0, 0, 0x8F, 0x01, 0, 0x2B, 0x01, 0}
	for _, c := range []struct {
		name, data    string
		width, height int
	}{
		{"png", encoded(pngs.Bytes()), 321, 45},
		{"png as data URL", "data:image/png;base64," + encoded(pngs.Bytes()), 321, 45},
		{"png, only its beginning", encoded(pngs.Bytes()[:60]), 321, 45},
		{"png in lines", encoded(pngs.Bytes())[:60] + "\n" + encoded(pngs.Bytes())[60:], 321, 45},
		{"jpeg", encoded(jpegs.Bytes()), 64, 200},
		{"jpeg with metadata", encoded(meta), 64, 200},
		{"gif", encoded(gifs.Bytes()), 33, 7},
		{"webp, lossy", encoded(webp("VP8 ", vp8)), 320, 240},
		{"webp, lossless", encoded(webp("VP8L", vp8l)), 800, 600},
		{"webp, extended", encoded(webp("VP8X", vp8x)), 400, 300},
		{"webp, other", encoded(webp("ABCD", vp8x)), 0, 0},
		{"webp, cut", encoded(webp("VP8X", vp8x)[:28]), 0, 0},
		{"jpeg that has no size", encoded(meta[:200]), 0, 0},
		{"text", encoded([]byte("hello, this is not a picture")), 0, 0},
		{"no base64", "***********************", 0, 0},
		{"short", "aGk=", 0, 0},
		{"empty", "", 0, 0},
	} {
		if w, h := imageSize(c.data); w != c.width || h != c.height {
			t.Errorf("%s: %d × %d, want %d × %d", c.name, w, h, c.width, c.height)
		}
	}
}

// A header may claim any size; the price stays a number.
func TestHostileImageSize(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, picture(1, 1)); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	binary.BigEndian.PutUint32(data[16:], 1<<31-1)
	binary.BigEndian.PutUint32(data[20:], 1<<31-1)
	// The checksum is wrong now, so that the size is not believed at all.
	if w, h := imageSize(encoded(data)); w > maxSide || h > maxSide {
		t.Errorf("%d × %d", w, h)
	}
	if w, h := imageSize(encoded(webp("VP8X", bytes.Repeat([]byte{0xFF}, 10)))); w != maxSide || h != maxSide {
		t.Errorf("%d × %d, want the largest that is believed", w, h)
	}
	if w, h := imageSize(strings.Repeat("/9j/", 1<<20)); w != 0 || h != 0 {
		t.Errorf("%d × %d", w, h)
	}
}
