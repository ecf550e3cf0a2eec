package ledger

import (
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Options say how to read. The zero value is ready for use.
type Options struct {
	// Cwd is the working directory of the session, so that absolute paths below
	// it and relative ones meet. Default: unknown, paths stay as they are.
	Cwd string
}

// Read computes the ledger of a range of messages, oldest first. Summaries
// among them are merged where they stand: by the ledger or the file lists in
// their details, else by the lists in their text. Secrets in what it keeps are
// replaced by marks.
func Read(items []session.Item, opt Options) Ledger {
	r := NewReader(opt)
	r.Add(items)
	return r.Ledger()
}

// A Reader reads a conversation bit by bit: for one message more, nothing is read
// again. It is for one goroutine at a time.
type Reader struct{ r *reader }

// NewReader returns a Reader that has read nothing.
func NewReader(opt Options) *Reader { return &Reader{newReader(opt)} }

// Add reads the messages that follow those read before.
func (r *Reader) Add(items []session.Item) {
	for i := range items {
		r.r.item(items[i])
	}
}

// Ledger returns the ledger of what was read so far. It shares nothing with later ones.
func (r *Reader) Ledger() Ledger { return r.r.finish() }

// reader is a ledger in the making. Lists are keyed, so that what happens again
// moves to the end.
type reader struct {
	place
	calls    map[string]call
	files    table[File]
	weak     table[File]
	commands table[Command]
	errors   table[Failure]
	commits  []Commit
	users    []UserMessage
	seen     map[string]bool // entries of users
	todos    []Todo
	todoTool bool // todos come from a tool
	mentions table[Mention]
	rules    []Statement
	ruleAt   map[string]int // the place of a rule, by its text in one case
	omitted  Omitted

	decisions    []Statement
	saidDecision map[string]bool
	subjects     map[string]map[string]bool // what rules are about
	opened       string                     // the file that an editor without paths works on
	ended        Boundary                   // whether a task ended at the last message
}

func newReader(opt Options) *reader {
	return &reader{
		place: newPlace(opt.Cwd), calls: map[string]call{}, seen: map[string]bool{}, ruleAt: map[string]int{},
		saidDecision: map[string]bool{}, subjects: map[string]map[string]bool{},
	}
}

func (r *reader) item(it session.Item) {
	m, id := it.Message, ""
	r.ended = ""
	if m == nil {
		return
	}
	if it.Entry != nil {
		id = it.Entry.ID
	}
	switch m.Role {
	case message.RoleAssistant:
		r.assistant(m, id)
	case message.RoleToolResult:
		c, ok := r.calls[m.ToolCallID]
		if !ok {
			return
		}
		delete(r.calls, m.ToolCallID)
		r.result(c, readOutcome(c, m), id)
	case message.RoleBashExecution:
		if !m.ExcludeFromContext && !m.Cancelled {
			r.shellRun(m, id)
		}
	case message.RoleUser:
		if m.UserWords() {
			r.user(m, id)
		}
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		r.merge(fromSummary(m.Summary, m.Details, r.place))
	case message.RoleSystem, message.RoleCustom:
	}
}

func (r *reader) assistant(m *message.Message, id string) {
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockToolCall:
			r.calls[b.ID] = parseCall(b.Name, b.Arguments, id)
		case message.BlockText:
			t := redact.Text(lookAt(b.Text))
			r.decided(t, id, false)
			if !r.todoTool {
				if list := checkboxes(t, id); list != nil {
					r.todos = list
				}
			}
		default:
		}
	}
	r.mention(m, id)
}

func (r *reader) user(m *message.Message, id string) {
	if r.seen[id] && id != "" {
		return
	}
	r.seen[id] = true
	t := redact.Text(m.Text())
	if saysDone(t) {
		r.ended = BoundaryUser
	}
	r.mention(m, id)
	r.userRules(t, id)
	r.decided(t, id, true)
	r.users = append(r.users, UserMessage{Entry: id, Time: m.Time().UTC(), Text: text.Clip(t, MaxText), Bytes: len(m.Text())})
}

// shellRun takes in a command that the user ran.
func (r *reader) shellRun(m *message.Message, id string) {
	o := outcome{status: StatusOK, exit: m.ExitCode, text: m.Output}
	if m.ExitCode == nil {
		o.status = StatusUnknown
	} else if *m.ExitCode != 0 {
		o.status = StatusFailed
	}
	r.command(call{tool: "bash", act: actShell, command: m.Command}, o, id)
}

