package summary

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/ledger"
	"github.com/clew-dev/clew/message"
)

// excerpt is a line of the log that may go into the document.
type excerpt struct {
	text   string
	ids    []int32
	at     int // index of the message; negative for an earlier summary
	seq    int // order of lines
	ref    string
	from   string // what it is a line of, "" for prose
	factor float64
	focus  float64 // worth of what it shares with the instructions
	cost   float64
	user   bool // the user wrote it
}

// collector finds the excerpts of a digest.
type collector struct {
	d     *digest
	s     *stats
	lines []excerpt
	index map[string]int
	of    map[string][]int // lines of each source
	focus map[string]bool
}

const (
	minExcerpt = 12  // bytes
	maxExcerpt = 260 // runes; longer ones are cut
	maxSource  = 90  // runes of what a line is taken from
)

func (d *digest) collect(ctx context.Context) ([]excerpt, *stats, error) {
	c := &collector{d: d, s: newStats(len(d.msgs)), index: map[string]int{}, of: map[string][]int{}, focus: wordMap(d.in.Instructions)}
	c.earlier()
	for at := range d.msgs {
		if at%64 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		c.message(at)
	}
	for _, f := range d.led.Files {
		if f.State == ledger.StateDeleted {
			c.gone(f.Path, len(d.msgs), nil)
		}
	}
	for _, it := range d.in.Kept {
		if it.Message != nil {
			c.s.seeKept(it.Message)
		}
	}
	return c.lines, c.s, nil
}

// earlier takes in what an earlier summary held.
func (c *collector) earlier() {
	if c.d.prev != nil {
		for _, l := range c.d.prev.Context {
			c.add(excerpt{at: -1, ref: l.Ref, from: l.From, text: l.Text, factor: proseLine}, true)
		}
	}
	for _, st := range statements(outsideFences(c.d.foreign)) {
		c.add(excerpt{at: -1, text: st, factor: proseLine}, true)
	}
}

func (c *collector) message(at int) {
	m := &c.d.msgs[at]
	switch m.Role {
	case message.RoleAssistant:
		for _, st := range statements(lookAt(prose(m.Message))) {
			c.add(excerpt{at: at, ref: m.ref, text: st, factor: proseLine * narration(st)}, true)
		}
		for line := range strings.SplitSeq(insideFences(lookAt(m.Text())), "\n") {
			c.add(excerpt{at: at, ref: m.ref, text: line, factor: codeLine * codeWorth(line)}, true)
		}
		for _, b := range m.ToolCalls() {
			c.call(at, m.ref, b)
		}
	case message.RoleToolResult:
		c.result(at, m)
	case message.RoleBashExecution:
		c.output(at, m.ref, c.command(m.Command), m.Output)
	case message.RoleUser:
		if !m.UserWords() {
			c.output(at, m.ref, "", m.Text())
			return
		}
		for _, st := range statements(lookAt(m.Text())) {
			c.add(excerpt{at: at, ref: m.ref, text: st, factor: userLine, user: true}, true)
		}
	case message.RoleBranchSummary:
		for _, st := range statements(outsideFences(lookAt(m.Summary))) {
			c.add(excerpt{at: at, ref: m.ref, text: st, factor: proseLine}, true)
		}
	case message.RoleCustom:
		c.output(at, m.ref, oneLine(m.CustomType), m.Text())
	default:
	}
}

// result takes in the result of a call. What a change made untrue is taken away.
func (c *collector) result(at int, m *msg) {
	factor := 1.0
	if m.call != nil {
		op := c.d.operation(*m)
		switch {
		case m.IsError:
		case op.Kind == ledger.OpWrite:
			c.gone(c.path(op.Path), m.made, nil)
			return
		case op.Kind == ledger.OpEdit:
			old := map[string]bool{}
			argumentTexts(m.call.Arguments, func(name, s string) {
				if oldText[name] {
					for line := range strings.SplitSeq(s, "\n") {
						old[oneLine(line)] = true
					}
				}
			})
			c.gone(c.path(op.Path), m.made, old)
			return
		case op.Kind == ledger.OpPatch:
			return
		}
		if op.Kind == ledger.OpShell && c.d.outdated(op.Command) {
			factor = 0
		}
	}
	c.outputBy(at, m.ref, c.source(m.call), m.Text(), factor)
}

// oldText holds the arguments that say what an edit replaces.
var oldText = map[string]bool{"oldText": true, "old_string": true, "old_str": true}

