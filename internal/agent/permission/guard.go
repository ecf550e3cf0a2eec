// Package permission decides what a call of a tool may do.
//
//	guard, err := permission.New(permission.Config{
//		Dir: project, Home: home,
//		Rules: permission.Rules{Allow: []string{"edit(src/**)", "bash(go test *)"}, Deny: []string{"bash(rm *)"}},
//	})
//	d := guard.Decide("bash", tool.Effect{Kind: tool.Run, Command: "go test ./..."})
//	// d.Answer is Allow, Ask or Deny, d.Reason says why.
//
// # Rules
//
// A rule is the name of a tool, or a name and a pattern: tool(pattern). In names "*"
// stands for any characters: github__* are all tools of the MCP server github.
//
// The pattern of a rule for bash is a command, in which "*" stands for any
// characters; an ending " *" matches the command without arguments too. The words of
// a command are compared without their quotes, with one blank between them; a word
// with blanks, quotes or backslashes in it stands in single quotes.
//
// The pattern of any other rule is a place: a path relative to the project, an
// absolute one, or one that begins with ~/. In it "*" stands for any characters of
// one name, "?" for one, and "**" for any number of folders. What ends in "/" means
// all that is below. There are no other signs: app/[id]/** is what it says. A rule
// without a pattern is about the project alone: what lies outside is allowed only by
// a pattern that names the place.
//
// Deny goes before Ask, and Ask before Allow. Where no rule matches, reading in the
// project is allowed, and all else is asked; see Mode.
//
// # Commands
//
// Allowing is strict. A pattern allows a command line only when clew can read all of
// it, and some rule allows each command in it. Substitutions, assignments, files that
// are written to or read by the shell, background jobs, loops over words and
// functions are asked, unless a rule is the whole line, word for word.
//
// A "*" does not cover harm. A flag that makes a command write, delete or run something,
// such as find -delete or git log --output, a place outside the project, and one where
// secrets are, such as .env and ~/.ssh, are asked unless the rule has written them out.
// Which flags do harm is known of the common commands alone.
//
// Denying is best effort: a rule that denies is held against all commands that can
// be seen in a line, in substitutions and behind sudo, env, xargs, sh -c and their
// like. A command that is put together while the line runs can't be seen, and a script
// can do what it likes. Where a rule denies commands, a line that can't be read is
// asked even if all commands are allowed. What must not happen needs a container.
//
// A rule that denies places is held against the paths that a call names. A search in
// a folder above such a place is not stopped by it.
package permission

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/vfs"
)

// Answer is what may be done with a call.
type Answer string

// The answers.
const (
	Allow Answer = "allow"
	Ask   Answer = "ask" // the user is to be asked; where nobody can be, it is Deny
	Deny  Answer = "deny"
)

// Decision says what may be done with a call, and why.
type Decision struct {
	Answer Answer `json:"answer"`
	// Rule is the rule that decided, as it was written; "" for the mode.
	Rule string `json:"rule,omitempty"`
	// Reason is a sentence for the user. With Deny it is also for the model, and says
	// what it can do instead.
	Reason string `json:"reason"`
}

// Config says what a Guard knows. Dir is required.
type Config struct {
	Rules Rules
	// Mode is what it starts with. Default: ModeAsk.
	Mode Mode
	// Dir is the project, an absolute path.
	Dir string
	// Home is what ~ stands for, an absolute path. Default: none, and no rule may
	// begin with ~.
	Home string
	// PowerShell says that commands are not run by a shell of the family of sh, but by
	// PowerShell or another. Then a pattern allows no command in which there is more
	// than words without quotes.
	PowerShell bool

	fold *bool // small and capital letters are the same in names of files; for tests
}

// Guard decides what calls may do. It may be used by several goroutines.
type Guard struct {
	where scope
	odd   bool // the shell is not one of the family of sh

	rules map[Answer][]rule // of the Config; they stay

	mu    sync.RWMutex
	mode  Mode
	added []rule // in this session
}

