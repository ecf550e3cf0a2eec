package summary

import (
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

const (
	maxStatement = 300           // runes of a statement in a section
	maxRequest   = 300           // runes of a request in the Goal section
	maxAsked     = 60            // runes of a request above its part of the story
	maxQuestion  = 180           // runes of a question that a tool asked
	maxDone      = 8             // commits, and todos that are done
	userChose    = ledger.ByUser // worth of a decision that is the user's
	recent       = 20            // messages back, in which an error that is no check's is worth naming
)

// clip brings a statement to the length of a line.
func clip(s string) string { return clipName(oneLine(s), maxStatement) }

// statement makes a piece of a section of statements.
func (d *digest) statement(k kind, l Line, order int) piece {
	return piece{kind: k, line: l, order: order, ids: d.idsIn(l.Text), sure: withWords}
}

// line makes a line of an entry.
func (d *digest) line(s, entry string) Line { return Line{Text: s, Ref: d.refs.of(entry)} }

// idsIn returns the identifiers of a text that the conversation has.
func (d *digest) idsIn(s string) (ids []int32) {
	for id := range text.Identifiers(s) {
		if n, ok := d.names.ids[id.Text]; ok && !slices.Contains(ids, n) {
			ids = append(ids, n)
		}
	}
	return ids
}

// terms returns the words of a sentence that say something, numbered as identifiers are: what is said once need not be
// said again in other words.
func (d *digest) terms(s string) (ids []int32) {
	for w := range text.ContentWords(s, stopWords()) {
		if n := d.names.id(text.Identifier{Class: wordClass, Text: strings.ToLower(w)}); !slices.Contains(ids, n) {
			ids = append(ids, n)
		}
	}
	return ids
}

// wordClass is the class of words that are no identifiers.
const wordClass text.Class = 0

// goal offers the current request and the task it belongs to, for about so many tokens.
func (d *digest) goal(tokens int64) []piece {
	// Most runes cost a third of a token, those that are not Latin up to one.
	fit := min(int(max(tokens, 20)), maxRequest)
	first, ok := d.firstGoal()
	first.Text = clipName(first.Text, fit)
	var out []piece
	if cur, any := d.currentUser(); any {
		now := clipName(request(cur), fit)
		if order, short := d.lastOrder(); short && order.Ref != cur.Ref {
			said := clipName(oneLine(order.Text), maxAsked)
			if ok && sameEntry(cur.Ref, first.Ref) { // it stands above
				now = said
			} else {
				now += between(now) + said
			}
			cur.Ref = order.Ref
		}
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
	if slices.ContainsFunc(d.in.Kept, func(it session.Item) bool {
		return it.Message != nil && it.Message.UserWords() && isRequest(it.Message.Text())
	}) {
		return d.words.latest
	}
	return d.words.current
}

// firstGoal returns the request that the session began with: as an earlier
// summary has it, as the ledger remembers it, or the first there is.
func (d *digest) firstGoal() (Line, bool) {
	if goal := d.prev.Goal; len(goal) > 0 && !isLatest(goal[0].Text) {
		l := goal[0]
		for _, more := range goal[1:] { // a model may have written several lines
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
		if isRequest(u.Text) && substantial(ownWords(u.Text)) {
			return Line{Text: request(u), Ref: u.Ref}, true
		}
	}
	for _, u := range d.led.Users {
		if isRequest(u.Text) {
			return Line{Text: request(Quote{Text: u.Text}), Ref: d.refs.of(u.Entry)}, true
		}
	}
	return Line{}, false
}

// currentUser returns the latest message of the user that says what to do. An "ok" or "continue" does not, what is only
// pasted does not, and a question that was answered does where there is nothing else.
func (d *digest) currentUser() (q Quote, ok bool) {
	best := 0
	for _, u := range slices.Backward(d.users) {
		says := 0
		switch {
		case !isRequest(u.Text):
			continue
		case !substantial(ownWords(u.Text)):
			says = 1
		case d.answered(u):
			says = 2
		default:
			return u, true
		}
		if says > best {
			q, ok, best = u, true, says
		}
	}
	return q, ok
}

// answered reports whether a message is a question, and was dealt with.
func (d *digest) answered(q Quote) bool {
	return strings.HasSuffix(strings.TrimSpace(q.Text), "?") && !asksTo().MatchString(q.Text) &&
		!slices.ContainsFunc(d.turns, func(t turn) bool { return t.ask.Ref == q.Ref && !t.ended })
}

// asksTo matches a question that is an order.
var asksTo = text.Pattern(`(?i)\b(?:can|could|would|will) (?:you|we)\b|\bplease\b|\blet['’]?s\b|\b(?:kannst|könntest|peux-tu|pouvez-vous|puedes) |你能|可以.*吗|していただけ|해 ?줄|можешь`)

// isNews reports whether a message only says that something was done: "merged".
func isNews(s string) bool { return len(strings.Fields(s)) <= 3 && ledger.Finished(s) }

// substantial tells a request from an "ok".
func substantial(s string) bool { return letters(s, 3, unicode.IsLetter) >= 16 && !ledger.Assents(s) }

// lastOrder returns the last short order of the user: "commit it", not "go on" and not "both".
func (d *digest) lastOrder() (q Quote, ok bool) {
	for _, u := range slices.Backward(d.users) {
		if substantial(u.Text) {
			break
		}
		if isRequest(u.Text) && !isNews(u.Text) && letters(u.Text, 3, unicode.IsLetter) > 4 && !ledger.Assents(u.Text) {
			return u, true
		}
	}
	return q, false
}

// letters counts the characters of a short text that count, those of scripts without spaces
// between words so many times.
func letters(s string, wide int, counts func(rune) bool) (n int) {
	for _, r := range s {
		if text.Wide(r) {
			n += wide
		} else if counts(r) {
			n++
		}
		if n > 100 {
			break
		}
	}
	return n
}

// request returns a message as it stands in the Goal section: its own sentences, what
// is pasted into it left out.
func request(q Quote) string {
	q.Text = withoutFiles(q.Text)
	if before, _, ok := strings.Cut(q.Text, "\n</"); ok && strings.HasPrefix(q.Text, "<") && substantial(before) {
		q.Text = before // what follows the first element is how to go about it
	}
	s := ownWords(q.Text)
	if t := strings.TrimLeft(q.Text, "\" \n"); len(q.Text) > 2*longMessage && strings.HasPrefix(t, "#") {
		// A document: what is asked for comes last.
		if last := ownWords(q.Text[strings.LastIndex(strings.TrimRight(q.Text, "\" \n"), "\n")+1:]); substantial(last) {
			s = strings.Trim(last, "\"")
		}
	}
	if s == "" {
		s = strings.Join(strings.Fields(oneLine(text.Plain(q.Text))), " ")
	}
	return clipName(s, maxRequest)
}

// withoutFiles returns what the user wrote where Codex has put a list of files before it; where
// that is nothing, what the files are called.
func withoutFiles(s string) string {
	files, listed := strings.CutPrefix(strings.TrimSpace(s), "# Files mentioned by the user:")
	if !listed {
		return s
	}
	files, asked, _ := strings.Cut(files, "## My request for Codex:")
	if strings.TrimSpace(asked) != "" {
		return asked
	}
	var names []string
	for line := range strings.SplitSeq(files, "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			name, _, _ = strings.Cut(name, ": /")
			names = append(names, name)
		}
	}
	return strings.Join(names, "\n")
}

// planOver reports whether a whole request was dealt with since the todos were touched, or another one has come and more
// than one commit.
func (d *digest) planOver() bool {
	touched := -1
	for _, t := range d.led.Todos {
		touched = max(touched, d.place(t.Entry))
	}
	commits := 0
	for _, c := range d.led.Commits {
		if d.place(c.Entry) > max(touched, d.last.from-1) {
			commits++
		}
	}
	return commits > 1 && d.last.from > touched || slices.ContainsFunc(d.turns, func(t turn) bool {
		return t.from > touched && t.from < t.to && t.ended && substantial(ownWords(t.ask.Text)) && d.lastIn(t, (*msg).acted) >= 0
	})
}

// acted reports whether a message is the result of a call that did not only look.
func (m *msg) acted() bool {
	return m.Role == message.RoleToolResult && (m.op.Kind == ledger.OpShell && !ledger.Looks(m.op.Command) || m.op.Kind == ledger.OpEdit || m.op.Kind == ledger.OpWrite || m.op.Kind == ledger.OpPatch)
}

// todos returns the todos of a status that are still to be done.
func (d *digest) todos(of ...ledger.TodoStatus) (lines []Line) {
	if d.planOver() {
		return nil
	}
	for _, t := range d.led.Todos {
		if slices.Contains(of, t.Status) {
			lines = append(lines, d.line(t.Text, t.Entry))
		}
	}
	return lines
}

// numbered makes pieces of lines that stand in their order.
func (d *digest) numbered(k kind, lines []Line) (out []piece) {
	for i, l := range lines {
		out = append(out, d.statement(k, l, i))
	}
	return out
}

// ownWords returns the sentences of a message on one line, without what is pasted into it.
func ownWords(s string) string {
	var own strings.Builder
	for _, p := range textParts(text.Plain(link().ReplaceAllString(s, "$1"))) {
		if p.worth > partPasted {
			own.WriteString(p.text)
		}
	}
	return strings.Join(strings.Fields(oneLine(own.String())), " ")
}

// link matches a link of Markdown.
var link = text.Pattern(`\[([^\[\]\n]*)\]\([^()\s]*\)`)

// rules offers the user's rules, newest first: those of the ledger, and those that an
// earlier summary had besides. One that was taken back is marked, not dropped: what it
// said may still stand in what is kept.
func (d *digest) rules() []piece {
	var all []Line
	seen := map[string]int{}
	add := func(l Line) {
		key := strings.ToLower(strings.Trim(l.Text, " .!;:*"))
		if k, ok := seen[key]; ok {
			all[k].Replaced = all[k].Replaced || l.Replaced
			return
		}
		seen[key] = len(all)
		all = append(all, l)
	}
	for _, l := range d.prev.Constraints {
		add(l)
	}
	isAsked := d.askedFor()
	for _, r := range d.led.Rules {
		if isAsked(r.Text) && asksOnce().MatchString(r.Text) {
			continue
		}
		add(Line{Text: r.Text, Ref: d.refs.of(r.Entry), Replaced: r.Replaced})
	}
	out := d.numbered(kindConstraints, all)
	slices.Reverse(out)
	return out
}

// asksOnce matches the beginning of a request that is no rule, whatever it says on the way.
var asksOnce = text.Pattern(`(?i)^(?:please |now |ok,? )*(?:i (?:want|need)|i['’]d like|start|create|build|write|implement|add|fix|review) `)

// askedFor returns a function that reports whether a sentence is the whole of the first request or of the current one.
func (d *digest) askedFor() func(string) bool {
	plain := func(s string) string { return strings.Trim(s, "\" .") }
	goal, _ := d.firstGoal()
	cur, _ := d.currentUser()
	first, now := plain(goal.Text), plain(request(cur))
	return func(s string) bool { s = plain(s); return s == first || s == now }
}

// done offers what is finished, each with what shows it: commits, checks that pass and that no later one covers,
// todos that are done, what was published. Newest first.
func (d *digest) done() []piece {
	var out []piece
	add := func(entry string, t string, of int) {
		out = append(out, d.statement(kindDone, d.line(t, entry), 10*d.place(entry)+of))
	}
	commits := d.led.Commits[max(0, len(d.led.Commits)-maxDone):]
	for i, c := range commits {
		on := ""
		if c.Branch != "" && i == len(commits)-1 {
			on = " (" + c.Branch + ")"
		}
		add(c.Entry, strings.TrimSpace(d.words.commit+c.Hash)+on+": "+c.Subject, 0)
	}
	changed := d.codeChanged()
	passed := map[ledger.Check]int{}
	for _, c := range slices.Backward(d.led.Commands) {
		i := d.place(c.Entry)
		if c.Check == "" || c.Status != ledger.StatusOK || c.Retired || passed[c.Check] > 0 && i < changed || passed[c.Check] == 2 {
			continue
		}
		passed[c.Check]++
		t := "`" + c.Text + "`" + d.words.passes
		if i < changed {
			t += d.words.since
		}
		add(c.Entry, t+d.counted(i), 1)
	}
	todos := 0
	for _, t := range slices.Backward(d.led.Todos) {
		if t.Status == ledger.TodoDone && todos < maxDone {
			todos++
			add(t.Entry, t.Text, 2)
		}
	}
	slices.SortStableFunc(out, func(a, b piece) int { return cmp.Compare(b.order, a.order) })
	for i, l := range slices.Backward(d.prev.Done) {
		if !d.toldBetter(l.Text) {
			out = append(out, d.statement(kindDone, l, 10*(i-len(d.prev.Done))))
		}
	}
	return out
}

// toldBetter reports whether the ledger tells what stands in a line of an earlier summary: it has what was before.
func (d *digest) toldBetter(line string) bool {
	command, passes := passing(line)
	if passes && slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool { return c.Text == command }) {
		return true
	}
	return slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool { return d.place(c.Entry) < 0 }) && slices.ContainsFunc(languages, func(l phrases) bool {
		return line[0] == '`' || strings.HasPrefix(line, strings.TrimSpace(l.commit))
	})
}

