package token

import (
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
)

// headerLimit is how much of an image is decoded in search of its size. The
// size of a JPEG stands behind its metadata, which can hold a small picture.
const headerLimit = 256 << 10

// maxSide is the longest side any image is taken to have, whatever it says.
const maxSide = 1<<16 - 1

// imageSize returns width and height of an image given as base64, also as a data
// URL, from the beginning of its data. Both are 0 when they can't be read: the
// format is none of PNG, JPEG, GIF and WebP, or the data is damaged.
func imageSize(data string) (width, height int) {
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	decode := decoderFor(data)
	if decode == nil {
		return 0, 0
	}
	r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))
	c, err := decode(io.LimitReader(r, headerLimit))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return 0, 0
	}
	return min(c.Width, maxSide), min(c.Height, maxSide)
}

// decoderFor tells the format by the first bytes, as the declared type of an
// image is often wrong.
func decoderFor(data string) func(io.Reader) (image.Config, error) {
	var head [12]byte
	if len(data) < base64.StdEncoding.EncodedLen(len(head)) {
		return nil
	}
	if _, err := base64.StdEncoding.Decode(head[:], []byte(data[:base64.StdEncoding.EncodedLen(len(head))])); err != nil {
		return nil
	}
	switch s := string(head[:]); {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return png.DecodeConfig
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return jpeg.DecodeConfig
	case strings.HasPrefix(s, "GIF8"):
		return gif.DecodeConfig
	case strings.HasPrefix(s, "RIFF") && strings.HasPrefix(s[8:], "WEBP"):
		return webpConfig
	}
	return nil
}

// webpConfig reads the size of a WebP image from its first chunk: "VP8 " (RFC
// 6386, section 9.1), "VP8L" (RFC 9649, section 3.4) or "VP8X" (RFC 9649, section 2.7).
func webpConfig(r io.Reader) (image.Config, error) {
	var b [30]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return image.Config{}, err
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
