package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"mvdan.cc/sh/v3/syntax"
)

// Options say how to read. Cwd is the working directory of the session, so that absolute
// paths below it and relative ones meet. Default: unknown, paths stay as they are.
type Options struct{ Cwd string }

// Read computes the ledger of a range of messages, oldest first. Summaries
// among them are merged where they stand: by the ledger or the file lists in
// their details, else by pi's lists in their text. Secrets in what it keeps are
// replaced by marks.
func Read(items []session.Item, opt Options) Ledger {
	r := NewReader(opt)
	r.Add(items)
	return r.Ledger()
}

// A Reader is a ledger in the making: for one message more, nothing is read again. It is
// for one goroutine at a time. Its lists are keyed, so that what happens again moves to the end.
type Reader struct {
	place
	parser      *syntax.Parser
	calls       map[string]call
	running     map[string]started // commands that go on, by the ids that later calls name them by
	entry       string             // of the message that is read
	files       table[File]
	weak        table[File]
	commands    table[Command]
	parsed      map[string]line        // by directory and command line
	left        map[string][]selection // of a check, by its command line: what no later one that passed covers
	errors      table[Failure]
	commits     []Commit
	branch      string // of the last commit, while no other was checked out since
	commitDir   string // where it was made
	users       []UserMessage
	seen        map[string]bool // entries of users
	todos       []Todo
	todoTool    bool // todos come from a tool
	rules       []Statement
	ruleAt      map[string]int // the place of a rule, by its words
	decisions   []Statement
	subjects    map[string]map[string]bool // what rules and decisions are about
	said        string                     // by the agent last
	objection   string                     // what the user said, until the agent answers
	omitted     map[string]int
	opened      string // the file that an editor without paths works on
	ended       Boundary
	proven      bool // by what was done since the last change and the user's last message
	checkpoints []Checkpoint
}

// NewReader returns a Reader that has read nothing.
func NewReader(opt Options) *Reader {
	return &Reader{
		place: newPlace(opt.Cwd), parser: newParser(), calls: map[string]call{}, running: map[string]started{}, parsed: map[string]line{}, left: map[string][]selection{},
		omitted: map[string]int{}, seen: map[string]bool{}, ruleAt: map[string]int{}, subjects: map[string]map[string]bool{},
	}
}

// Add reads the messages that follow those read before.
func (r *Reader) Add(items []session.Item) {
	for _, it := range items {
		r.ended, r.entry = "", ""
		if it.Entry != nil {
			r.entry = it.Entry.ID
		}
		if it.Message != nil {
			r.message(it.Message)
		}
		if r.ended != "" {
			r.checkpoints, r.proven = append(r.checkpoints, Checkpoint{r.entry, r.ended}), true
		}
	}
}

// Boundary returns whether a task ended at the last message that was added.
func (r *Reader) Boundary() Boundary { return r.ended }

func (r *Reader) message(m *message.Message) {
	switch m.Role {
	case message.RoleAssistant:
		r.assistant(m)
	case message.RoleToolResult:
		c, ok := r.calls[m.ToolCallID]
		if delete(r.calls, m.ToolCallID); refusal().MatchString(beginning(m.Text())) {
			r.refused(redact.Text(m.Text()))
		} else if ok {
			r.result(c, readOutcome(c, m))
		}
	case message.RoleBashExecution: // the user ran a command
		o := outcome{status: StatusUnknown, exit: m.ExitCode, text: m.Output}
		if o.exit != nil {
			o.status = statusOf(*o.exit)
		}
		if !m.ExcludeFromContext && !m.Cancelled {
			r.command(call{tool: "bash", act: OpShell, command: m.Command}, o)
		}
	case message.RoleUser:
		if m.UserWords() {
			r.user(m)
		} else if n := notice().FindStringSubmatch(m.Text()); n != nil {
			code, _ := strconv.Atoi(n[2]) // digits
			r.polled(call{polls: n[1]}, outcome{status: statusOf(code), exit: &code})
		}
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		r.Merge(fromSummary(m.Summary, m.Details))
	case message.RoleSystem, message.RoleCustom:
	}
}

func (r *Reader) assistant(m *message.Message) {
	ends := len(m.ToolCalls()) == 0
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockToolCall:
			r.calls[b.ID] = parseCall(b.Name, b.Arguments, r.entry)
		case message.BlockText:
			t := redact.Text(lookAt(b.Text))
			r.concedes(t)
			r.decided(t, false)
			r.said = t
			if ends && !r.proven && r.reportsDone(t) {
				r.ended = BoundaryAgent
			}
			if list := checkboxes(t, r.entry); list != nil && !r.todoTool {
				r.todos = list
			}
		default:
		}
	}
}

