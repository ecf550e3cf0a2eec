package builtin

import (
	"github.com/clew-dev/clew/internal/text"
)

// maxLine is how many characters a line for the user has at most.
const maxLine = 200

// oneLine makes a text fit to be shown to the user on one line.
func oneLine(s string) string { return text.OneLine(s, maxLine) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
