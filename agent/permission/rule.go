package permission

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/agent/tool"
)

// Shell is the name of the tool whose patterns are commands.
const Shell = "bash"

// maxRule is the longest rule, in bytes.
const maxRule = 4 << 10

// Rules say what is allowed, asked and denied. See the package comment for their
// form.
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// list names one of the lists of Rules.
type list string

const (
	allowList list = "allow"
	askList   list = "ask"
	denyList  list = "deny"
)

// A rule is one rule, ready to be held against calls.
type rule struct {
	text    string
	name    string // a pattern for names of tools
	pattern bool   // there is one
	command string // for Shell
	places  []place
}

// Check reports what is wrong with a rule, or nil. A rule that passes may still be
// refused by New, where it depends on the home folder, or where it would allow too
// much.
func Check(text string) error {
	_, _, _, err := split(text)
	return err
}

// split takes a rule apart.
func split(text string) (name, pattern string, has bool, err error) {
	fail := func(why string) (string, string, bool, error) {
		return "", "", false, fmt.Errorf("rule %s: %s", shown(text), why)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return fail("it is empty; write the name of a tool, or tool(pattern)")
	case len(text) > maxRule:
		return fail(fmt.Sprintf("it has %d bytes, at most %d are taken; use * for a part of it", len(text), maxRule))
	case !utf8.ValidString(text):
		return fail("it is not valid UTF-8; write it as text")
	case strings.ContainsFunc(text, unicode.IsControl):
		return fail("it has a control character in it, such as a line end; write one rule on a line, and * for what can't be written")
	}
	name, rest, has := strings.Cut(text, "(")
	if !has && strings.Contains(text, ")") {
		return fail("it has a ) without a (; write tool(pattern)")
	}
	if name == "" {
		return fail("it has no tool before the (; write tool(pattern), or *(pattern) for all tools")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		return fail(fmt.Sprintf("%s is not the name of a tool: names have letters, digits, _, -, . and, for any characters, *", shown(name)))
	}
	if !has {
		return name, "", false, nil
	}
	pattern, ok := strings.CutSuffix(rest, ")")
	if !ok {
		return fail("it does not end with ); write tool(pattern)")
	}
	pattern = strings.TrimSpace(pattern)
	switch {
	case pattern == "":
		return fail("its pattern is empty and could never match; write " + name + " alone for all its calls")
	case strings.Contains(name, "__"):
		return fail("tools of MCP servers can't have a pattern, because clew does not know what their arguments mean; write " + name)
	}
	return name, pattern, true, nil
}

func isNameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.*", r)
}

// shown returns a text for an error, short and in quotes.
func shown(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// compile makes a rule ready for a list.
func compile(text string, in list, where scope) (rule, error) {
	name, pattern, has, err := split(text)
	if err != nil {
		return rule{}, err
	}
	r := rule{text: strings.TrimSpace(text), name: name, pattern: has}
	switch {
	case !has:
	case name == Shell && pattern == "*":
		r.pattern = false
	case name == Shell:
		if in == allowList && strings.HasPrefix(pattern, "*") {
			err = errors.New("it would allow any command that has an argument to its liking; begin with the name of a command, or write bash alone for all")
		}
		r.command = pattern
	default:
		r.places, err = where.places(pattern, in)
	}
	if err != nil {
		return rule{}, fmt.Errorf("rule %s: %w", shown(r.text), err)
	}
	return r, nil
}

func compileAll(texts []string, in list, where scope) ([]rule, error) {
	var out []rule
	for _, text := range texts {
		r, err := compile(text, in, where)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// bare reports whether the rule is about all calls of a tool.
func (r *rule) bare(name string) bool { return !r.pattern && wildText(r.name, name) }

// commands reports whether the rule is about some commands of a call.
func (r *rule) commands(name string, e tool.Effect) bool {
	return r.command != "" && r.name == name && e.Kind == tool.Run
}

// at reports whether the rule names a place.
func (r *rule) at(name string, path []string, fold bool) bool {
	if len(r.places) == 0 || !wildText(r.name, name) {
		return false
	}
	for _, p := range r.places {
		if p.has(path, fold) {
			return true
		}
	}
	return false
}