func (r *reader) result(c call, o outcome, id string) {
	if o.refused {
		return
	}
	if m := openedFile().FindStringSubmatch(o.text); m != nil && editorTool(c) {
		r.opened = m[1]
	}
	switch c.act {
	case actRead, actOpen:
		r.read(c, o)
	case actReadMany:
		r.readMany(c, o)
	case actWrite, actEdit:
		r.write(c, o, id)
	case actDelete, actMove:
		r.remove(c, o, id)
	case actPatch:
		r.patch(c, o, id)
	case actShell:
		if !r.editorCommand(c, o, id) {
			r.command(c, o, id)
		}
	case actTodo, actTodoNew, actTodoSet:
		if o.status != StatusFailed {
			r.todoCall(c, o)
		}
	case actScript:
		r.script(c, o, id)
	case actFind:
	default:
		r.other(c, o, id)
	}
}

func (r *reader) todoCall(c call, o outcome) {
	open := !allDone(r.todos)
	defer func() {
		if open && allDone(r.todos) {
			r.ended = BoundaryTodos
		}
	}()
	switch c.act {
	case actTodoNew:
		r.newTodo(c, o.text)
	case actTodoSet:
		r.changeTodo(c)
	default:
		r.todo(c)
	}
}

// script takes in a script's calls. Its one result says of the last of them how
// it ended, and of the others only that the script came to the end.
func (r *reader) script(c call, o outcome, id string) {
	for i, in := range c.inner {
		each := o
		if i < len(c.inner)-1 {
			each.exit = nil
			if o.status == StatusFailed {
				each.status = StatusUnknown
			}
		}
		r.result(in, each, id)
	}
}

func (r *reader) readMany(c call, o outcome) {
	for _, m := range []string{"paths", "files", "include"} {
		for _, p := range stringList(jsonx.Get(c.args, m)) {
			if !strings.ContainsAny(p, "*?{[") {
				c.path = p
				r.read(c, o)
			}
		}
	}
}

// remove takes in a call that deletes a file or gives it another path.
func (r *reader) remove(c call, o outcome, id string) {
	p := r.norm(c.path, "")
	if p == "" {
		return
	}
	key := "edit\x00" + p
	if o.status == StatusFailed {
		r.fail(key, Failure{Tool: c.tool, Subject: p, Entry: id}, o.text)
		return
	}
	r.errors.drop(key)
	if to := r.norm(c.to, ""); c.act == actMove && to != "" {
		r.move(p, to, c.entry)
	} else if c.act == actDelete {
		r.change(p, StateDeleted, c.entry)
	}
}

func (r *reader) read(c call, o outcome) {
	p := r.norm(c.path, "")
	if p == "" || o.status == StatusFailed {
		return
	}
	f := r.files.touch(p, File{Path: p, State: StateRead, Entry: c.entry})
	f.Read = true
	if f.State == StateRead {
		f.Entry = c.entry
	}
	// A file that can be read is there: whoever made it again was not seen.
	if f.State == StateDeleted {
		f.State, f.Entry, f.To = StateRead, c.entry, ""
	}
}

func (r *reader) write(c call, o outcome, id string) {
	if c.path == "" {
		c.path = r.opened
	}
	p := r.norm(c.path, "")
	if p == "" {
		return
	}
	key := "edit\x00" + p
	if o.status == StatusFailed {
		r.fail(key, Failure{Tool: c.tool, Subject: p, Entry: id}, o.text)
		return
	}
	r.errors.drop(key)
	state := StateModified
	if c.act == actWrite {
		old, known := r.files.get(p)
		switch head := o.text[:min(len(o.text), 500)]; {
		case saysExisted().MatchString(head):
		case saysCreated().MatchString(head), !known || old.State == StateDeleted:
			state = StateCreated
		}
	}
	r.change(p, state, c.entry)
}

// change records that a call changed a file.
func (r *reader) change(p string, s State, entry string) {
	f := r.files.touch(p, File{Path: p})
	if s == StateModified && f.State == StateCreated {
		s = StateCreated
	}
	f.State, f.Entry, f.To = s, entry, ""
	f.Edits++
}

