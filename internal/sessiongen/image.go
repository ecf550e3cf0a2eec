package sessiongen

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// imageBlock returns a content block with an image whose header is true: the
// size can be read from it. The pixels of the larger ones are cut short.
func (g *gen) imageBlock() string {
	g.mark(Images)
	if !g.o.WellFormed && g.r.chance(0.15) {
		return `{"type":"image","data":"aGk=","mimeType":"image/png"}` // is no image
	}
	size := pick(&g.r, [][2]int{{1, 1}, {16, 9}, {120, 80}, {640, 480}, {1568, 882}, {1920, 1080}, {3000, 4000}})
	kind, data := "image/png", png(size[0], size[1])
	if g.r.chance(0.3) {
		kind, data = "image/jpeg", jpeg(size[0], size[1])
	}
	return `{"type":"image","data":"` + base64.StdEncoding.EncodeToString(data) + `","mimeType":"` + kind + `"}`
}

// png writes a black picture, one bit a pixel, uncompressed and of at most 1 kB.
func png(w, h int) []byte {
	chunk := func(b []byte, kind string, data []byte) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		body := append([]byte(kind), data...)
		b = append(b, body...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(body))
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	head = append(head, 1, 0, 0, 0, 0)
	rows := make([]byte, min(1000, h*(1+(w+7)/8)))
	pixels := []byte{0x78, 0x01, 0x01}
	pixels = binary.LittleEndian.AppendUint16(pixels, uint16(len(rows)))
	pixels = binary.LittleEndian.AppendUint16(pixels, ^uint16(len(rows)))
	pixels = append(pixels, rows...)
	// All bytes are zero, so the Adler-32 sum is the count in its upper half and 1 in its lower.
	pixels = binary.BigEndian.AppendUint32(pixels, uint32(len(rows))<<16|1)
	b := []byte("\x89PNG\r\n\x1a\n")
	b = chunk(b, "IHDR", head)
	b = chunk(b, "IDAT", pixels)
	return chunk(b, "IEND", nil)
}

// jpeg writes the markers up to the frame header and the end marker.
func jpeg(w, h int) []byte {
	b := []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x0b\x08")
	b = binary.BigEndian.AppendUint16(b, uint16(h))
	b = binary.BigEndian.AppendUint16(b, uint16(w))
	return append(b, "\x01\x01\x11\x00\xff\xd9"...)
}
