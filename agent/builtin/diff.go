package builtin

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/clew-dev/clew/internal/text"
)

// What is compared and shown of a change, in bytes. Larger files are changed without
// a diff.
const (
	diffInput  = 1 << 20
	diffOutput = 128 << 10
)

// diff returns the change of a file as a unified diff; "" where there is none, or the
// file is too large or no text. made says that the file is new.
func diff(shown string, before, after []byte, made bool) string {
	if len(before) > diffInput || len(after) > diffInput || binary(before) || binary(after) {
		return ""
	}
	from := shown
	if made {
		from = "/dev/null"
	}
	old := string(before)
	d, err := udiff.ToUnified(from, shown, old, udiff.Lines(old, string(after)), udiff.DefaultContextLines)
	if err != nil {
		return ""
	}
	if d = text.Valid(d); len(d) > diffOutput {
		d = text.Head(d, diffOutput)
		d = d[:strings.LastIndexByte(d, '\n')+1] + "... the diff is longer\n"
	}
	return d
}
