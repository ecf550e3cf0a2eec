package summary

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// index returns the place of an entry among the messages, or -1.
func (d *digest) index() map[string]int {
	m := make(map[string]int, len(d.msgs))
	for i, e := range d.msgs {
		if e.id != "" {
			m[e.id] = i
		}
	}
	return m
}

// operation returns what the call did that a result belongs to.
func (d *digest) operation(m msg) ledger.Op {
	return m.op
}

func at(index map[string]int, id string) int {
	if i, ok := index[id]; ok {
		return i
	}
	return -1
}

// done offers what is finished: commits, checks that pass, todos that are done,
// and what the agent reported at the end of a turn in which it changed
// something. Newest first.
func (d *digest) done() []piece {
	index := d.index()
	var out []piece
	add := func(order int, l Line) {
		out = append(out, piece{kind: kindDone, line: l, order: order})
	}
	if d.prev != nil {
		n := len(d.prev.Done)
		for i, l := range d.prev.Done {
			if !d.said(l.Text) {
				add(10*(i-n), l)
			}
		}
	}
	committed := map[int]bool{}
	for _, c := range d.led.Commits {
		i := at(index, c.Entry)
		if i < 0 && d.prev != nil {
			continue // stands in the earlier summary, as far as that had room
		}
		committed[d.turnOf(i)] = true
		t := d.words.commit + c.Hash + ": " + c.Subject
		if c.Hash == "" {
			t = strings.TrimSpace(d.words.commit) + ": " + c.Subject
		}
		add(10*i, Line{Text: t, Ref: d.refs.of(c.Entry)})
	}
	changed := -1 // where a file was changed last
	for _, f := range d.led.Files {
		if f.State != ledger.StateRead {
			changed = max(changed, at(index, f.Entry))
		}
	}
	passed := map[ledger.Check]bool{}
	for _, c := range slices.Backward(d.led.Commands) {
		if c.Check == "" || c.Status != ledger.StatusOK || passed[c.Check] {
			continue
		}
		if i := at(index, c.Entry); i >= 0 {
			passed[c.Check] = true
			t := "`" + c.Text + "`" + d.words.passes
			if i < changed {
				t += d.words.since
			}
			add(10*i+1, Line{Text: t, Ref: d.refs.of(c.Entry)})
		}
	}
	for _, t := range d.led.Todos {
		if t.Status == ledger.TodoDone {
			add(10*at(index, t.Entry)+2, Line{Text: t.Text, Ref: d.refs.of(t.Entry)})
		}
	}
	for _, r := range d.reports() {
		if !committed[d.turnOf(r.order/10)] {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b piece) int { return b.order - a.order })
	return out
}

// said reports whether a line of an earlier summary about a passing check is out
// of date: the ledger knows better.
func (d *digest) said(t string) bool {
	cmd, ok := passing(t)
	if !ok {
		return false
	}
	return slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool { return c.Text == cmd })
}

func (d *digest) turnOf(i int) int {
	for ; i >= 0; i-- {
		if i < len(d.msgs) && d.msgs[i].UserWords() {
			return i
		}
	}
	return -1
}

// reports returns what the agent said at the end of each turn in which a call
// changed something or what had failed came to pass.
func (d *digest) reports() []piece {
	var out []piece
	worked, last := false, -1
	flush := func() {
		if worked && last >= 0 {
			m := d.msgs[last]
			if s := report(m.said); s != "" {
				out = append(out, piece{kind: kindDone, line: Line{Text: clip(s), Ref: m.ref}, order: 10*last + 3})
			}
		}
		worked, last = false, -1
	}
	for i, m := range d.msgs {
		switch m.Role {
		case message.RoleUser:
			flush()
		case message.RoleAssistant:
			if strings.TrimSpace(m.Text()) != "" {
				last = i
			}
		case message.RoleToolResult:
			if m.call != nil && !m.IsError {
				switch d.operation(m).Kind {
				case ledger.OpWrite, ledger.OpEdit, ledger.OpPatch:
					worked = true
				default:
				}
			}
		default:
		}
	}
	if len(d.in.Kept) == 0 || d.turnEnded() {
		worked = worked || d.proven()
		flush()
	}
	return out
}

// proven reports whether the last turn has ended with an answer that says that something
// passes, and a command bears it out: one that had failed ran without a fault in the turn.
// Then what the answer says is done, and not still going on.
func (d *digest) proven() bool {
	if len(d.in.Kept) > 0 || len(d.msgs) == 0 {
		return false
	}
	last := d.msgs[len(d.msgs)-1]
	if last.Role != message.RoleAssistant || len(last.ToolCalls()) > 0 {
		return false
	}
	if s := report(last.said); s == "" || !passWord().MatchString(s) || butWord().MatchString(s) {
		return false
	}
	index := d.index()
	return slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool {
		return c.Status == ledger.StatusOK && c.Failures > 0 && at(index, c.Entry) >= d.lastTurn
	})
}

// report returns the sentence that says best what was done: the first that
// names something.
func report(list []string) string {
	first := ""
	for _, s := range list {
		if !doneWord().MatchString(s) || len(s) < 20 || announce().MatchString(s) || text.TableRow(s) || unreadable(s) ||
			strings.HasSuffix(s, "?") || leadsOver(s) {
			continue
		}
		if hasIdentifier(s) {
			return s
		}
		if first == "" && subjects(s) >= 4 {
			first = s
		}
	}
	return first
}

