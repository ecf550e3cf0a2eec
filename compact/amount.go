package compact

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is a number of tokens or a share of the window. The zero value is
// unset, which is not the same as Tokens(0).
type Amount struct {
	n              float64
	isSet, percent bool
}

// Tokens is an amount in tokens.
func Tokens(n int64) Amount { return Amount{float64(n), true, false} }

// Percent is an amount as a share of the window: Percent(25) is a quarter.
func Percent(p float64) Amount { return Amount{p, true, true} }

// IsSet reports whether the amount was supplied.
func (a Amount) IsSet() bool { return a.isSet }

// Of returns the amount in tokens for a window, or 0 when it is unset.
func (a Amount) Of(window int64) int64 {
	if a.percent {
		return int64(a.n / 100 * float64(window))
	}
	return int64(a.n)
}

// or returns the amount, or another one when it is unset.
func (a Amount) or(b Amount) Amount {
	if a.IsSet() {
		return a
	}
	return b
}

// String writes the amount as ParseAmount reads it; "" when it is unset.
func (a Amount) String() string {
	switch {
	case a.percent:
		return strconv.FormatFloat(a.n, 'f', -1, 64) + "%"
	case a.isSet:
		return strconv.FormatInt(int64(a.n), 10)
	}
	return ""
}

// ParseAmount reads an amount: 20000, 20k, 1.5M, 25%.
func ParseAmount(s string) (Amount, error) {
	t := strings.TrimSpace(strings.ReplaceAll(s, "_", ""))
	bad := fmt.Errorf("%q is no amount: write tokens as 20000 or 20k, a share of the window as 25%%", s)
	if p, ok := strings.CutSuffix(t, "%"); ok {
		f, err := strconv.ParseFloat(p, 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return Amount{}, bad
		}
		return Percent(f), nil
	}
	unit := 1.0
	if k := len(t) - 1; k >= 0 && strings.Contains("kKmM", t[k:]) {
		unit = map[string]float64{"k": 1e3, "m": 1e6}[strings.ToLower(t[k:])]
		t = t[:k]
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || !(f >= 0 && f*unit <= 1e12) {
		return Amount{}, bad
	}
	return Tokens(int64(f * unit)), nil
}
