package compact

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is a number of tokens or a share of the window. The zero value is
// unset, which is not the same as Tokens(0).
type Amount struct {
	n    float64
	kind amountKind
}

type amountKind uint8

const (
	unset amountKind = iota
	tokens
	percent
)

// Tokens is an amount in tokens.
func Tokens(n int64) Amount { return Amount{float64(n), tokens} }

// Percent is an amount as a share of the window: Percent(25) is a quarter.
func Percent(p float64) Amount { return Amount{p, percent} }

// IsSet reports whether the amount was given.
func (a Amount) IsSet() bool { return a.kind != unset }

// Of returns the amount in tokens for a window, or 0 when it is unset.
func (a Amount) Of(window int64) int64 {
	switch a.kind {
	case tokens:
		return int64(a.n)
	case percent:
		return int64(a.n / 100 * float64(window))
	case unset:
	}
	return 0
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
	switch a.kind {
	case tokens:
		return strconv.FormatInt(int64(a.n), 10)
	case percent:
		return strconv.FormatFloat(a.n, 'f', -1, 64) + "%"
	case unset:
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
	for suffix, u := range map[string]float64{"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6} {
		if v, ok := strings.CutSuffix(t, suffix); ok {
			t, unit = v, u
			break
		}
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || !(f >= 0 && f*unit <= 1e12) {
		return Amount{}, bad
	}
	return Tokens(int64(f * unit)), nil
}
