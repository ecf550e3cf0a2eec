package widget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Gap stands between parts of a line.
const Gap = " · "

// Percent writes a share so that it says nothing wrong: something is not 0%, not
// all is not 100%, and too much is more than 100%.
func Percent(x float64) string {
	switch p := x * 100; {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case x == 0:
		return "0%"
	case p < 1:
		return "<1%"
	case x < 1:
		return strconv.Itoa(min(int(math.Round(p)), 99)) + "%"
	case p < 10_000:
		return strconv.Itoa(int(math.Ceil(p))) + "%"
	default:
		return ">9999%"
	}
}

// Dollars writes US dollars.
func Dollars(x float64) string {
	switch {
	case x == 0:
		return "$0"
	case x < 0.01:
		return "<$0.01"
	case x < 1000:
		return fmt.Sprintf("$%.2f", x)
	default:
		return fmt.Sprintf("$%.0f", x)
	}
}

// Bar draws n of total, with a mark at a limit: what is full, and the rest.
func Bar(n, total, limit int64, width int) (full, rest string) {
	at := func(n int64) int { return int(min(max(n, 0), total) * int64(width) / max(total, 1)) }
	filled, mark := at(n), at(limit)
	if n > 0 {
		filled = max(filled, 1)
	}
	empty := []rune(strings.Repeat("░", width-filled))
	if at := mark - filled; limit > 0 && at >= 0 && at < len(empty) {
		empty[at] = '│'
	}
	return strings.Repeat("█", filled), string(empty)
}