func (r *reader) patch(c call, o outcome, id string) {
	changes := patchChanges(c.command)
	if len(changes) == 0 {
		return
	}
	dir := ""
	if c.dir != "" {
		dir = c.dir
	}
	for _, ch := range changes {
		p := r.norm(ch.path, dir)
		if p == "" {
			continue
		}
		key := "edit\x00" + p
		if o.status == StatusFailed {
			r.fail(key, Failure{Tool: c.tool, Subject: p, Entry: id}, o.text)
			continue
		}
		r.errors.drop(key)
		if to := r.norm(ch.to, dir); to != "" {
			r.move(p, to, c.entry)
			continue
		}
		r.change(p, ch.state, c.entry)
	}
}

// move records that a file got another path. It is as new there as it was
// before.
func (r *reader) move(from, to, entry string) {
	r.change(from, StateDeleted, entry)
	r.files.touch(from, File{}).To = to
	r.change(to, StateCreated, entry)
}

func (r *reader) command(c call, o outcome, id string) {
	if strings.TrimSpace(c.command) == "" {
		return
	}
	c.command = redact.Text(c.command)
	sc := parseScript(c.command)
	l := readLine(c.command, sc, r.place, c.dir)
	status := o.status
	if l.check != "" && status != StatusFailed {
		head, tail := ends(o.text)
		mark := failMark
		if !l.unsure {
			mark = failedSurely // the status is that of the check, if it is known
		}
		if (l.unsure || o.exit == nil) && (mark().MatchString(head) || mark().MatchString(tail)) {
			status = StatusFailed
		}
	}
	key := text.Clip(flat(l.text), MaxText)
	cmd := r.commands.touch(key, Command{Text: key, Check: l.check})
	cmd.Runs++
	cmd.Status, cmd.Exit, cmd.Entry, cmd.Settled, cmd.Failed = status, o.exit, id, false, nil
	errKey := "run\x00" + l.program
	if l.check != "" {
		errKey = "check\x00" + key
	}
	switch status {
	case StatusFailed:
		cmd.Failures++
		if l.check == CheckTest {
			cmd.Failed = failedTests(o.text)
		}
		if !l.lookup {
			r.fail(errKey, Failure{Tool: c.tool, Subject: key, Check: l.check, Entry: id}, o.text)
		}
	case StatusOK:
		r.errors.drop(errKey)
		if l.check != "" {
			r.settle(l)
		}
		if l.check == CheckTest {
			r.ended = BoundaryCheck
		}
		r.commit(c.command, o.text, id)
	default:
	}
	dir := c.dir
	switch o.status {
	case StatusOK:
		r.shellFiles(shellChanges(sc, r.place, dir), id)
	case StatusFailed:
		r.shellFiles(sureWrites(sc, r.place, dir), id)
	default:
	}
	r.gitFiles(sc, o, dir, id)
}

// flat writes a command line of several lines on one, so that it still is the
// same; one with a here document in it only looks like it.
func flat(command string) string {
	if strings.Contains(command, "\n") && !strings.Contains(command, "<<") && !strings.Contains(command, "\\\n") {
		lines := strings.FieldsFunc(command, func(r rune) bool { return r == '\n' || r == '\r' })
		for i, l := range lines {
			lines[i] = strings.TrimRight(strings.TrimSpace(l), ";")
		}
		command = strings.Join(lines, "; ")
	}
	return text.Line(command)
}

// settle marks the failing checks that a passing one covers, and takes from the
// others what it covers of what failed in them.
func (r *reader) settle(passed line) {
	for _, c := range r.commands.all() {
		if c.Status != StatusFailed || c.Settled || c.Check == "" {
			continue
		}
		failed := readLine(c.Text, parseScript(c.Text), r.place, "")
		if !passed.covers(failed) {
			if len(c.Failed) == 0 || !passed.sameTool(failed) {
				continue
			}
			// The list may be shared with a ledger that was merged.
			var rest []string
			for _, f := range c.Failed {
				if !passed.runs(f) {
					rest = append(rest, f)
				}
			}
			if c.Failed = rest; rest != nil {
				continue
			}
		}
		c.Settled, c.Failed = true, nil
		r.errors.drop("check\x00" + c.Text)
	}
}

