package ledger

import (
	"regexp"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
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
// their details, else by the file lists in their text.
func Read(items []session.Item, opt Options) Ledger {
	r := newReader(opt)
	for i := range items {
		r.item(items[i])
	}
	return r.finish()
}

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
	omitted  Omitted
}

func newReader(opt Options) *reader {
	return &reader{place: newPlace(opt.Cwd), calls: map[string]call{}, seen: map[string]bool{}}
}

func (r *reader) item(it session.Item) {
	m, id := it.Message, ""
	if m == nil {
		return
	}
	if it.Entry != nil {
		id = it.Entry.ID
	}
	switch m.Role {
	case message.RoleAssistant:
		for _, b := range m.Content {
			if b.Type == message.BlockToolCall {
				r.calls[b.ID] = parseCall(b.Name, b.Arguments, id)
			}
		}
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

func (r *reader) user(m *message.Message, id string) {
	if r.seen[id] && id != "" {
		return
	}
	r.seen[id] = true
	t := m.Text()
	r.users = append(r.users, UserMessage{Entry: id, Time: m.Time().UTC(), Text: text.Clip(t, MaxText), Bytes: len(t)})
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
	switch c.act {
	case actRead:
		r.read(c, o)
	case actWrite, actEdit:
		r.write(c, o, id)
	case actPatch:
		r.patch(c, o, id)
	case actShell:
		r.command(c, o, id)
	case actTodo:
		if o.status != StatusFailed {
			r.todo(c)
		}
	case actFind:
	default:
		r.other(c, o, id)
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
		case saysExisted.MatchString(head):
		case saysCreated.MatchString(head), !known || old.State == StateDeleted:
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
	sc := parseScript(c.command)
	l := readLine(c.command, sc, r.place, c.dir)
	status := o.status
	if l.check != "" && l.unsure && status != StatusFailed {
		head, tail := ends(o.text)
		if failMark.MatchString(head) || failMark.MatchString(tail) {
			status = StatusFailed
		}
	}
	key := text.Clip(oneLine(l.text), MaxText)
	cmd := r.commands.touch(key, Command{Text: key, Check: l.check})
	cmd.Runs++
	cmd.Status, cmd.Exit, cmd.Entry, cmd.Settled = status, o.exit, id, false
	errKey := "run\x00" + l.program
	if l.check != "" {
		errKey = "check\x00" + key
	}
	switch status {
	case StatusFailed:
		cmd.Failures++
		if !l.lookup {
			r.fail(errKey, Failure{Tool: c.tool, Subject: key, Check: l.check, Entry: id}, o.text)
		}
	case StatusOK:
		r.errors.drop(errKey)
		if l.check != "" {
			r.settle(l)
		}
		r.commit(c.command, o.text, id)
	default:
	}
	if o.status == StatusOK {
		r.shellFiles(shellChanges(sc, r.place, c.dir), id)
	}
}

// settle marks the failing checks that a passing one covers.
func (r *reader) settle(passed line) {
	for _, c := range r.commands.all() {
		if c.Status != StatusFailed || c.Settled || c.Check == "" {
			continue
		}
		failed := readLine(c.Text, parseScript(c.Text), r.place, "")
		if passed.covers(failed) {
			c.Settled = true
			r.errors.drop("check\x00" + c.Text)
		}
	}
}

// shellFiles takes in what a command did to files. It is weak evidence: it never
// makes a file modified. But a file that is known is not taken for being there
// after it was removed or moved.
func (r *reader) shellFiles(changes []change, entry string) {
	for _, ch := range changes {
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

// committed matches what git prints after a commit.
var committed = regexp.MustCompile(`(?m)^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] (.+)$`)

func (r *reader) commit(command, out, id string) {
	if !strings.Contains(command, "git") || !strings.Contains(out, "] ") {
		return
	}
	_, tail := ends(out)
	for _, m := range committed.FindAllStringSubmatch(tail, 20) {
		r.commits = append(r.commits, Commit{Hash: m[1], Subject: text.Clip(strings.TrimSpace(m[2]), MaxText), Entry: id})
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
	*r.errors.touch(key, f) = f
}

func (r *reader) todo(c call) {
	var list []Todo
	for _, m := range []string{"todos", "plan", "items"} {
		v := jsonx.Get(c.args, m)
		if !jsonx.IsArray(v) {
			continue
		}
		jsonx.Elements(v, func(e []byte) bool {
			t := Todo{Status: TodoOpen, Entry: c.entry}
			for _, name := range []string{"content", "step", "text", "title", "description", "task"} {
				if t.Text = oneLine(member(e, name)); t.Text != "" {
					break
				}
			}
			switch member(e, "status") {
			case "completed", "done", "complete", "cancelled", "canceled":
				t.Status = TodoDone
			case "in_progress", "active", "in-progress", "doing":
				t.Status = TodoActive
			}
			if t.Text = text.Clip(t.Text, MaxText); t.Text != "" {
				list = append(list, t)
			}
			return true
		})
		r.todos = list
		return
	}
}

// oneLine returns s on one line and as valid UTF-8, as JSON will give it back.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}