// gone takes away the lines of a source from before message at: all, or those
// that old holds.
func (c *collector) gone(from string, at int, old map[string]bool) {
	for _, k := range c.of[from] {
		if e := &c.lines[k]; e.at < at && (old == nil || old[e.text]) {
			e.factor = 0
		}
	}
}

// outdated reports whether a command line is a check that passes by now. What it
// said when it failed is history.
func (d *digest) outdated(command string) bool {
	return slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool {
		return c.Check != "" && !c.Failing() && strings.Contains(command, c.Text)
	})
}

// call takes in what a call says: the lines it writes, its command.
func (c *collector) call(at int, ref string, b message.Block) {
	from := ""
	for _, name := range []string{"path", "file_path", "notebook_path"} {
		if p, ok := jsonx.String(jsonx.Get(b.Arguments, name)); ok {
			from = c.path(p)
			break
		}
	}
	argumentTexts(b.Arguments, func(name, s string) {
		switch name {
		case "path", "file_path", "notebook_path", "workdir", "cwd":
			for id := range text.Identifiers(s) {
				c.s.see(c.s.of(id), at, true)
			}
			return
		case "command", "cmd":
			c.add(excerpt{at: at, ref: ref, text: c.command(s), factor: commandLine}, true)
			return
		}
		if oldText[name] {
			return
		}
		for line := range strings.SplitSeq(lookAt(s), "\n") {
			line = strings.TrimPrefix(line, "+")
			c.add(excerpt{at: at, ref: ref, from: from, text: line, factor: codeLine * codeWorth(line)}, true)
		}
	})
}

// command returns a command line on one line, as it is shown: without a change
// to the directory where the session is anyway.
func (c *collector) command(s string) string { return "$ " + shownCommand(s, c.d.in.Cwd) }

func shownCommand(s, cwd string) string {
	s = strings.TrimSpace(s)
	if cwd != "" {
		for _, sep := range []string{" && ", "; "} {
			s = strings.TrimPrefix(s, "cd "+cwd+sep)
		}
	}
	first, _, more := strings.Cut(s, "\n")
	if more {
		first += " " + text.Ellipsis
	}
	return oneLine(first)
}

// source names what a result is the output of.
func (c *collector) source(call *message.Block) string {
	if call == nil {
		return ""
	}
	for _, name := range []string{"path", "file_path", "notebook_path"} {
		if p, ok := jsonx.String(jsonx.Get(call.Arguments, name)); ok && p != "" && jsonx.Get(call.Arguments, "pattern") == nil {
			return c.path(p)
		}
	}
	for _, name := range []string{"command", "cmd", "pattern", "query", "url", "prompt", "description"} {
		if s, ok := jsonx.String(jsonx.Get(call.Arguments, name)); ok && strings.TrimSpace(s) != "" {
			if name == "command" || name == "cmd" {
				return text.Clip(c.command(s), maxSource)
			}
			return text.Clip(oneLine(call.Name+" "+oneLine(s)), maxSource)
		}
	}
	return oneLine(call.Name)
}

// path returns a path as the ledger spells it.
func (c *collector) path(p string) string {
	if cwd := strings.TrimSuffix(c.d.in.Cwd, "/"); cwd != "" {
		p = strings.TrimPrefix(p, cwd+"/")
	}
	return oneLine(strings.TrimPrefix(p, "./"))
}

// output takes in the lines of a result.
func (c *collector) output(at int, ref, from, s string) { c.outputBy(at, ref, from, s, 1) }

func (c *collector) outputBy(at int, ref, from, s string, factor float64) {
	for line := range strings.SplitSeq(text.Plain(lookAt(s)), "\n") {
		line = line[len(lineNumber.FindString(line)):]
		if c.d.in.Cwd != "" {
			line = strings.ReplaceAll(line, strings.TrimSuffix(c.d.in.Cwd, "/")+"/", "")
		}
		c.add(excerpt{at: at, ref: ref, from: from, text: line, factor: factor * outputLine * codeWorth(line)}, false)
	}
}

// lineNumber is what reading tools put before a line of a file.
var lineNumber = regexp.MustCompile(`^\s*\d{1,6}(?:→|\t|:|-\s|\s*\| ?)`)

