package text

import (
	"fmt"
	"strconv"
	"strings"
)

// Tokens writes a number of tokens short: 950, 9.5k, 168k, 1.05M.
func Tokens(n int64) string {
	switch {
	case n < 0:
		return "-" + Tokens(-n)
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1e3)) + "k"
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n < 999_500_000:
		return trimZero(strings.TrimSuffix(fmt.Sprintf("%.2f", float64(n)/1e6), "0")) + "M"
	default:
		return ">999M"
	}
}

func trimZero(s string) string { return strings.TrimSuffix(s, ".0") }

// Counted writes "1 message", "2 messages".
func Counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// Thin is the narrow space that stands between groups of digits on a page.
const Thin = "\u202f"

// Digits writes a whole number with sep between groups of three digits.
func Digits[N int | int64](n N, sep string) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + sep + s[i:]
	}
	return s
}
