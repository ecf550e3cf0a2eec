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