// codeChanged returns where a file that a check may look at was changed last, -1 for nowhere.
func (d *digest) codeChanged() int {
	changed := -1
	for _, f := range d.led.Files {
		if f.State != ledger.StateRead && scratch(f.Path, kindModified) == kindModified && !strings.Contains(f.Path, "/.claude/") && !noCode()[path.Ext(f.Path)] {
			changed = max(changed, d.place(f.Entry))
		}
	}
	return changed
}

var noCode = text.Words(`.md .mdx .rst .txt .adoc`)

// told offers what commands printed last of how things stand outside of the files, in whole lines: a branch or a number
// stands once in an output and nowhere else. Of git it is the working tree that was asked for last. Newest first.
func (d *digest) told() (out []piece) {
	var known, moved []string
	tree := "?"
	changed := -1
	for _, f := range d.led.Files {
		if f.State != ledger.StateRead {
			changed = max(changed, d.place(f.Entry))
		}
	}
	for _, c := range slices.Backward(d.led.Commands) {
		git := slices.ContainsFunc(slices.Concat(c.Tells, c.Changes), func(k string) bool { return strings.HasPrefix(k, "git") })
		if git && tree == "?" {
			tree = c.Dir
		}
		stale := len(c.Tells) == 0 || c.Status == ledger.StatusFailed || git && c.Dir != tree || slices.ContainsFunc(c.Tells, func(k string) bool {
			return slices.Contains(known, k) || slices.ContainsFunc(moved, func(m string) bool { return strings.HasPrefix(k, m+" ") })
		})
		known, moved = append(known, c.Tells...), append(moved, c.Changes...)
		at := d.place(c.Entry)
		switch {
		case stale:
		case at < 0:
			for i, l := range d.prev.Seen {
				if l.Ref != "" && strings.HasPrefix(c.Entry, l.Ref) {
					out = append(out, d.statement(kindSeen, l, i-len(d.prev.Seen)))
				}
			}
		default:
			said := d.printedLines(at, len(c.Changes) > 0)
			if said == "" {
				break
			}
			s := "`" + shownCommand(c.Text, d.in.Cwd) + "`"
			if len(s) > maxTelling || c.Check != "" { // of which the ledger has the check alone
				s = "`" + strings.Join(c.Tells, "`, `") + "`"
			}
			if at < changed && slices.Contains(c.Tells, "git status") {
				s += d.words.since
			}
			out = append(out, d.statement(kindSeen, d.line(s+": "+said, c.Entry), at))
		}
	}
	return out
}

