package summary

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

const (
	maxStatement = 300 // runes of a statement in a section
	maxRequest   = 400 // runes of a request in the Goal section
	maxAsked     = 140 // runes of a request above its part of the story
	maxDone      = 8   // commits, and todos that are done
)

// clip brings a statement to the length of a line.
func clip(s string) string { return clipName(oneLine(s), maxStatement) }

// statement makes a piece of a section of statements.
func (d *digest) statement(k kind, l Line, order int) piece {
	return piece{kind: k, line: l, order: order, ids: d.idsIn(l.Text), sure: withWords}
}

// idsIn returns the identifiers of a text that the conversation has.
func (d *digest) idsIn(s string) (ids []int32) {
	for id := range text.Identifiers(s) {
		if n, ok := d.names.ids[id.Text]; ok && !slices.Contains(ids, n) {
			ids = append(ids, n)
		}
	}
	return ids
}

// goal offers the current request and the task it belongs to, for about so many tokens.
func (d *digest) goal(tokens int64) []piece {
	// Most runes cost a third of a token, those that are not Latin up to one.
	fit := min(int(max(tokens, 20)), maxRequest)
	first, ok := d.firstGoal()
	first.Text = clipName(first.Text, fit)
	var out []piece
	if cur, any := d.currentUser(); any {
		now := clipName(request(cur), fit)
		if !ok || !sameEntry(cur.Ref, first.Ref) && now != first.Text {
			l := Line{Text: now, Ref: cur.Ref}
			if ok {
				l.Text = d.latest() + l.Text
			}
			out = append(out, d.statement(kindGoal, l, 1))
		}
	}
	if ok {
		if len(out) > 0 {
			first.Text = d.words.first + first.Text
		}
		out = append(out, d.statement(kindGoal, first, 0))
	}
	return out
}

// latest returns what stands before the request of the last turn: it is the
// current one unless what is kept holds a later one.
func (d *digest) latest() string {
	for _, it := range d.in.Kept {
		if it.Message != nil && it.Message.UserWords() && isRequest(it.Message.Text()) {
			return d.words.latest
		}
	}
	return d.words.current
}

// firstGoal returns the request that the session began with: as an earlier
// summary has it, as the ledger remembers it, or the first there is.
func (d *digest) firstGoal() (Line, bool) {
	if d.prev != nil && len(d.prev.Goal) > 0 && !isLatest(d.prev.Goal[0].Text) {
		l := d.prev.Goal[0]
		for _, more := range d.prev.Goal[1:] {
			// A model may have written several lines.
			if !isLatest(more.Text) {
				l.Text += " " + more.Text
			}
		}
		l.Text = withoutFirst(l.Text)
		return l, true
	}
	if d.foreign != "" {
		return Line{}, false // what came first stands in a text that is not ours
	}
	for _, u := range d.users {
		if isRequest(u.quote.Text) && substantial(ownWords(u.quote.Text)) {
			return Line{Text: request(u.quote), Ref: u.quote.Ref}, true
		}
	}
	for _, u := range d.led.Users {
		if isRequest(u.Text) {
			return Line{Text: request(Quote{Text: u.Text}), Ref: d.refs.of(u.Entry)}, true
		}
	}
	return Line{}, false
}

// currentUser returns the latest message of the user that says what to do. An "ok" or
// "continue" does not, and what is only pasted does not.
func (d *digest) currentUser() (q Quote, ok bool) {
	looked := 0
	for _, u := range slices.Backward(d.users) {
		if !isRequest(u.quote.Text) {
			continue
		}
		if substantial(ownWords(u.quote.Text)) {
			return u.quote, true
		}
		if looked++; looked == 1 {
			q, ok = u.quote, true
		}
		if looked == 8 {
			break
		}
	}
	return q, ok
}

func substantial(s string) bool {
	letters := 0
	for _, r := range s {
		if text.Wide(r) {
			letters += 3
		} else if unicode.IsLetter(r) {
			letters++
		}
		if letters >= 16 {
			return true
		}
	}
	return false
}

// request returns a message as it stands in the Goal section: its own sentences, what
// is pasted into it left out.
func request(q Quote) string {
	s := ownWords(q.Text)
	if s == "" {
		s = strings.Join(strings.Fields(oneLine(text.Plain(q.Text))), " ")
	}
	return clipName(s, maxRequest)
}

