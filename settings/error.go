package settings

import (
	"fmt"
	"strings"
)

// Error says what is wrong with a setting, where it stands, and what to do.
type Error struct {
	// File is where it stands, "" for a variable or a flag; Line counts from 1, 0 where
	// it is the file as a whole.
	File string
	Line int
	// Var is a variable of the environment, Flag the name of a flag.
	Var, Flag string
	// Key is the setting, "" where it is none alone.
	Key     string
	Problem string
	Hint    string // may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		b.WriteString(e.File + ": ")
	case e.Var != "":
		fmt.Fprintf(&b, "environment variable %s: ", e.Var)
	case e.Flag != "":
		fmt.Fprintf(&b, "--%s: ", e.Flag)
	}
	if e.Key != "" && e.Flag == "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Nearest returns the name that is most like another one, "" where none is.
func Nearest(name string, names []string) string {
	best, least := "", 1+max(2, len(name)/3)
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for k := range len(b) {
			d := left
			if a[i] != b[k] {
				d = 1 + min(left, row[k], row[k+1])
			}
			left, row[k+1] = row[k+1], d
		}
	}
	return row[len(b)]
}