const (
	toldLines  = 6   // of an output that say how things stand
	maxTelling = 100 // bytes of the command above them; of a longer one only what it asked stands there
)

// printedLines returns the first lines that a command printed on one line, or the last ones: a command that changes
// something says at the end what came of it. The commits among them are told elsewhere, what a server adds is no news, and
// texts in JSON are sources.
func (d *digest) printedLines(at int, last bool) string {
	var lines []string
	for line := range d.msgs[at].printed() {
		line = strings.Join(strings.Fields(strings.TrimRight(oneLine(line), "+- ")), " ")
		if line != "" && !forbidden(line) && !noOutcome().MatchString(line) && !strings.HasPrefix(line, "remote:") && !strings.Contains(line, `\n`) &&
			!slices.ContainsFunc(d.led.Commits, func(c ledger.Commit) bool { return c.Hash != "" && strings.Contains(line, " "+c.Hash+"] ") }) {
			lines = append(lines, line)
		}
	}
	if n := len(lines) - toldLines; last {
		lines = lines[max(n, 0):]
	} else if n > 0 {
		lines = append(lines[:toldLines], text.Ellipsis)
	}
	return clipName(strings.Join(lines, " | "), maxStatement)
}

// few names the last of some paths, and how many others there are.
func few(paths []string) string {
	const most = 3
	n := max(0, len(paths)-most)
	s := strings.Join(paths[n:], ", ")
	if n > 0 {
		s += fmt.Sprintf(" +%d", n)
	}
	return s
}

