package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/tui/widget"
)

// tokens writes a count of tokens as people read it: 950, 9.5k, 168k, 1.05M.
func tokens(n int64) string {
	switch {
	case n < 0:
		return "-" + tokens(-n)
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e3), ".0") + "k"
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	default:
		return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", float64(n)/1e6), "0"), ".0") + "M"
	}
}

// money writes US dollars.
func money(x float64) string {
	switch {
	case x == 0:
		return "$0"
	case x < 0.01:
		return "<$0.01"
	default:
		return fmt.Sprintf("$%.2f", x)
	}
}

// share writes n of total in percent. Something is never 0%, and a part never 100%.
func share(n, total int64) string {
	switch {
	case total <= 0:
		return "?"
	case n <= 0:
		return "0%"
	case n >= total:
		return strconv.FormatInt(n*100/total, 10) + "%"
	}
	return strconv.FormatInt(min(max((n*100+total/2)/total, 1), 99), 10) + "%"
}

// ago says how long a time is past.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min ago"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h ago"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " d ago"
	}
}

// counted writes "1 message", "2 messages".
func counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// pad makes a text exactly so many columns wide.
func pad(s string, width int) string {
	s = widget.Cut(s, width)
	return s + strings.Repeat(" ", max(width-widget.Width(s), 0))
}
