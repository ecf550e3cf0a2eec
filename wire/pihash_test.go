package wire_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/clew-dev/clew/message"
)

// piHash is how the recorded answers name a text: the first 16 hex digits of the
// SHA-256 of the text blocks, joined by U+0001, other blocks as [type].
func piHash(raw []byte) string {
	m, err := message.Parse(raw)
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, b := range m.Content {
		if b.Type == message.BlockText {
			parts = append(parts, b.Text)
		} else {
			parts = append(parts, "["+string(b.Type)+"]")
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x01")))
	return hex.EncodeToString(sum[:])[:16]
}
