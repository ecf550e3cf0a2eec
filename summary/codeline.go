package summary

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// codeWorth weighs a line of code or output: errors and declarations say more
// than statements, imports and what git reports on files say little.
func codeWorth(line string) float64 {
	line = strings.TrimLeft(line, " \t+-")
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case importing()[word] || word == "export" && strings.Contains(rest, " from ") || rest == "" && strings.HasPrefix(word, `"`):
		return 0.3
	case tellsError(line):
		return 1.5
	case declares(word, rest):
		return 1.3
	case commenting()[word]:
		return 1.2
	}
	return 1
}

var (
	importing = text.Words(`import from use #include package require rename copy create delete Auto-merging diff index @@ using`)
	modifiers = text.Words(`export public private protected static async pub default abstract final override`)
	declaring = text.Words(`func function class interface type enum struct trait impl def fn module namespace CREATE`)
	// A constant or variable is declared where its name begins in upper case.
	naming     = text.Words(`const var let`)
	commenting = text.Words(`// # * /* -- """ ///`)
)

func declares(word, rest string) bool {
	for modifiers()[word] {
		word, rest, _ = strings.Cut(rest, " ")
	}
	return declaring()[word] || naming()[word] && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}

// tellsError reports whether a line has a word of an error message.
func tellsError(line string) bool {
	for _, part := range []string{
		"error", "Error", "ERROR", "failed", "Failed", "FAIL", "failure", "fatal", "panic", "xception", "cannot find", "undefined",
	} {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}