// subjects counts the words that say what a sentence is about.
func subjects(s string) int {
	n := 0
	for range contentWords(s) {
		n++
	}
	return n
}

// turnEnded reports whether what is kept begins with a new turn.
func (d *digest) turnEnded() bool {
	return len(d.in.Kept) > 0 && d.in.Kept[0].Message != nil && d.in.Kept[0].Message.StartsTurn()
}

// inProgress offers what the last turn is about: the todo that is being worked
// on, what the agent said last, what it changed and ran.
func (d *digest) inProgress() []piece {
	var out []piece
	add := func(l Line) {
		out = append(out, piece{kind: kindInProgress, line: l, order: len(out)})
	}
	for _, t := range d.led.Todos {
		if t.Status == ledger.TodoActive {
			add(Line{Text: t.Text, Ref: d.refs.of(t.Entry)})
		}
	}
	if d.turnEnded() {
		return out // what is in progress stands in what is kept
	}
	if !d.proven() {
		for _, l := range d.lastSaid() {
			add(l)
		}
	}
	if changed, ref := d.changedIn(d.lastTurn); len(changed) > 0 {
		add(Line{Text: d.words.changed + strings.Join(changed, ", "), Ref: ref})
	}
	if l, ok := d.lastCommand(); ok {
		add(l)
	}
	return out
}

// lastSaid returns what the agent said last in the last turn, at most two
// statements. The beginning of an answer says what it is about; what only leads
// over to a list or a call is left out where something else was said.
func (d *digest) lastSaid() []Line {
	var out, empty []Line
	looked := 0
	for i := len(d.msgs) - 1; i >= d.lastTurn && looked < 8 && len(out) < 2; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleAssistant || len(m.said) == 0 {
			continue
		}
		looked++
		st := m.said
		for len(st) > 1 && (leadsOver(st[0]) || announce().MatchString(st[0]) || len(st[0]) < 15) {
			st = st[1:]
		}
		l := st[0]
		if len(st) > 1 && !leadsOver(st[1]) && !text.TableRow(st[1]) && !announce().MatchString(st[1]) {
			l += between(l) + st[1]
		}
		line := Line{Text: clip(l), Ref: m.ref}
		switch {
		case len(l) <= 15 || unreadable(l):
		case leadsOver(l) || announce().MatchString(l) || text.TableRow(l), subjects(l) < 4 && !hasIdentifier(l):
			empty = append(empty, line)
		default:
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return empty[:min(len(empty), 1)]
	}
	return out
}

// changedIn returns the names of the files that calls since message from changed,
// at most eight, and the latest of those calls.
func (d *digest) changedIn(from int) (paths []string, ref string) {
	for i := len(d.msgs) - 1; i >= from && len(paths) < 8; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleToolResult || m.call == nil || m.IsError {
			continue
		}
		op := d.operation(m)
		if op.Kind != ledger.OpWrite && op.Kind != ledger.OpEdit || op.Path == "" {
			continue
		}
		if len(paths) == 0 {
			ref = m.ref
		}
		if p := op.Path[strings.LastIndexByte(op.Path, '/')+1:]; !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	slices.Reverse(paths)
	return paths, ref
}

func (d *digest) lastCommand() (Line, bool) {
	for i := len(d.msgs) - 1; i >= d.lastTurn && i >= 0; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleToolResult || m.call == nil {
			continue
		}
		c := d.operation(m)
		if c.Kind != ledger.OpShell || strings.TrimSpace(c.Command) == "" {
			continue
		}
		t := d.words.command + clipName(shownCommand(redacted(c.Command), d.in.Cwd), 160)
		failed := m.IsError || slices.ContainsFunc(d.led.Commands, func(l ledger.Command) bool {
			return l.Entry == m.id && l.Status == ledger.StatusFailed
		})
		if failed {
			t += d.words.failed
		}
		return Line{Text: t, Ref: m.ref}, true
	}
	return Line{}, false
}

// recent is how many messages back an error that is no check's is still worth
// naming.
const recent = 20

// blocked offers the checks that fail and the errors that are still open, with
// the lines that tell the error.
func (d *digest) blocked() []piece {
	index := d.index()
	var out []piece
	for _, f := range slices.Backward(d.led.Errors) {
		i := at(index, f.Entry)
		if f.Check == "" && i < len(d.msgs)-recent {
			continue
		}
		what := f.Subject
		if what == "" {
			what = f.Tool
		}
		t := "`" + what + "`" + d.words.fails
		if f.Check == "" && ledger.Operation(f.Tool, nil, ledger.Options{}).Kind != ledger.OpShell {
			t = f.Tool + " `" + what + "`" + d.words.refused
			if f.Subject == "" {
				t = "`" + f.Tool + "`" + d.words.refused
			}
		}
		sep := ": "
		for _, l := range f.Lines {
			if l = oneLine(l); !forbidden(l) {
				t += sep + clipName(l, 160)
				sep = " | "
			}
		}
		out = append(out, piece{kind: kindBlocked, line: Line{Text: t, Ref: d.refs.of(f.Entry)}, order: len(d.led.Errors) - len(out)})
	}
	if d.prev != nil && d.fromText {
		for _, l := range d.prev.Blocked {
			out = append(out, piece{kind: kindBlocked, line: l, order: -1})
		}
	}
	return out
}
