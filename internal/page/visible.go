package page

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// line makes text one short line: its first that is not blank.
func line(s string) string {
	return text.Clip(strings.Join(strings.Fields(text.Visible(text.FirstLine(s))), " "), 140)
}

// only reports whether s has no other characters than ASCII letters, digits and those
// of more.
func only(s, more string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"+more) == ""
}

// count writes how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(int64(n)) + " " + what + "s"
}

// number writes a whole number with a space between groups of three digits.
func number(n int64) string { return text.Digits(n, text.Thin) }

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1000:
		return count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func dollars(f float64) string {
	if f < 0.01 {
		return fmt.Sprintf("$%.4f", f)
	}
	return fmt.Sprintf("$%.2f", f)
}