// count matches the line in which a program that runs tests says how many passed.
var count = text.Pattern(`(?i)\b[1-9]\d* (?:tests? |specs? |examples? |assertions? )?(?:passed|passing|pass|successes)\b|\b(?:tests?|specs?|checks?)[: ]+[1-9]\d* (?:passed|passing)|^OK \(\d|\bRan \d+ tests?\b`)

// counted returns what the result of a check that passed says of how much it has run: ": " and the line; "" for nothing.
func (d *digest) counted(i int) string {
	said := ""
	if i < 0 {
		return said
	}
	for line := range d.msgs[i].printed() {
		if line = oneLine(line); len(line) < 200 && !forbidden(line) && count().MatchString(line) {
			said = ": " + clipName(line, 100)
		}
	}
	return said
}

// inProgress offers what came after the last request and is not finished: the todo that is being worked on, what the
// agent said last, what it changed since the last commit, and a command without a result.
func (d *digest) inProgress() []Line {
	out := d.todos(ledger.TodoActive)
	if d.last.ended {
		return out // what else is in progress stands in what is kept, or nothing is
	}
	if l := d.lastReport(); l.Text != "" {
		out = append(out, l)
	}
	since := d.last
	if n := len(d.led.Commits); n > 0 {
		since.from = min(max(since.from, d.place(d.led.Commits[n-1].Entry)+1), since.to)
	}
	if paths, ref := d.changedIn(since); len(paths) > 0 {
		out = append(out, Line{Text: d.words.changed + few(paths), Ref: ref})
	}
	if call, ref := d.unanswered(); strings.TrimSpace(call) != "" {
		out = append(out, Line{Text: d.words.command + clipName(shownCommand(redact.Text(call), d.in.Cwd), 160), Ref: ref})
	}
	return out
}