// New returns a guard. It fails when the mode or a rule can't be understood.
func New(c Config) (*Guard, error) {
	mode, err := ParseMode(string(c.Mode))
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(c.Dir) {
		return nil, fmt.Errorf("permissions need the absolute path of the project, not %q; without it no path could be told to be inside", c.Dir)
	}
	if c.Home != "" && !filepath.IsAbs(c.Home) {
		return nil, fmt.Errorf("permissions need the absolute path of the home folder, not %q; give it, or none", c.Home)
	}
	g := &Guard{mode: mode, rules: map[Answer][]rule{}, odd: c.PowerShell, where: scope{dir: vfs.Real(c.Dir), fold: runtime.GOOS == "windows" || runtime.GOOS == "darwin"}}
	if c.Home != "" {
		g.where.home = vfs.Real(c.Home)
	}
	if c.fold != nil {
		g.where.fold = *c.fold
	}
	texts := map[Answer][]string{Allow: c.Rules.Allow, Ask: c.Rules.Ask, Deny: c.Rules.Deny}
	for _, in := range []Answer{Deny, Ask, Allow} {
		if g.rules[in], err = compileAll(texts[in], in, g.where); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Mode returns the mode.
func (g *Guard) Mode() Mode {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.mode
}

// SetMode changes the mode. The calls that are decided from then on go by it.
func (g *Guard) SetMode(m Mode) error {
	mode, err := ParseMode(string(m))
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = mode
	return nil
}

// Add allows for this session what a rule says. A rule that is there already is not
// added again.
func (g *Guard) Add(text string) error {
	r, err := compile(text, Allow, g.where)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.ContainsFunc(g.added, func(a rule) bool { return a.text == r.text }) {
		return nil
	}
	g.added = append(slices.Clip(g.added), r) // what a decision holds stays as it is
	return nil
}

// Decide says what may be done with a call of a tool that would have an effect.
func (g *Guard) Decide(name string, e tool.Effect) Decision {
	return g.about(name, e).decide()
}

// A question is a call that is held against the rules.
type question struct {
	*Guard
	mode  Mode
	added []rule
	name  string
	e     tool.Effect
	paths []string // as slashed writes them
	seen  *seen
	// folders are those that the commands of a line may run in; none: that is not known.
	folders []string
}

func (g *Guard) about(name string, e tool.Effect) *question {
	g.mu.RLock()
	defer g.mu.RUnlock()
	q := &question{Guard: g, mode: g.mode, added: g.added, name: name, e: e}
	for _, p := range e.Paths {
		q.paths = append(q.paths, slashed(filepath.Clean(p)))
	}
	return q
}

func (q *question) decide() Decision {
	if q.mode == ModePlan && q.e.Kind != tool.Read {
		return Decision{Answer: Deny, Reason: "plan mode is on: nothing may be changed or run, so this was not done: " + q.what() +
			". Read and search with the tools that change nothing, then say in your answer what you would do; the user turns plan mode off"}
	}
	if r := q.strike(Deny); r != nil {
		return Decision{Answer: Deny, Rule: r.text, Reason: fmt.Sprintf(
			"the user's rules deny %s (rule %s). Do not try it in another way; do without, or tell the user what you need", q.what(), r.text)}
	}
	if q.mode != ModeAll {
		if r := q.strike(Ask); r != nil {
			return Decision{Answer: Ask, Rule: r.text, Reason: fmt.Sprintf("the rule %s says to ask", r.text)}
		}
	}
	if q.e.Kind == tool.Run {
		return q.run()
	}
	return q.touch()
}

// strike returns the first of the rules that deny or ask which is about the call, or
// nil.
func (q *question) strike(in Answer) *rule {
	for i := range q.rules[in] {
		r := &q.rules[in][i]
		if r.bare(q.name) || slices.ContainsFunc(q.paths, func(p string) bool { return r.at(q.name, p) }) {
			return r
		}
		if r.commands(q.name, q.e) && slices.ContainsFunc(q.commandsSeen().texts, r.lines.MatchString) {
			return r
		}
	}
	return nil
}

func (q *question) commandsSeen() *seen {
	if q.seen == nil {
		s := inspect(q.e.Command)
		q.seen = &s
	}
	return q.seen
}

// eachAllow calls f with each rule that allows, until one is enough.
func (q *question) eachAllow(enough func(*rule) bool) *rule {
	for _, rules := range [][]rule{q.rules[Allow], q.added} {
		for i := range rules {
			if enough(&rules[i]) {
				return &rules[i]
			}
		}
	}
	return nil
}

// touch decides on a call that is no command: all its paths must be allowed.
func (q *question) touch() Decision {
	bare := q.eachAllow(func(r *rule) bool { return r.bare(q.name) })
	if len(q.paths) == 0 {
		switch {
		case q.e.Outside:
			return Decision{Answer: Ask, Reason: "it is outside the project"}
		case bare != nil:
			return allowedBy(bare)
		}
		return q.byMode("")
	}
	// A tool that says it goes outside, with paths that are all inside, is taken at its
	// word.
	outside := q.e.Outside && !slices.ContainsFunc(q.paths, q.isOutside)
	d := Decision{Answer: Allow}
	for i, p := range q.paths {
		var one Decision
		hidden := Secret(q.within(p))
		at := q.eachAllow(func(r *rule) bool { return r.at(q.name, p) && (!hidden || r.exact()) })
		switch {
		case at != nil:
			one = allowedBy(at)
		case hidden && (q.mode != ModeAll || q.isOutside(p)):
			return Decision{Answer: Ask, Reason: q.e.Paths[i] + " may have secrets in it, and no rule names it alone"}
		case outside || q.isOutside(p):
			return Decision{Answer: Ask, Reason: q.e.Paths[i] + " is outside the project, and no rule names it"}
		case bare != nil:
			one = allowedBy(bare)
		default:
			one = q.byMode(p)
		}
		if one.Answer != Allow {
			return one
		}
		if d.Reason == "" {
			d = one
		}
	}
	return d
}

func allowedBy(r *rule) Decision {
	return Decision{Answer: Allow, Rule: r.text, Reason: fmt.Sprintf("the rule %s allows it", r.text)}
}

func (q *question) isOutside(path string) bool { return !inside(slashed(q.where.dir), path) }

// within is the part of a path below the project; the whole path outside of it.
func (q *question) within(path string) string {
	if q.isOutside(path) {
		return path
	}
	return path[len(slashed(q.where.dir)):]
}

// byMode decides on a path in the project, or on none, where no rule does.
func (q *question) byMode(path string) Decision {
	switch {
	case q.mode == ModeAll:
		return Decision{Answer: Allow, Reason: "all that no rule denies is allowed"}
	case q.e.Kind == tool.Read:
		return Decision{Answer: Allow, Reason: "reading in the project is allowed"}
	case q.mode == ModeEdits && q.e.Kind == tool.Write && path != "":
		if runsByItself(q.within(path)) {
			return Decision{Answer: Ask, Reason: "programs run this file, or read it as settings or rules, without being told to"}
		}
		return Decision{Answer: Allow, Reason: "edits in the project are allowed"}
	}
	return Decision{Answer: Ask, Reason: "no rule allows it"}
}

// run decides on a command line.
func (q *question) run() Decision {
	if q.e.Outside || slices.ContainsFunc(q.paths, q.isOutside) {
		return Decision{Answer: Ask, Reason: "it would run outside the project"}
	}
	d := q.commands()
	bare := q.eachAllow(func(r *rule) bool { return r.bare(q.name) })
	if d.Answer == Allow || bare == nil && q.mode != ModeAll {
		return d
	}
	if !q.commandsSeen().whole && slices.ContainsFunc(q.rules[Deny], func(r rule) bool { return r.commands(q.name, q.e) }) {
		return Decision{Answer: Ask, Reason: "not every command in it can be seen, so it is not known whether a rule denies it"}
	}
	if bare != nil {
		return allowedBy(bare)
	}
	return q.byMode("")
}

// commands allows a line when rules allow each of its commands.
func (q *question) commands() Decision {
	if q.blank() {
		return Decision{Answer: Ask, Reason: "there is no command in it"}
	}
	if r := q.eachAllow(func(r *rule) bool { return r.commands(q.name, q.e) && r.isLine(q.e.Command) }); r != nil {
		return allowedBy(r)
	}
	found, err := strictly(q.e.Command)
	if err == nil && q.odd && !bland(q.e.Command) {
		err = errOdd
	}
	if err != nil {
		return Decision{Answer: Ask, Reason: "no rule allows the whole line, and " + err.Error()}
	}
	q.enter(found)
	var first *rule
	for _, c := range found {
		r, why := q.allowing(c)
		if r == nil {
			return Decision{Answer: Ask, Reason: why}
		}
		if first == nil {
			first = r
		}
	}
	return allowedBy(first)
}

func (q *question) blank() bool { return strings.TrimSpace(q.e.Command) == "" }

// allowing returns a rule that allows a simple command, or nil and why there is none.
func (q *question) allowing(c command) (*rule, string) {
	why := "no rule allows " + display(c.text)
	return q.eachAllow(func(r *rule) bool {
		if !r.commands(q.name, q.e) || !r.allows(c) {
			return false
		}
		own, _, star := strings.Cut(r.command, "*")
		if !star {
			return true
		}
		what := q.risk(c, len(own))
		if what != "" {
			why = "the rule " + r.text + " does not cover " + what
		}
		return what == ""
	}), why
}

// what names a call in a sentence.
func (q *question) what() string {
	switch {
	case q.e.Kind == tool.Run && !q.blank():
		return display(q.e.Command)
	case q.e.Line != "":
		return display(q.e.Line)
	}
	return "a call of " + display(q.name)
}

// display makes a text fit into a sentence: one line, not too long.
func display(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), string(unknown), "…")
	return text.Clip(strings.Join(strings.FieldsFunc(s, isBreak), " "), 120)
}
