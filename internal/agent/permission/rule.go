package permission

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/agent/tool"
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

// A rule is one rule, ready to be held against calls.
type rule struct {
	text    string
	tools   *regexp.Regexp // their names
	pattern bool           // there is one
	command string         // the pattern, for Shell
	lines   *regexp.Regexp // the same
	places  []place
}

// split takes a rule apart.
func split(text string) (name, pattern string, has bool, err error) {
	fail := func(why string) (string, string, bool, error) { return "", "", false, errors.New(why) }
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
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.*", r)
	}) {
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

// shown returns a text for an error, short and in quotes.
func shown(s string) string { return strconv.Quote(display(s)) }

// compile makes a rule ready for a list.
func compile(text string, in Answer, where scope) (rule, error) {
	text = strings.TrimSpace(text)
	name, pattern, has, err := split(text)
	r := rule{text: text, tools: whole(expr(name, ".", "")), pattern: has}
	switch {
	case err != nil || !has:
	case name == Shell && pattern == "*":
		r.pattern = false
	case name == Shell:
		if in == Allow && strings.HasPrefix(pattern, "*") {
			err = errors.New("it would allow any command that has an argument to its liking; begin with the name of a command, or write bash alone for all")
		}
		r.command, r.lines = pattern, whole(expr(pattern, ".", `\?`))
		if alone, ok := strings.CutSuffix(pattern, " *"); ok {
			r.lines = whole(expr(alone, ".", `\?`) + "( .*)?")
		}
	default:
		r.places, err = where.places(pattern, in)
	}
	if err != nil {
		return rule{}, fmt.Errorf("rule %s: %w", shown(text), err)
	}
	return r, nil
}

func compileAll(texts []string, in Answer, where scope) ([]rule, error) {
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
func (r *rule) bare(name string) bool { return !r.pattern && r.tools.MatchString(name) }

// commands reports whether the rule is about some commands of a call.
func (r *rule) commands(name string, e tool.Effect) bool {
	return r.command != "" && name == Shell && e.Kind == tool.Run
}

// at reports whether the rule names a place.
func (r *rule) at(name, path string) bool {
	return r.tools.MatchString(name) && slices.ContainsFunc(r.places, func(p place) bool { return p.re.MatchString(path) })
}

// exact reports whether the rule names one place, without any sign for more.
func (r *rule) exact() bool {
	return !slices.ContainsFunc(r.places, func(p place) bool { return len(p.rest) > 0 })
}

// Mode says what is allowed where no rule says anything.
type Mode string

// The modes.
const (
	// ModeAsk allows reading in the project and asks for all else. It is the default.
	ModeAsk Mode = "ask"
	// ModeEdits also allows writing in the project, but for files that programs run, or
	// read as settings or rules, without being told to: .git, .clew, .envrc, .vscode,
	// AGENTS.md, those of CI and the like.
	ModeEdits Mode = "edits"
	// ModePlan denies all but reading, whatever the rules say.
	ModePlan Mode = "plan"
	// ModeAll allows what no rule denies. Places outside the project are asked as in
	// the other modes. It is for containers.
	ModeAll Mode = "all"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{ModeAsk, ModeEdits, ModePlan, ModeAll} }

// ParseMode returns the mode of a name. "" is ModeAsk.
func ParseMode(name string) (Mode, error) {
	if name == "" {
		return ModeAsk, nil
	}
	if m := Mode(name); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", fmt.Errorf("there is no permission mode %q; there are %s", name, strings.Trim(strings.ReplaceAll(fmt.Sprint(Modes()), " ", ", "), "[]"))
}

// expr writes a pattern as a regular expression: "*" stands for any number of some characters, "?" for one of others.
func expr(pattern, some, one string) string {
	return strings.NewReplacer(`\*`, some+"*", `\?`, one).Replace(regexp.QuoteMeta(pattern))
}

func whole(expr string) *regexp.Regexp { return regexp.MustCompile(`(?s)^(?:` + expr + `)$`) }

var errOdd = errors.New("it has more in it than words without quotes, and it is not known how this shell reads that")

// isLine reports whether the rule is the whole line, word for word.
func (r *rule) isLine(line string) bool {
	return !strings.Contains(r.command, "*") && r.command == strings.TrimSpace(line)
}

// allows reports whether the rule, of those that allow, allows a simple command.
func (r *rule) allows(c command) bool {
	if !r.lines.MatchString(c.text) {
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
	return slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// bland reports whether a line is words without quotes, in which no shell finds
// anything else.
func bland(line string) bool {
	return !strings.ContainsFunc(line, func(r rune) bool {
		return r >= unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ./:_=+-", r)
	})
}

func isBreak(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// State is what a session remembers of its guard: the mode, and the rules that the
// user added. It is JSON.
type State struct {
	Mode  Mode     `json:"mode"`
	Allow []string `json:"allow,omitempty"`
}

// State returns what is to be remembered.
func (g *Guard) State() State {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := State{Mode: g.mode}
	for _, r := range g.added {
		s.Allow = append(s.Allow, r.text)
	}
	return s
}

// Restore takes a state back, in place of the one that is there. When it fails
// nothing is changed. What is restored is obeyed: a state that came with a file from
// elsewhere is for the user to confirm first.
func (g *Guard) Restore(s State) error {
	mode, err := ParseMode(string(s.Mode))
	if err != nil {
		return err
	}
	added, err := compileAll(s.Allow, Allow, g.where)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.added = mode, added
	return nil
}