// unanswered returns the command line of the last call, where it has no result.
func (d *digest) unanswered() (command, ref string) {
	if len(d.msgs) == 0 || len(d.in.Kept) > 0 {
		return "", ""
	}
	m := d.msgs[len(d.msgs)-1]
	for _, b := range m.ToolCalls() {
		if op := ledger.Operation(b.Name, b.Arguments, ledger.Options{}); op.Kind == ledger.OpShell {
			command, ref = op.Command, m.ref
		}
	}
	return command, ref
}

// ran reports whether a message is the result of a shell command.
func (m *msg) ran() bool { return m.Role == message.RoleToolResult && m.op.Kind == ledger.OpShell }

// printed yields the lines that a command printed.
func (m *msg) printed() iter.Seq[string] {
	return strings.SplitSeq(lookAt(redact.Text(text.Plain(ledger.Output(m.Text())))), "\n")
}

// lastIn returns the last message of a turn that is looked for, or -1.
func (d *digest) lastIn(t turn, fits func(*msg) bool) int {
	for i := t.to - 1; i >= t.from; i-- {
		if fits(&d.msgs[i]) {
			return i
		}
	}
	return -1
}

// lastReport returns the first words of the last answer of the last turn that says something, if they say that
// something is under way. After two silent answers nobody knows whether it still is.
func (d *digest) lastReport() (l Line) {
	silent := 0
	d.lastIn(d.last, func(m *msg) bool {
		if m.Role != message.RoleAssistant {
			return false
		}
		s := told(m.said)
		if underWay.MatchString(s) {
			l = Line{Text: clip(s), Ref: m.ref}
		}
		silent++
		return s != "" || silent > 2
	})
	return l
}

