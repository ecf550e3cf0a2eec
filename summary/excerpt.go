package summary

import (
	"context"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
)

// excerpt is a line of the log that may go into the document.
type excerpt struct {
	factLine
	at  int // index of the message; negative for an earlier summary
	seq int // order of lines
	ref string
}

// collector finds the excerpts of a digest.
type collector struct {
	d     *digest
	s     *stats
	lines []excerpt
	byKey []int32          // 1 + index in lines, by key
	of    map[string][]int // lines of each source
}

func (d *digest) collect(ctx context.Context) ([]excerpt, *stats, error) {
	c := &collector{d: d, s: newStats(len(d.msgs), d.names), of: map[string][]int{}}
	c.earlier()
	for at := range d.msgs {
		if at%64 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		c.message(at)
	}
	for _, f := range d.led.Files {
		if f.State == ledger.StateDeleted {
			c.gone(f.Path, len(d.msgs), func(*factLine) bool { return true })
		}
	}
	for _, f := range d.kept {
		for _, u := range f.uses {
			c.s.use(u.id).kept = true
		}
	}
	return c.lines, c.s, nil
}

// earlier takes in what an earlier summary held, and what was used before it.
func (c *collector) earlier() {
	x := extractor{f: &facts{}, names: c.d.names, cwd: c.d.in.Cwd, focus: wordMap(c.d.in.Instructions), place: map[int32]int{}}
	take := func(ref string, l factLine) {
		n := len(x.f.lines)
		x.add(l, true)
		for _, l := range x.f.lines[n:] {
			c.line(-1, ref, l, chosenBefore)
		}
	}
	if c.d.prev != nil {
		for _, l := range c.d.prev.Context {
			take(l.Ref, factLine{from: l.From, text: l.Text, factor: 1})
		}
	}
	for _, st := range text.Statements(text.OutsideFences(c.d.foreign)) {
		take("", factLine{text: st, factor: 1})
	}
	for _, u := range x.f.uses {
		c.s.see(u.id, 0, u.agent)
	}
	before := c.d.index()
	for _, m := range c.d.led.Mentions {
		if _, here := before[m.Entry]; here {
			continue
		}
		for id := range text.Identifiers(m.Text) {
			c.s.remember(c.d.names.id(id), m.Uses)
		}
	}
}

func (c *collector) message(at int) {
	m := &c.d.msgs[at]
	f := m.facts
	if f.gone != "" {
		c.gone(f.gone, m.made, func(l *factLine) bool {
			return f.goneAll || slices.Contains(f.old, l.key) ||
				slices.ContainsFunc(f.oldPart, func(s string) bool { return strings.Contains(l.text, s) })
		})
	}
	for _, u := range f.uses {
		c.s.see(u.id, at, u.agent)
	}
	factor := 1.0
	if f.op.Kind == ledger.OpShell && c.d.outdated(f.op.Command) {
		factor = 0
	}
	for _, l := range f.lines {
		c.line(at, m.ref, l, factor)
	}
}

// line takes in a line. Said again, it is true again.
func (c *collector) line(at int, ref string, l factLine, factor float64) {
	l.factor *= factor * c.d.profile.lines[l.kind]
	if n := int(l.key) + 1; n > len(c.byKey) {
		c.byKey = append(c.byKey, make([]int32, max(n, 2*len(c.byKey))-len(c.byKey))...)
	}
	if k := c.byKey[l.key]; k > 0 {
		known := &c.lines[k-1]
		known.at, known.ref, known.factor = at, ref, max(known.factor, l.factor)
		return
	}
	c.byKey[l.key] = int32(len(c.lines)) + 1
	if l.from != "" {
		c.of[l.from] = append(c.of[l.from], len(c.lines))
	}
	c.lines = append(c.lines, excerpt{factLine: l, at: at, seq: len(c.lines), ref: ref})
}