func (r *Reader) user(m *message.Message) {
	if r.seen[r.entry] && r.entry != "" {
		return
	}
	r.seen[r.entry] = true
	t := redact.Text(m.Text())
	r.proven = false
	if Finished(t) {
		r.ended = BoundaryUser
	}
	r.says(t)
	u := UserMessage{Entry: r.entry, Time: m.Time().UTC(), Text: text.Clip(t, maxText), Bytes: len(m.Text())}
	r.users = append(r.users, u)
}

// says takes in the words of the user.
func (r *Reader) says(t string) {
	r.userRules(t)
	if strings.Count(t, "\n") < manyLines { // nobody types what is longer
		r.decided(t, true)
		r.objection = t
	}
}

// refused takes in what the user said in refusing a call. One that says no, or what to do instead, has decided.
func (r *Reader) refused(result string) {
	_, said, _ := strings.Cut(result, "the user said:\n")
	said, _, _ = strings.Cut(said, "\n\n")
	if said == "" || strings.HasPrefix(said, "The user wants to clarify") {
		return
	}
	rules := len(r.rules)
	r.said = ""
	r.says(said)
	s := text.FirstLine(said)
	if words := sentenceWords(s); len(r.rules) == rules && len(words) > 1 && (Directs(s) || noWord()[words[0]] && !asking(s)) {
		r.decision(Statement{Text: s, Weight: ByUser, Entry: r.entry})
	}
}

func (r *Reader) result(c call, o outcome) {
	switch c.act {
	case actOpen, OpWrite, OpEdit, OpShell:
		if m := openedFile().FindStringSubmatch(o.text); m != nil {
			r.opened = m[1]
		}
	default:
	}
	switch c.act {
	case OpRead, actReadMany, actOpen, OpWrite, OpEdit, actDelete, actMove, OpPatch:
		r.touch(c, o)
	case OpShell:
		if in, ok := r.editorCall(c, o); ok {
			if editFailed().MatchString(beginning(o.text)) {
				o.status = StatusFailed
			}
			r.result(in, o)
		} else {
			r.command(c, o)
		}
	case actTodo, actTodoNew, actTodoSet:
		open := !allDone(r.todos)
		if o.status != StatusFailed {
			r.todoCall(c, o)
		}
		if open && allDone(r.todos) {
			r.ended = BoundaryTodos
		}
	case actScript:
		// The one result says of the last call how it ended, and of the others only that the
		// script came to the end.
		for i, in := range c.inner {
			each := o
			if i < len(c.inner)-1 {
				each.exit = nil
				if o.status == StatusFailed {
					each.status = StatusUnknown
				}
			}
			r.result(in, each)
		}
	case actPoll:
		r.polled(c, o)
	case OpFind:
	default: // a tool that is not in the vocabulary
		r.failed(o, "tool\x00"+c.tool, Failure{Tool: c.tool})
	}
}

func statusOf(exit int) Status {
	if exit == 0 {
		return StatusOK
	}
	return StatusFailed
}

// started is a command that was left running, and what it has printed so far.
type started struct {
	call
	text string
}

// polled takes in what a call brought of a command that was left running. When that has ended, its output is that of all
// calls.
func (r *Reader) polled(c call, o outcome) {
	s, ok := r.running[c.polls]
	if !ok {
		return
	}
	s.text = lookAt(s.text + o.text)
	r.running[c.polls] = s
	if o.running != "" {
		return
	}
	if o.status != StatusUnknown { // else it may go on
		delete(r.running, c.polls)
	}
	o.text, s.polls = s.text, c.polls
	r.result(s.call, o)
}

// touch takes in what a call did to files. A write shows only then whether it made the file.
func (r *Reader) touch(c call, o outcome) {
	for _, ch := range c.files {
		if ch.path == "" && (c.act == OpWrite || c.act == OpEdit) {
			ch.path = r.opened
		}
		p, to := r.norm(ch.path, c.dir), r.norm(ch.to, c.dir)
		switch {
		case p == "" || c.act == actMove && to == "":
		case ch.state == StateRead:
			if o.status != StatusFailed {
				wasRead(&r.files, p, c.entry)
			}
		case r.failed(o, "edit\x00"+p, Failure{Tool: c.tool, Subject: p}):
		default:
			if to != "" {
				ch.state = StateDeleted
			}
			if ch.state == "" {
				ch.state = r.written(p, beginning(o.text))
			}
			change(&r.files, p, ch.state, to, c.entry)
			r.proven = false
		}
	}
}

