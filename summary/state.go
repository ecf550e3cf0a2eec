package summary

import (
	"cmp"
	"iter"
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
	maxRequest   = 400           // runes of a request in the Goal section
	maxAsked     = 90            // runes of a request above its part of the story
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

// before returns the earlier summary, an empty one where there is none in our form.
func (d *digest) before() *Document {
	if d.prev == nil {
		return &Document{}
	}
	return d.prev
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
	if goal := d.before().Goal; len(goal) > 0 && !isLatest(goal[0].Text) {
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

// currentUser returns the latest message of the user that says what to do. An "ok" or
// "continue" does not, and what is only pasted does not.
func (d *digest) currentUser() (q Quote, ok bool) {
	for _, u := range slices.Backward(d.users) {
		switch {
		case !isRequest(u.Text):
		case substantial(ownWords(u.Text)):
			return u, true
		case !ok:
			q, ok = u, true
		}
	}
	return q, ok
}

// substantial tells a request from an "ok".
func substantial(s string) bool { return letters(s, 3, unicode.IsLetter) >= 16 }

// lastOrder returns the last words of the user where they are a short order: "commit it" and not "go on".
func (d *digest) lastOrder() (q Quote, ok bool) {
	for _, u := range slices.Backward(d.users) {
		if isRequest(u.Text) {
			words := strings.FieldsFunc(strings.ToLower(u.Text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
			return u, len(words) > 1 && !substantial(u.Text) && slices.ContainsFunc(words, func(w string) bool { return len(w) > 3 && !assent()[w] })
		}
	}
	return q, false
}

// assent are the words with which a user lets the agent go on with what it proposed.
var assent = text.Words(`okay please thanks thank great nice cool good perfect lgtm fine sure yeah yep ahead continue
	proceed keep going that this those them both option first second again retry next with then just right correct awesome`)

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

// planOver reports whether a whole request was dealt with since the todos were touched.
func (d *digest) planOver() bool {
	touched := -1
	for _, t := range d.led.Todos {
		touched = max(touched, d.place(t.Entry))
	}
	return slices.ContainsFunc(d.turns, func(t turn) bool {
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
	for _, p := range textParts(text.Plain(s)) {
		if p.worth > partPasted {
			own.WriteString(p.text)
		}
	}
	return strings.Join(strings.Fields(oneLine(own.String())), " ")
}

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
	for _, l := range d.before().Constraints {
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
		add(10*i, d.line(strings.TrimSpace(d.words.commit+c.Hash)+": "+c.Subject, c.Entry))
	}
	changed := -1 // where a file was changed last
	for _, f := range d.led.Files {
		if f.State != ledger.StateRead && scratch(f.Path, kindModified) == kindModified && !strings.Contains(f.Path, "/.claude/") {
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
			t += d.counted(i)
			add(10*i+1, d.line(t, c.Entry))
		}
	}
	out = append(out, d.lookedUp()...)
	todos := 0
	for _, t := range slices.Backward(d.led.Todos) {
		if t.Status == ledger.TodoDone && todos < maxDone {
			todos++
			add(10*d.place(t.Entry)+2, d.line(t.Text, t.Entry))
		}
	}
	slices.SortStableFunc(out, func(a, b piece) int { return cmp.Compare(b.order, a.order) })
	for i, l := range slices.Backward(d.before().Done) {
		if cmd, ok := passing(l.Text); ok && slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool { return c.Text == cmd }) {
			continue // the ledger knows better how that ended
		}
		add(10*(i-len(d.prev.Done)), l)
	}
	return out
}

// branchName matches a line of git branch, which sets names in by two, and the name that it prints alone.
var (
	branchName = text.Pattern(`^(?:[*+] |  )[\w.-][/\w.-]*(?: -> \S+)?$|^Deleted branch `)
	bareName   = text.Pattern(`^[\w.-][/\w.-]*$`)
)

// asksState finds the commands that ask how things stand or change it for others, each by
// its first words, and answer the lines in which git says so. What else such a command
// prints, or another that ran with it, tells nothing of the state.
var (
	asksState = text.Pattern(`\b(?:git (?:status|branch|push)|gh (?:pr|run|release) (?:view|checks|create|merge))\b`)
	// These match the commands after which an earlier answer says nothing any more.
	changesTree   = text.Pattern(`\bgit (?:-C \S+ )?(?:commit|add|reset|restore|checkout|switch|stash|merge|rebase|pull|rm|mv|cherry-pick|revert|apply|am)\b`)
	changesBranch = text.Pattern(`\bgit (?:-C \S+ )?(?:checkout|switch|worktree|branch +-)|\bgh pr checkout\b`)
	changesHub    = text.Pattern(`\bgit (?:-C \S+ )?push\b|\bgh (?:pr|run|release) (?:merge|create|close|edit|rerun|ready|delete)\b`)

	answers = text.Pattern(`^(?:## |On branch |HEAD detached|Your branch |nothing to commit|\* \S|[MADRCU?]{1,2} +(?:\S+|".*")$|(?:modified|new file|deleted|both modified): |` +
		`Everything up-to-date|\W{0,3}\[(?:new|rejected|remote)|(?:\S+\.\.+\S+ +)?\S+ +-> |error: |fatal: )`)
)

// lookedUp offers what the commands that ask how things stand answered last.
func (d *digest) lookedUp() []piece {
	var out []piece
	seen := map[string]bool{}
	tree, branch, hub := false, false, false // what was changed since
	for i := len(d.msgs) - 1; i >= 0 && len(out) < 4; i-- {
		m := d.msgs[i]
		tree = tree || len(m.done) > 0
		if !m.ran() {
			continue
		}
		command := m.op.Command
		asks, rest := "", ""
		if at := asksState().FindStringIndex(command); at != nil {
			asks, rest = command[at[0]:at[1]], command[at[1]:]
		}
		over := false
		switch {
		case asks == "git branch":
			over = branch || changesBranch().MatchString(rest)
		case asks == "git status":
			over = tree || changesTree().MatchString(rest)
		case strings.HasSuffix(asks, "view") || strings.HasSuffix(asks, "checks"):
			over = tree || hub || changesHub().MatchString(rest)
		}
		tree, branch, hub = tree || changesTree().MatchString(command), branch || changesBranch().MatchString(command), hub || changesHub().MatchString(command)
		if asks == "" || over || seen[asks] || m.IsError {
			continue
		}
		seen[asks] = true
		said := ""
		for line := range m.printed() {
			if line = tellsState(asks, m.op.Command, strings.TrimRight(line, " \r")); line == "" || forbidden(line) {
				continue
			}
			if said += " | " + clipName(line, 120); len(said) > 200 {
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

// hubState matches the lines in which gh tells of the state of a pull request, a run or a release, and hubMember the
// members of its JSON that do.
var (
	hubState  = text.Pattern(`^(?:title|state|draft|number|url|mergeable|conclusion|status|tag)[:\t]|\s(?:pass|fail|pending|skipping)\s+\d|^https://\S+/(?:pull|issues|actions|releases|tag)/\S+$|^\W{0,2} ?(?:Merged|Closed|Squashed and merged|Rebased and merged|All checks|Some checks)\b`)
	hubMember = text.Pattern(`("(?:number|state|title|url|isDraft|mergeable|conclusion|status)") ?: ?(?:"(?:[^"\\]|\\.){1,90}"|\d+|true|false)`)
)

// tellsState returns what a line that a command prints tells of the state, "" for nothing.
func tellsState(asks, command, line string) string {
	told := oneLine(line)
	switch {
	case !strings.HasPrefix(asks, "gh"):
		shown := asks == "git branch" && (branchName().MatchString(line) || strings.Contains(command, "--show-current") && bareName().MatchString(line))
		if !shown && !answers().MatchString(told) {
			return ""
		}
	case strings.HasPrefix(told, "{") || strings.HasPrefix(told, "["):
		var members []string
		for _, m := range hubMember().FindAllStringSubmatch(told, 20) {
			if !slices.ContainsFunc(members, func(s string) bool { return strings.HasPrefix(s, m[1]) }) {
				members = append(members, m[0])
			}
		}
		return strings.Join(members, ", ")
	case !hubState().MatchString(told):
		return ""
	}
	return told
}

// count matches the line in which a program that runs tests says how many passed.
var count = text.Pattern(`(?i)\b[1-9]\d* (?:tests? |specs? |examples? |assertions? )?(?:passed|passing|pass|successes)\b|\b(?:tests?|specs?|checks?)[: ]+[1-9]\d* (?:passed|passing)|^OK \(\d|\bRan \d+ tests?\b`)

// counted returns what the result of a check that passed says of how much it has run: ": " and the line; "" for nothing.
func (d *digest) counted(i int) string {
	said := ""
	for line := range d.msgs[i].printed() {
		if line = oneLine(line); len(line) < 200 && !forbidden(line) && count().MatchString(line) {
			said = ": " + clipName(line, 100)
		}
	}
	return said
}

// inProgress offers what came after the last request and is not finished: the todo
// that is being worked on, what the agent said last, what it changed and ran.
func (d *digest) inProgress() []Line {
	out := d.todos(ledger.TodoActive)
	if d.last.ended {
		return out // what is in progress stands in what is kept, or nothing is
	}
	if l := d.lastReport(); l.Text != "" {
		out = append(out, l)
	}
	if paths, ref := d.changedIn(d.last); len(paths) > 0 {
		out = append(out, Line{Text: d.words.changed + strings.Join(paths, ", "), Ref: ref})
	}
	if call, ref := d.unanswered(); call != "" {
		out = append(out, Line{Text: d.words.command + clipName(shownCommand(redact.Text(call), d.in.Cwd), 160), Ref: ref})
	} else if i := d.lastIn(d.last, func(m *msg) bool { return m.ran() && strings.TrimSpace(m.op.Command) != "" }); i >= 0 {
		m := &d.msgs[i]
		t := d.words.command + clipName(shownCommand(redact.Text(m.op.Command), d.in.Cwd), 160)
		if m.IsError || d.failed[m.id] {
			t += d.words.failed
		}
		out = append(out, Line{Text: t, Ref: m.ref})
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

// followed reports whether what is kept begins with a new request.
func (d *digest) followed() bool {
	return len(d.in.Kept) > 0 && d.in.Kept[0].Message != nil && d.in.Kept[0].Message.StartsTurn()
}

// lastReport returns the first words of the last answer of the last turn that says something, if it
// says that something is under way.
func (d *digest) lastReport() (l Line) {
	d.lastIn(d.last, func(m *msg) bool {
		if m.Role != message.RoleAssistant {
			return false
		}
		s := told(m.said)
		if underWay().MatchString(s) {
			l = Line{Text: clip(s), Ref: m.ref}
		}
		return s != ""
	})
	return l
}

// underWay matches what is said of work that is not finished.
var underWay = text.Pattern(`(?i)\bI(?:['’]m| am) (?:\w+ly |now |still )?\w+ing\b|\bI(?:['’]ll| will)\b|\b(?:is|are) (?:now |still )*(?:running|building|open|failing|broken|missing)\b|\bstill\b|\bremain(?:s|ing)?\b|\b(?:not|isn't|aren't) (?:yet|done|finished)\b|\bnext\b|\bneeds? to\b|\bblocked\b|\bwaiting\b|正在|接下来|下一步|还需要|还没|ich werde|läuft|noch nicht|je vais|en cours|voy a|сейчас|ещё`)

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

// failing offers the checks that fail and the errors that no later run of the same
// contradicts, with the lines that tell the error.
func (d *digest) failing() []piece {
	var out []piece
	told := map[string]bool{} // a patch of several files fails once
	for _, f := range slices.Backward(d.led.Errors) {
		i := d.place(f.Entry)
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
	if d.fromText {
		for _, l := range d.before().Blocked {
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
		if looked == 1 && len(out) == 0 {
			for _, l := range m.said[max(0, len(m.said)-4):] {
				if s := l.text; (planWord().MatchString(s) || strings.HasSuffix(s, "?")) && len(s) > 15 && !text.TableRow(s) && !leadsOver(s) {
					out = append(out, Line{Text: clip(l.text), Ref: m.ref})
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if len(d.msgs) > 0 && d.last.ask.Text == "" {
		out = d.before().Next
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

// goesOn reports whether a sentence says what the agent is doing just now or is to do yet.
func goesOn(s string) bool {
	return s != "" && (strings.IndexByte("in", s[0]|0x20) >= 0 || strings.Contains(s, "ll ") || strings.Contains(s, "LL ") || strings.Contains(strings.ToLower(s), "to decide")) && going().MatchString(s)
}

var going = text.Pattern(`(?i)^(?:now )?i(?:['’]m| am) (?:\w+ly |now )?\w+ing\b|\bi(?:['’]ll| will) (?:\w+ly )?(?:check|look|read|verify|see|try|run|inspect)\b|\bto decide\b`)

// decisions offers sentences that say how something was settled, or why, the
// clearest and newest first.
func (d *digest) decisions() []piece {
	var all []piece
	seen := map[string]bool{}
	for i, m := range d.msgs {
		for k, c := range m.chose {
			if !strings.Contains(c, answered) && !ledger.Directs(c) {
				continue
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
	for i, l := range d.before().Decisions {
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