// ownWords returns the sentences of a message on one line, without what is pasted into it.
func ownWords(s string) string {
	var own strings.Builder
	for _, p := range textParts(text.Plain(s)) {
		if p.worth > partPasted {
			own.WriteString(p.text)
		}
	}
	return strings.Join(strings.Fields(oneLine(own.String())), " ")
}

// rules offers the user's rules, oldest first: those of the ledger, and those that an
// earlier summary had besides. One that was taken back is marked, not dropped: what it
// said may still stand in what is kept.
func (d *digest) rules() []piece {
	var all []piece
	seen := map[string]int{}
	add := func(l Line) {
		key := strings.ToLower(strings.Trim(l.Text, " .!;:*"))
		if k, ok := seen[key]; ok {
			all[k].line.Replaced = all[k].line.Replaced || l.Replaced
			return
		}
		seen[key] = len(all)
		all = append(all, d.statement(kindConstraints, l, len(all)))
	}
	if d.prev != nil {
		for _, l := range d.prev.Constraints {
			add(l)
		}
	}
	for _, r := range d.led.Rules {
		add(Line{Text: r.Text, Ref: d.refs.of(r.Entry), Replaced: r.Replaced})
	}
	return all
}

// unquotedFirst orders rules by importance: first those that no quote holds, newest first.
func unquotedFirst(all []piece, quoted map[string]bool) []piece {
	rank := func(p *piece) int {
		switch {
		case p.line.Replaced:
			return 2
		case quoted[p.line.Ref]:
			return 1
		}
		return 0
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b piece) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.order, a.order))
	})
	return all
}

// done offers what is finished, each with what shows it: commits, checks that pass,
// todos that are done. Newest first.
func (d *digest) done() []piece {
	var out []piece
	add := func(order int, l Line) { out = append(out, d.statement(kindDone, l, order)) }
	commits := 0
	for _, c := range slices.Backward(d.led.Commits) {
		i := d.place(c.Entry)
		if i < 0 && d.prev != nil || commits == maxDone {
			continue // stands in the earlier summary, as far as that had room
		}
		commits++
		t := d.words.commit + c.Hash + ": " + c.Subject
		if c.Hash == "" {
			t = strings.TrimSpace(d.words.commit) + ": " + c.Subject
		}
		add(10*i, Line{Text: t, Ref: d.refs.of(c.Entry)})
	}
	changed := -1 // where a file was changed last
	for _, f := range d.led.Files {
		if f.State != ledger.StateRead {
			changed = max(changed, d.place(f.Entry))
		}
	}
	passed := map[ledger.Check]int{}
	for _, c := range slices.Backward(d.led.Commands) {
		if c.Check == "" || c.Status != ledger.StatusOK || passed[c.Check] == 2 {
			continue
		}
		if i := d.place(c.Entry); i >= 0 && (passed[c.Check] == 0 || i >= changed) {
			passed[c.Check]++
			t := "`" + c.Text + "`" + d.words.passes
			if i < changed {
				t += d.words.since
			}
			add(10*i+1, Line{Text: t, Ref: d.refs.of(c.Entry)})
		}
	}
	out = append(out, d.lookedUp()...)
	todos := 0
	for _, t := range slices.Backward(d.led.Todos) {
		if t.Status == ledger.TodoDone && todos < maxDone {
			todos++
			add(10*d.place(t.Entry)+2, Line{Text: t.Text, Ref: d.refs.of(t.Entry)})
		}
	}
	if m, ok := d.lastReport(); ok && d.proven() {
		add(10*len(d.msgs), Line{Text: clip(told(m.said)), Ref: m.ref})
	}
	slices.SortStableFunc(out, func(a, b piece) int { return cmp.Compare(b.order, a.order) })
	if d.prev != nil {
		n := len(d.prev.Done)
		for i, l := range slices.Backward(d.prev.Done) {
			if cmd, ok := passing(l.Text); ok && slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool { return c.Text == cmd }) {
				continue // the ledger knows better how that ended
			}
			add(10*(i-n), l)
		}
	}
	return out
}

// asksState finds the commands that ask how things stand, each by its first words.
var asksState = text.Pattern(`\b(?:git (?:status|branch|push)|gh (?:pr|run|release) (?:view|checks|create|merge))\b`)