// add takes in a line: its identifiers count, and if it says something it may
// be chosen.
func (c *collector) add(e excerpt, byAgent bool) {
	line := oneLine(e.text)
	if line == "" {
		return
	}
	words := wordCounter{s: line}
	e.text = text.Clip(line, maxExcerpt)
	for id := range text.Identifiers(line) {
		n := c.s.of(id)
		c.s.see(n, max(e.at, 0), byAgent)
		// What is cut off is counted all the same.
		if id.At+len(id.Text) <= len(e.text) {
			e.ids = append(e.ids, n)
		}
		words.skip(id.At, id.At+len(id.Text))
	}
	e.focus = inFocus * float64(min(c.focusWords(e.text), 3))
	if len(e.ids) == 0 && e.focus == 0 || len(e.text) < minExcerpt || unreadable(e.text) || forbidden(e.text) {
		return
	}
	if words.count() < 2 {
		e.factor *= fewWords
	}
	if leadsOver(e.text) {
		e.factor *= announces
	}
	key := strings.Trim(e.text, ".:;, ")
	if e.from != "" {
		key = e.from + "\x00" + e.text
	}
	if k, ok := c.index[key]; ok {
		// Said again, it is true again.
		c.lines[k].at, c.lines[k].ref = e.at, e.ref
		c.lines[k].factor = max(c.lines[k].factor, e.factor)
		return
	}
	c.index[key] = len(c.lines)
	e.seq = len(c.lines)
	e.cost = math.Pow(float64(len(e.text))/3.3+perLine, lengthPower)
	if e.from != "" {
		c.of[e.from] = append(c.of[e.from], e.seq)
	}
	c.lines = append(c.lines, e)
}

// narration lowers the weight of sentences in which the agent only announces
// its next call.
func narration(s string) float64 {
	if announce.MatchString(s) {
		return announces
	}
	return 1
}

var announce = regexp.MustCompile(`(?i)^(?:ok(?:ay)?[,.]? |now,? |first,? |good[,.!]? |great[,.!]? |perfect[,.!]? )*(?:let me|let's|i'll|i will|i need to|i can see|now i|让我|我来)\b`)

// unreadable reports whether a line is data rather than words: encoded, minified
// or drawn.
func unreadable(s string) bool {
	letters, others, run := 0, 0, 0
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			letters++
		case r != ' ':
			others++
		}
		if r == ' ' || r > 0x2e80 {
			run = 0
		} else if run++; run > 120 {
			return true
		}
	}
	return letters < 8 || others > 2*letters
}

// forbidden reports whether a line holds a tag that wrappers of summaries and
// prompts are made of.
func forbidden(s string) bool {
	return strings.IndexByte(s, '<') >= 0 && wrapperTag.MatchString(s)
}

var wrapperTag = regexp.MustCompile(`(?i)</?(?:summary|conversation|previous-summary|system-reminder|system|user|assistant|instructions?|context|read-files|modified-files)\b[^<>]{0,100}>`)

func insideFences(s string) string {
	if !strings.Contains(s, "```") {
		return ""
	}
	var b strings.Builder
	in := false
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			in = !in
			continue
		}
		if in {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func wordMap(instructions string) map[string]bool {
	m := map[string]bool{}
	for w := range contentWords(instructions) {
		m[w] = true
	}
	return m
}

// focusWords counts the words that a line shares with the instructions.
func (c *collector) focusWords(s string) int {
	if len(c.focus) == 0 {
		return 0
	}
	n := 0
	for w := range contentWords(s) {
		if c.focus[w] {
			n++
		}
	}
	return n
}

// contentWords yields the words of a text that say what it is about, in lower
// case; of scripts without spaces, pairs of characters.
func contentWords(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		word := func(w string) bool {
			w = strings.ToLower(w)
			return len(w) < 3 || stopWords[w] || yield(w)
		}
		from := -1
		var prev rune
		for i, r := range s {
			latin := r < 0x2e80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
			if latin && from < 0 {
				from = i
			}
			if !latin && from >= 0 {
				if !word(s[from:i]) {
					return
				}
				from = -1
			}
			if wide(r) && wide(prev) && !yield(string([]rune{prev, r})) {
				return
			}
			prev = r
		}
		if from >= 0 {
			word(s[from:])
		}
	}
}

// wide reports whether r is of a script that is written without spaces.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// wordCounter counts the plain words of a line: those outside of identifiers.
type wordCounter struct {
	s    string
	from int
	n    int
}

// skip counts up to an identifier and goes on after it.
func (w *wordCounter) skip(from, to int) {
	if from > w.from {
		w.scan(w.s[w.from:from])
	}
	w.from = max(w.from, to)
}

func (w *wordCounter) scan(s string) {
	for range contentWords(s) {
		w.n++
	}
}

func (w *wordCounter) count() int {
	w.skip(len(w.s), len(w.s))
	return w.n
}