// shellFiles takes in what a command did to files. It is weak evidence: it never
// makes a file modified. But a file that is known is not taken for being there
// after it was removed or moved.
func (r *reader) shellFiles(changes []change, entry string) {
	for _, ch := range changes {
		switch ch.state {
		case StateRead:
			r.shown(ch.path, entry)
			continue
		case stateRestored:
			r.restore(ch.path, entry)
			continue
		default:
		}
		w := r.weak.touch(ch.path, File{Path: ch.path})
		if ch.state != StateModified || w.State != StateCreated {
			w.State = ch.state
		}
		w.Entry, w.To = entry, ch.to
		w.Edits++
		if ch.to != "" {
			to := r.weak.touch(ch.to, File{Path: ch.to})
			to.State, to.Entry, to.To = StateCreated, entry, ""
			to.Edits++
		}
		if ch.state != StateDeleted {
			continue
		}
		r.goneBelow(ch, entry)
		for _, f := range r.files.all() {
			rest, below := strings.CutPrefix(f.Path, ch.path+"/")
			if f.Path != ch.path && !below || f.State == StateDeleted {
				continue
			}
			if ch.to == "" {
				r.change(f.Path, StateDeleted, entry)
			} else if to := ch.to; below {
				r.move(f.Path, to+"/"+rest, entry)
			} else {
				r.move(f.Path, to, entry)
			}
		}
	}
}

// goneBelow lets what commands wrote below a directory go with it.
func (r *reader) goneBelow(ch change, entry string) {
	for _, w := range r.weak.all() {
		if rest, below := strings.CutPrefix(w.Path, ch.path+"/"); below && w.State != StateDeleted {
			w.State, w.Entry = StateDeleted, entry
			if ch.to != "" {
				w.To = ch.to + "/" + rest
			}
		}
	}
}

// shown records that a command printed a file.
func (r *reader) shown(p, entry string) {
	if f, ok := r.files.get(p); ok && f.State != StateDeleted {
		r.files.touch(p, File{}).Read = true
		return
	}
	w := r.weak.touch(p, File{Path: p, State: StateRead, Entry: entry})
	w.Read = true
	if w.State == StateRead || w.State == StateDeleted {
		w.State, w.Entry, w.To = StateRead, entry, ""
	}
}

// restore records that a file, or all files below a directory, are again as they
// were before they were changed.
func (r *reader) restore(p, entry string) {
	for _, t := range []*table[File]{&r.files, &r.weak} {
		for _, f := range t.all() {
			if f.Path == p || p == "." || strings.HasPrefix(f.Path, p+"/") {
				if f.State == StateModified || f.State == StateDeleted && f.To == "" {
					f.State, f.Entry = StateRead, entry
				}
			}
		}
	}
}

// gitFiles takes in what git says about the files that were changed, by whatever:
// git status, and git diff of the working tree.
func (r *reader) gitFiles(sc script, o outcome, dir, id string) {
	if o.status == StatusFailed || len(sc.cmds) == 0 || sc.control {
		return
	}
	diff, status := false, false
	for _, c := range sc.cmds {
		if len(c.words) < 2 {
			continue
		}
		switch name := c.words[0].text; {
		case name == "cd" && !c.words[1].dynamic:
			dir = r.norm(c.words[1].text, dir)
		case name == "git" && c.words[1].text == "status":
			status = true
		case name == "git" && c.words[1].text == "diff":
			diff = diff || worksOnTree(c.words[2:])
		}
	}
	if !diff && !status {
		return
	}
	head, _ := ends(o.text)
	for p, s := range gitChanges(head, diff, status) {
		if p = r.norm(p, dir); p == "" {
			continue
		}
		if f, ok := r.files.get(p); ok && f.State != StateRead {
			continue // known better
		}
		w := r.weak.touch(p, File{Path: p})
		if s != StateModified || w.State != StateCreated {
			w.State = s
		}
		w.Entry = id
	}
}

// committed matches what git prints after a commit.
var committed = text.Pattern(`(?m)^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] (.+)$`)

func (r *reader) commit(command, out, id string) {
	if !strings.Contains(command, "git") || !strings.Contains(out, "] ") {
		return
	}
	_, tail := ends(out)
	for _, m := range committed().FindAllStringSubmatch(tail, 20) {
		r.ended = BoundaryCommit
		r.commits = append(r.commits, Commit{Hash: m[1], Subject: text.Clip(redact.Text(strings.TrimSpace(m[2])), MaxText), Entry: id})
	}
}

// other takes in the result of a tool that is not in the vocabulary.
func (r *reader) other(c call, o outcome, id string) {
	key := "tool\x00" + c.tool
	if o.status == StatusFailed {
		r.fail(key, Failure{Tool: c.tool, Entry: id}, o.text)
	} else {
		r.errors.drop(key)
	}
}

func (r *reader) fail(key string, f Failure, out string) {
	f.Lines = errorLines(out, 3)
	for i, l := range f.Lines {
		f.Lines[i] = redact.Text(l)
	}
	*r.errors.touch(key, f) = f
}