// underWay matches what is said of work that is not finished, of what is to be done or waited for.
var underWay = text.NewWording(`i'm (?:\w+ly |now |still )?\w+ing|i’m (?:\w+ly |now |still )?\w+ing|i am (?:now |still )?\w+ing|i'll|i’ll|i will|`+
	`is (?:now |still )*(?:running|building|failing|broken|missing)|are (?:now |still )*(?:running|building|failing|broken|missing)|`+
	`still (?:needs?|missing|open|left|waiting|running|failing|to)|yet to|not yet|not (?:done|finished)|remains? (?:to|open)|left to do|`+
	`we need to|i need to|needs? to be|blocked|waiting (?:for|on)|to decide|want me to|shall i|should i|would you like|ready (?:to|for)|once you|say the word|next steps?|next up|`+
	`ich werde|noch nicht|noch zu|soll ich|läuft|je vais|pas encore|en cours|dois-je|voy a|todavía no|falta`,
	`正在|接下来|下一步|还需要|还没|次に|残り|まだ|다음|아직|сейчас|ещё`)

// doing matches a sentence about what the agent does just now.
var doing = text.Pattern(`(?i)^(?:now )?I(?:['’]m| am) (?:\w+ly |now )?\w+ing\b|\bI(?:['’]ll| will) (?:\w+ly )?(?:check|look|read|verify|see|try|run|inspect)\b`)

// told returns the first sentences of an answer that say something, at most two.
func told(said []factLine) string {
	out := ""
	for _, l := range said {
		s := l.text
		if len(s) <= 15 || leadsOver(s) || announces(s) || text.TableRow(s) || unreadable(s) || len(l.ids) == 0 && plainWords(s, 4) < 4 {
			continue
		}
		if out != "" {
			return out + between(out) + s
		}
		out = s
	}
	return out
}

// changedIn returns the files that calls of a turn changed, and the latest of those calls.
func (d *digest) changedIn(t turn) (paths []string, ref string) {
	for _, m := range d.msgs[t.from:t.to] {
		for _, e := range m.done {
			if ref = m.ref; e.path != "" && scratch(e.path, kindModified) != kindScratch {
				paths = append(slices.DeleteFunc(paths, func(p string) bool { return p == e.path }), e.path)
			}
		}
	}
	return paths, ref
}