// wasRead records that a file was read. One that can be read is there: whoever made it again
// was not seen.
func wasRead(t *table[File], p, entry string) {
	f := t.touch(p, File{Path: p, State: StateRead})
	f.Read = true
	if f.State == StateRead || f.State == StateDeleted {
		f.State, f.Entry, f.To = StateRead, entry, ""
	}
}

// written says whether a call that wrote a whole file made it.
func (r *Reader) written(p, result string) State {
	old := r.files.get(p)
	gone := old == nil || old.State == StateDeleted
	if !saysExisted().MatchString(result) && (gone || saysCreated().MatchString(result)) {
		return StateCreated
	}
	return StateModified
}

// change records that a call or a command changed a file. One that is new stays so when it
// is modified.
func change(t *table[File], p string, s State, to, entry string) {
	f := t.touch(p, File{Path: p})
	if s != StateModified || f.State != StateCreated {
		f.State = s
	}
	f.Entry, f.To = entry, to
	f.Edits++
	if to != "" {
		change(t, to, StateCreated, "", entry)
	}
}

var lineEnds = text.Pattern(`\s*;*[ \t]*[\r\n]\s*`)

func (r *Reader) command(c call, o outcome) {
	if strings.TrimSpace(c.command) == "" {
		return
	}
	if o.running != "" {
		if strings.HasPrefix(o.text, "Command ") { // Claude Code's word on it
			o.text = ""
		}
		r.running[o.running] = started{c, o.text}
	}
	c.command = redact.Text(c.command)
	l := r.parse(c.command, c.dir)
	status := o.status
	if l.check != "" && o.running == "" && status != StatusFailed {
		status = l.judged(o)
	}
	key := l.text
	if !strings.Contains(key, "<<") && !strings.Contains(key, "\\\n") { // it still is the same on one line
		key = lineEnds().ReplaceAllString(key, "; ")
	}
	key = text.Clip(text.Line(key), maxText)
	cmd := r.commands.touch(key, Command{Text: key})
	again := c.polls != "" && cmd.Status == status // an earlier poll told it already
	if status == StatusFailed && misused().MatchString(lookAt(o.text)) {
		l.check, l.tests = "", false
	}
	cmd.Status, cmd.Exit, cmd.Check, cmd.Entry, cmd.Retired, cmd.Failed = status, o.exit, l.check, r.entry, false, nil
	cmd.Tells, cmd.Changes, cmd.Dir = l.tells, l.changes, l.tree
	delete(r.left, key)
	if c.polls == "" {
		cmd.Runs++
	}
	if status == StatusFailed {
		if !again {
			cmd.Failures++
		}
		if l.tests {
			cmd.Failed = failedTests(o.text)
		}
	}
	errKey := "run\x00" + l.program
	if l.check != "" {
		errKey = "check\x00" + key
	}
	if status == StatusOK || status == StatusFailed && !l.lookup {
		r.failed(outcome{status: status, text: o.text}, errKey, Failure{Tool: c.tool, Subject: key, Check: l.check})
	}
	if status == StatusOK && !again {
		r.passed(l, key)
	}
	if status == StatusOK && installs().MatchString(l.program) {
		r.installed()
	}
	if status == StatusFailed {
		for _, row := range r.commands.rows { // what passed before and looks at the same too would not now
			if c := &row.val; c.Check != "" && c.Status == StatusOK && slices.ContainsFunc(l.checks, r.parse(c.Text, "").covers) {
				c.Retired = true
			}
		}
	}
	if o.status != StatusUnknown {
		r.shellFiles(l.shellChanges(r.place, o.status == StatusFailed))
	}
	if o.running == "" {
		r.git(l, o)
	}
}

// judged returns what became of a check whose line did not fail: the exit status may be that of
// another command, or not be told.
func (l line) judged(o outcome) Status {
	sure := o.status == StatusOK && !l.unsure
	if sure && o.exit != nil {
		return StatusOK
	}
	out := mended().ReplaceAllString(lookAt(o.text), "")
	switch {
	case sure && !failedSurely().MatchString(out):
		return StatusOK
	case l.tests && noneFailed().MatchString(out):
		return StatusOK
	case sure, failMark().MatchString(out):
		return StatusFailed
	case l.tests && passMark().MatchString(out):
		return StatusOK
	case neverRan().MatchString(out):
		return StatusFailed
	case l.tests:
		return StatusUnknown // tests that pass say so
	}
	return o.status
}