// lookedUp offers what the commands that ask how things stand answered last.
func (d *digest) lookedUp() []piece {
	var out []piece
	seen := map[string]bool{}
	for i := len(d.msgs) - 1; i >= 0 && len(out) < 4; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleToolResult || m.op.Kind != ledger.OpShell || m.IsError {
			continue
		}
		asks := asksState().FindString(m.op.Command)
		if asks == "" || seen[asks] {
			continue
		}
		seen[asks] = true
		said := ""
		for line := range strings.SplitSeq(lookAt(redacted(text.Plain(unwrapped(m.Text())))), "\n") {
			if line = oneLine(line); len(line) < 4 || unreadable(line) || forbidden(line) || strings.ContainsAny(line[:1], "{[") {
				continue
			}
			if said += " | " + clipName(line, 100); len(said) > 200 {
				break
			}
		}
		if said != "" {
			t := "`" + asks + "`: " + clipName(said[3:], maxStatement-40)
			out = append(out, d.statement(kindDone, Line{Text: t, Ref: m.ref}, 10*i+4))
		}
	}
	return out
}

// inProgress offers what came after the last request and is not finished: the todo
// that is being worked on, what the agent said last, what it changed and ran.
func (d *digest) inProgress() []piece {
	var out []piece
	add := func(l Line) { out = append(out, d.statement(kindInProgress, l, len(out))) }
	for _, t := range d.led.Todos {
		if t.Status == ledger.TodoActive {
			add(Line{Text: t.Text, Ref: d.refs.of(t.Entry)})
		}
	}
	if len(d.turns) == 0 || d.followed() || d.proven() {
		return out // what is in progress stands in what is kept, or nothing is
	}
	last := d.turns[len(d.turns)-1]
	if m, ok := d.lastReport(); ok {
		add(Line{Text: clip(told(m.said)), Ref: m.ref})
	}
	if last.ended {
		return out
	}
	if paths, ref := d.changedIn(last); len(paths) > 0 {
		add(Line{Text: d.words.changed + strings.Join(paths, ", "), Ref: ref})
	}
	for i := last.to - 1; i >= last.from; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleToolResult || m.op.Kind != ledger.OpShell || strings.TrimSpace(m.op.Command) == "" {
			continue
		}
		t := d.words.command + clipName(shownCommand(redacted(m.op.Command), d.in.Cwd), 160)
		if m.IsError || slices.ContainsFunc(d.led.Commands, func(l ledger.Command) bool {
			return l.Entry == m.id && l.Status == ledger.StatusFailed
		}) {
			t += d.words.failed
		}
		add(Line{Text: t, Ref: m.ref})
		break
	}
	return out
}

// followed reports whether what is kept begins with a new request.
func (d *digest) followed() bool {
	return len(d.in.Kept) > 0 && d.in.Kept[0].Message != nil && d.in.Kept[0].Message.StartsTurn()
}

// lastReport returns the last answer of the last turn that says something.
func (d *digest) lastReport() (m msg, ok bool) {
	if len(d.turns) == 0 {
		return m, false
	}
	last := d.turns[len(d.turns)-1]
	for i := last.to - 1; i >= last.from; i-- {
		if m := d.msgs[i]; m.Role == message.RoleAssistant && told(m.said) != "" {
			return m, true
		}
	}
	return m, false
}

// proven reports whether the last turn has ended with an answer that says that something
// passes, and a command bears it out: one that had failed ran without a fault in the turn.
// Then what the answer says is done, and not still going on.
func (d *digest) proven() bool {
	m, ok := d.lastReport()
	if !ok || len(d.in.Kept) > 0 || !d.turns[len(d.turns)-1].ended {
		return false
	}
	if s := told(m.said); !passWord().MatchString(s) || butWord().MatchString(s) {
		return false
	}
	return slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool {
		return c.Status == ledger.StatusOK && c.Failures > 0 && d.place(c.Entry) >= d.turns[len(d.turns)-1].from
	})
}

// told returns the first sentences of an answer that say something, at most two. What
// stands under the heading of a plan is not told: it is to be done.
func told(said []factLine) string {
	out := ""
	for _, l := range said {
		s := l.text
		if leadsOver(s) && planIntro().MatchString(s) {
			break
		}
		if len(s) <= 15 || leadsOver(s) || announces(s) || text.TableRow(s) || unreadable(s) || len(l.ids) == 0 && plainWords(s) < 4 {
			continue
		}
		if out != "" {
			return out + between(out) + s
		}
		out = s
	}
	return out
}

// changedIn returns the files that calls of a turn changed, at most eight, and the
// latest of those calls.
func (d *digest) changedIn(t turn) (paths []string, ref string) {
	for i := t.to - 1; i >= t.from && len(paths) < 8; i-- {
		for _, e := range d.msgs[i].done {
			if ref == "" {
				ref = d.msgs[i].ref
			}
			if !slices.Contains(paths, e.path) && e.path != "" {
				paths = append(paths, e.path)
			}
		}
	}
	slices.Reverse(paths)
	return paths, ref
}