// gone takes away the lines of a source from before message at that are no longer true.
func (c *collector) gone(from string, at int, old func(*factLine) bool) {
	for _, k := range c.of[from] {
		if e := &c.lines[k]; e.at < at && e.factor > 0 && old(&e.factLine) {
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

// maxRows is how many rows of one table the excerpts have at most. Each row of a table of
// ids names what nothing else does, so by worth alone such a table would take all there is.
const maxRows = 8

// rowShape is the same, and not 0, for lines that look like rows of the same table: as many
// cells between the same separators. A line of code is no row.
func rowShape(line string) int32 {
	line = strings.TrimSpace(line)
	const (
		pipes = 1 + iota
		members
		tabs
		gaps
		commas
		kinds
	)
	shape := func(kind, cells int) int32 { return int32(cells*kinds + kind) }
	if n := strings.Count(line, "|"); n >= 3 && text.TableRow(line) || n >= 2 && strings.Count(line, " | ") == n {
		return shape(pipes, n)
	}
	if n := strings.Count(line, `":`); n >= 2 && line[0] == '{' && strings.HasSuffix(strings.TrimSuffix(line, ","), "}") {
		return shape(members, n)
	}
	if strings.ContainsAny(line, "(){}[]<>=;`") {
		return 0
	}
	if n := strings.Count(line, "\t"); n >= 2 {
		return shape(tabs, n)
	}
	if n := wideGaps(line); n >= 2 {
		return shape(gaps, n)
	}
	if n := strings.Count(line, ","); n >= 2 && !strings.Contains(line, ", ") {
		return shape(commas, n)
	}
	return 0
}

// wideGaps counts the places where two spaces and more stand together.
func wideGaps(line string) int {
	n := 0
	for i := 2; i < len(line); i++ {
		if line[i] != ' ' && line[i-1] == ' ' && line[i-2] == ' ' {
			n++
		}
	}
	return n
}

// table names a table: that of a source, or of a message.
type table struct {
	from string
	at   int
	row  int32
}

func (e *excerpt) table() table {
	t := table{from: e.from, row: e.row}
	if e.from == "" || e.from == codeSource {
		t.at = e.at
	}
	return t
}

// piece is something that may stand in the document. The sections offer theirs
// in order of importance; what fits is put back into the order of the log.
type piece struct {
	kind  kind
	line  Line
	path  string // of a file list
	quote *Quote
	order int // place among the pieces of its kind
}

// add puts the piece into the document.
func (p piece) add(d *Document) {
	switch {
	case p.quote != nil:
		q := d.quotes(p.kind)
		*q = append(*q, *p.quote)
	case p.path != "":
		f := d.files(p.kind)
		f.Paths = append(f.Paths, p.path)
	case p.kind == kindEarlier:
		d.Earlier = p.line.Text
	case p.kind == kindNote:
		d.Note = p.line.Text
	default:
		l := d.lines(p.kind)
		*l = append(*l, p.line)
	}
}

// texts returns what the piece says.
func (p piece) texts() []string {
	if p.quote != nil {
		out := []string{p.quote.Text}
		for _, g := range p.quote.Gaps {
			out = append(out, g.Text)
		}
		return out
	}
	return []string{p.line.Text, p.line.From, p.path}
}

// body returns how the piece is written when it stands alone.
func (p piece) body() string {
	var d Document
	p.add(&d)
	var b strings.Builder
	d.write(&b, p.kind)
	return b.String()
}

// repeats reports whether the piece is one of those that sections may offer
// twice.
func (p piece) repeats() bool {
	switch p.kind {
	case kindDone, kindInProgress, kindBlocked, kindDecisions, kindNext, kindContext:
		return true
	default:
		return false
	}
}

// assemble makes a document of pieces. offered counts the paths that each file
// list could have.
func assemble(pieces []piece, offered map[kind]int) Document {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b piece) int {
		if a.kind != b.kind {
			return int(a.kind) - int(b.kind)
		}
		return a.order - b.order
	})
	var d Document
	for _, p := range sorted {
		p.add(&d)
	}
	for k, n := range offered {
		if f := d.files(k); f != nil {
			slices.Sort(f.Paths)
			// A list of which nothing fits is left out, with its heading.
			if len(f.Paths) > 0 {
				f.More = n - len(f.Paths)
			}
		}
	}
	d.Context = group(d.Context)
	return d
}

// group joins sentences of one message into one line, and puts lines with the
// same source together where the first of them stands.
func group(lines []Line) []Line {
	var out []Line
	at := map[string]int{}
	var groups [][]Line
	sources := map[string]bool{}
	for _, l := range lines {
		sources[l.From] = true
	}
	for _, l := range lines {
		if l.From == "" {
			if isCommand(l.Text) && sources[clipName(l.Text, maxSource)] {
				continue // its output stands under it
			}
			n := len(groups)
			if n > 0 {
				if prev := &groups[n-1][0]; prev.From == "" && prev.Ref == l.Ref && l.Ref != "" &&
					joins(prev.Text) && joins(l.Text) && len(prev.Text)+len(l.Text) < maxJoined {
					prev.Text += between(prev.Text) + l.Text
					continue
				}
			}
			groups = append(groups, []Line{l})
			continue
		}
		source := l.From
		if source == codeSource {
			source += "\x00" + l.Ref
		}
		k, ok := at[source]
		if !ok {
			k = len(groups)
			at[source] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], l)
	}
	for _, g := range groups {
		// The handle of a group is that of its latest line.
		for i := range g {
			g[i].Ref = g[len(g)-1].Ref
		}
		out = append(out, g...)
	}
	return out
}

// maxJoined bounds a line that is made of several sentences, in bytes.
const maxJoined = 360

// commandMark stands before a command line.
const commandMark = "$ "

// isCommand reports whether a line is a command line as excerpts show it.
func isCommand(s string) bool { return strings.HasPrefix(s, commandMark) }

// joins reports whether a statement may stand in one line with others.
func joins(s string) bool { return !isCommand(s) && !text.TableRow(s) }

// between separates two statements on one line: items of a list have no full stop.
func between(before string) string {
	for _, end := range []string{".", "!", "?", ":", "。", "！", "？", text.Ellipsis} {
		if strings.HasSuffix(strings.TrimRight(before, "*_`)\""), end) {
			return " "
		}
	}
	return " · "
}

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
