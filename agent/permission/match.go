package permission

import (
	"errors"
	"strings"
	"unicode"
)

var errOdd = errors.New("it has more in it than words without quotes, and it is not known how this shell reads that")

// matches reports whether the pattern of a rule for commands matches a text.
func (r *rule) matches(text string) bool {
	if wildText(r.command, text) {
		return true
	}
	alone, ok := strings.CutSuffix(r.command, " *")
	return ok && wildText(alone, text)
}

// whole reports whether the rule is the whole line, word for word.
func (r *rule) whole(line string) bool {
	return !strings.Contains(r.command, "*") && r.command == strings.TrimSpace(line)
}

// allows reports whether the rule, of those that allow, allows a simple command.
func (r *rule) allows(c command) bool {
	if !r.matches(c.text) {
		return false
	}
	// A "*" does not stand for assignments: they can make any command run another.
	own, _, star := strings.Cut(r.command, "*")
	if star && len(own) < c.prefix {
		return false
	}
	// Where the name is matched by a "*", it must not climb out of the folder that the
	// rule names.
	first, _, _ := strings.Cut(r.command[min(c.prefix, len(r.command)):], " ")
	return !strings.Contains(first, "*") || !climbs(c.name)
}

// climbs reports whether a path has a ".." in it.
func climbs(path string) bool {
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if name == ".." {
			return true
		}
	}
	return false
}

// bland reports whether a line is words without quotes, in which no shell finds
// anything else.
func bland(line string) bool {
	return !strings.ContainsFunc(line, func(r rune) bool {
		return r >= unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ./:_=+-", r)
	})
}

func isBreak(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