// recent is how many messages back an error that is no check's is still worth
// naming.
const recent = 20

// failing offers the checks that fail and the errors that no later run of the same
// contradicts, with the lines that tell the error.
func (d *digest) failing() []piece {
	var out []piece
	for _, f := range slices.Backward(d.led.Errors) {
		i := d.place(f.Entry)
		if f.Check == "" && (i < len(d.msgs)-recent || len(d.turns) > 0 && i < d.turns[len(d.turns)-1].from) {
			continue
		}
		what := cmp.Or(f.Subject, f.Tool)
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
		out = append(out, d.statement(kindBlocked, Line{Text: t, Ref: d.refs.of(f.Entry)}, -len(out)))
	}
	if d.prev != nil && d.fromText {
		for _, l := range d.prev.Blocked {
			out = append(out, d.statement(kindBlocked, l, -1000))
		}
	}
	return out
}

// next offers what is to be done: open todos, else the plan in the latest answers, else
// what an earlier summary had, unless something else was asked since.
func (d *digest) next() []piece {
	var out []piece
	add := func(l Line) { out = append(out, d.statement(kindNext, l, len(out))) }
	for _, t := range d.led.Todos {
		if t.Status == ledger.TodoOpen {
			add(Line{Text: t.Text, Ref: d.refs.of(t.Entry)})
		}
	}
	if len(out) > 0 {
		return out
	}
	from := 0
	for _, t := range slices.Backward(d.turns) {
		if from = t.from; substantial(t.ask.Text) && t.from < t.to {
			break // "go on" asks for what was planned before, and so does what was not answered yet
		}
	}
	looked := 0
	for i := len(d.msgs) - 1; i >= from && looked < 5; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleAssistant || len(m.said) == 0 {
			continue
		}
		looked++
		for _, s := range planLines(text.OutsideFences(redacted(text.Plain(m.Text())))) {
			add(Line{Text: clip(s), Ref: m.ref})
		}
		if looked == 1 && len(out) == 0 {
			for _, l := range m.said[max(0, len(m.said)-4):] {
				if s := l.text; (planWord().MatchString(s) || strings.HasSuffix(s, "?")) && len(s) > 15 && !text.TableRow(s) && !leadsOver(s) {
					add(Line{Text: clip(s), Ref: m.ref})
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if d.prev != nil && len(d.turns) > 0 && d.turns[len(d.turns)-1].ask.Text == "" {
		for _, l := range d.prev.Next {
			add(l)
		}
	}
	return out
}

// planLines returns the items of a list that stands under a line that announces
// a plan, at most ten.
func planLines(s string) []string {
	var out []string
	in := false
	for line := range strings.SplitSeq(s, "\n") {
		t := strings.TrimSpace(line)
		switch {
		case t == "":
		case text.ListMark(line) != "":
			if in && len(out) < 10 && !strings.Contains(line, "[x]") && !strings.Contains(line, "✅") {
				out = append(out, strings.TrimSpace(line[len(text.ListMark(line)):]))
			}
		default:
			if in && len(out) > 0 {
				return out
			}
			in = planIntro().MatchString(t) && len(t) < 120
		}
	}
	return out
}

// decisions offers sentences that say how something was settled, or why, the
// clearest and newest first.
func (d *digest) decisions() []piece {
	var all []piece
	seen := map[string]bool{}
	for k, st := range d.led.Decisions {
		key := strings.ToLower(st.Text)
		if seen[key] || announces(st.Text) || supposes().MatchString(st.Text) || forbidden(st.Text) || unreadable(st.Text) {
			continue
		}
		seen[key] = true
		i := d.place(st.Entry)
		p := d.statement(kindDecisions, Line{Text: clip(st.Text), Ref: d.refs.of(st.Entry)}, 1000*i+min(k, 999))
		p.worth = float64(min(max(st.Weight, 1), 3)) * d.age(i)
		all = append(all, p)
	}
	if d.prev != nil {
		n := len(d.prev.Decisions)
		for i, l := range d.prev.Decisions {
			if key := strings.ToLower(l.Text); !seen[key] {
				seen[key] = true
				p := d.statement(kindDecisions, l, i-n)
				p.worth = .5
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(b.worth, a.worth) })
	return all
}