// parse returns what a command line says. Each is parsed once.
func (r *Reader) parse(command, dir string) line {
	key := dir + "\x00" + command
	l, ok := r.parsed[key]
	if !ok {
		l = readLine(command, parseScript(r.parser, command), r.place, dir)
		if len(key) < 1<<10 { // what is longer hardly runs twice
			r.parsed[key] = l
		}
	}
	return l
}

// passed takes what a passing check covers from the earlier ones, and what it runs from what failed in them: where
// nothing is left, they say nothing any more.
func (r *Reader) passed(l line, key string) {
	if len(l.checks) == 0 && len(l.mends) == 0 {
		return
	}
	if l.check == CheckTest {
		r.ended = BoundaryCheck
	}
	for of, row := range r.commands.rows {
		c := &row.val
		if c.Check == "" || c.Retired || of == key {
			continue
		}
		earlier := r.parse(c.Text, "")
		left, ok := r.left[of]
		if !ok {
			left = earlier.checks
		}
		left = slices.DeleteFunc(slices.Clone(left), l.covers)
		// The list may be shared with a ledger that was given out.
		failed := slices.DeleteFunc(slices.Clone(c.Failed), func(what string) bool { return l.runs(earlier, what) })
		all := l.umbrella && earlier.check != CheckTest && c.Failed == nil && within(earlier.dir, l.dir)
		if c.Retired = all || len(left) == 0 || c.Failed != nil && len(failed) == 0; c.Retired {
			failed = nil
			delete(r.errors.rows, "check\x00"+c.Text)
		}
		c.Failed, r.left[of] = failed, left
	}
}

var (
	installs = text.Pattern(` (?:install|i|ci|add|sync)$`)
	missing  = text.Pattern(`command not found|No module named|[Cc]annot find (?:module|package)`)
)

// installed drops the failures for something that was not there: nobody knows what they would say now.
func (r *Reader) installed() {
	for key, row := range r.errors.rows {
		if !slices.ContainsFunc(row.val.Lines, missing().MatchString) {
			continue
		}
		delete(r.errors.rows, key)
		if c := r.commands.get(row.val.Subject); c != nil {
			c.Retired = true
		}
	}
}

// shellFiles takes in what a command did to files. It is weak evidence: it never
// makes a file modified. But a file that is known is not taken for being there
// after it was removed or moved.
func (r *Reader) shellFiles(changes []fileChange) {
	for _, ch := range changes {
		switch ch.state {
		case StateRead:
			if f := r.files.get(ch.path); f != nil && f.State != StateDeleted {
				wasRead(&r.files, ch.path, r.entry)
			} else {
				wasRead(&r.weak, ch.path, r.entry)
			}
		case stateRestored:
			r.restore(ch.path)
		default:
			change(&r.weak, ch.path, ch.state, ch.to, r.entry)
			if ch.state == StateDeleted {
				r.gone(&r.weak, ch)
				r.gone(&r.files, ch)
			}
		}
	}
}

// gone lets the files at a path and below it go with it.
func (r *Reader) gone(t *table[File], ch fileChange) {
	var below []File
	for _, row := range t.rows {
		if within(row.val.Path, ch.path) && row.val.State != StateDeleted {
			below = append(below, row.val)
		}
	}
	slices.SortFunc(below, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range below {
		to := ch.to
		if to != "" {
			to += strings.TrimPrefix(f.Path, ch.path)
		}
		change(t, f.Path, StateDeleted, to, r.entry)
	}
}

// restore records that a file, or all files below a directory, are again as they
// were before they were changed.
func (r *Reader) restore(p string) {
	for _, t := range []*table[File]{&r.files, &r.weak} {
		for _, row := range t.rows {
			f := &row.val
			changed := f.State == StateModified || f.State == StateDeleted && f.To == ""
			if changed && (p == "." || within(f.Path, p)) {
				f.State, f.Entry = StateRead, r.entry
			}
		}
	}
}

// failed keeps the error of what failed, and drops the one of its key when it did not.
func (r *Reader) failed(o outcome, key string, f Failure) bool {
	if o.status != StatusFailed {
		delete(r.errors.rows, key)
		return false
	}
	f.Entry = r.entry
	f.Lines = errorLines(o.text, 3)
	for i, l := range f.Lines {
		f.Lines[i] = redact.Text(l)
	}
	*r.errors.touch(key, f) = f
	return true
}

// addNew adds what is not there already, as in a ledger that is merged twice.
func addNew[T comparable](list *[]T, more ...T) {
	for _, v := range more {
		if !slices.Contains(*list, v) {
			*list = append(*list, v)
		}
	}
}