// failing offers the checks that fail and the errors that no later run of the same
// contradicts, with the lines that tell the error.
func (d *digest) failing() []piece {
	var out []piece
	told := map[string]bool{} // a patch of several files fails once
	for _, f := range slices.Backward(d.led.Errors) {
		i := d.place(f.Entry)
		if dir, _, in := strings.Cut(strings.TrimPrefix(f.Subject, "cd "), " && "); in && (scratch(dir+"/x", kindModified) != kindModified || strings.Contains(dir, "/tmp/")) {
			f.Check = "" // it is none of the project
		}
		if f.Check == "" && (i < len(d.msgs)-recent || len(d.msgs) > 0 && i < d.last.from) {
			continue
		}
		said := f.Entry + strings.Join(f.Lines, "\n")
		if told[said] {
			continue
		}
		told[said] = true
		what := cmp.Or(f.Subject, f.Tool)
		t := "`" + what + "`"
		switch {
		case f.Check != "" || ledger.Operation(f.Tool, nil, ledger.Options{}).Kind == ledger.OpShell:
			t += d.words.fails
		case f.Subject == "":
			t += d.words.refused
		default:
			t = f.Tool + " " + t + d.words.refused
		}
		sep := ": "
		for _, l := range f.Lines {
			if l = oneLine(l); !forbidden(l) {
				t += sep + clipName(l, 160)
				sep = " | "
			}
		}
		out = append(out, d.statement(kindBlocked, d.line(t, f.Entry), -len(out)))
	}
	if len(d.led.Commands) == 0 { // the earlier summary is known from its text alone
		for _, l := range d.prev.Blocked {
			out = append(out, d.statement(kindBlocked, l, -1000))
		}
	}
	return out
}

// next offers what is to be done: open todos, else the plan in the latest answers, else
// what an earlier summary had, unless something else was asked since.
func (d *digest) next() []Line {
	out := d.todos(ledger.TodoOpen)
	if len(out) > 0 {
		return out
	}
	from := 0
	for _, t := range slices.Backward(d.turns) {
		if from = t.from; substantial(t.ask.Text) && t.from < t.to {
			break // "go on" asks for what was planned before, and so does what was not answered yet
		}
	}
	for i, looked := len(d.msgs)-1, 0; i >= from && looked < 5; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleAssistant || len(m.said) == 0 {
			continue
		}
		looked++
		for _, s := range planLines(text.OutsideFences(redact.Text(text.Plain(m.Text())))) {
			out = append(out, Line{Text: clip(s), Ref: m.ref})
		}
		if looked == 1 && len(out) == 0 && d.last.ended { // else it stands in what is in progress
			for _, l := range m.said[max(0, len(m.said)-4):] {
				if s := l.text; (underWay.MatchString(s) || strings.HasSuffix(s, "?")) && len(s) > 15 && !text.TableRow(s) && !leadsOver(s) {
					out = append(out, Line{Text: clip(l.text), Ref: m.ref})
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if len(d.msgs) > 0 && d.last.ask.Text == "" {
		out = d.prev.Next
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
			in = announcesPlan(t) && len(t) < 120
		}
	}
	return out
}

// decisions offers sentences that say how something was settled, or why, the
// clearest and newest first.
func (d *digest) decisions() []piece {
	var all []piece
	seen := map[string]bool{}
	for i, m := range d.msgs {
		for k, c := range m.chose {
			if !strings.Contains(c, answered) {
				continue // what is said in refusing a call is in the ledger
			}
			p := d.statement(kindDecisions, Line{Text: clip(c), Ref: m.ref}, 1000*i+min(k, 999))
			p.worth = userChose
			all = append(all, p)
		}
	}
	isAsked := d.askedFor()
	for k, st := range d.led.Decisions {
		key := strings.ToLower(st.Text)
		if seen[key] || isAsked(st.Text) || st.Weight < userChose && (announces(st.Text) || supposes.MatchString(st.Text)) || forbidden(st.Text) || unreadable(st.Text) {
			continue
		}
		seen[key] = true
		i := d.place(st.Entry)
		p := d.statement(kindDecisions, d.line(clip(st.Text), st.Entry), 1000*i+min(k, 999))
		p.worth = float64(min(st.Weight, userChose)) * d.age(i)
		all = append(all, p)
	}
	for i, l := range d.prev.Decisions {
		if key := strings.ToLower(l.Text); !seen[key] {
			seen[key] = true
			p := d.statement(kindDecisions, l, i-len(d.prev.Decisions))
			p.worth = .5
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(b.worth, a.worth) })
	return all
}
