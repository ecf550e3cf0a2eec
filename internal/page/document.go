package page

import (
	"cmp"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Title returns the title of the page.
func (d *document) Title() string {
	if d.name != "" {
		return d.name
	}
	return strings.TrimSpace("Session " + line(d.header.ID))
}

// Head returns what the head of the page says of the session besides its figures.
func (d *document) Head() (h struct{ Session, Folder, Parent, Models string }) {
	if d.name != "" {
		h.Session = line(d.header.ID) // else it is the title
	}
	h.Folder, h.Parent = line(d.header.Cwd), line(d.header.ParentSession)
	const most = 8
	var models []string
	for _, m := range d.models[:min(len(d.models), most)] {
		models = append(models, line(m))
	}
	if more := len(d.models) - most; more > 0 {
		models = append(models, "and "+number(int64(more))+" more")
	}
	h.Models = strings.Join(models, ", ")
	return h
}

// Times returns when the session began and, if that is later, when it ended.
func (d *document) Times() (times []time.Time) {
	from := d.from
	if at := d.header.Timestamp; !at.IsZero() && (from.IsZero() || at.Before(from)) {
		from = at
	}
	if !from.IsZero() {
		times = append(times, shownTime(from))
		if d.to.After(from) {
			times = append(times, shownTime(d.to))
		}
	}
	return times
}

// shownTime returns a time in UTC, so that the page says the same to everyone, or the
// zero time for one that no page can show.
func shownTime(at time.Time) time.Time {
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// ref is an entry that is linked to; without an anchor it stands for none.
type ref struct{ Anchor, ID string }

func (d *document) ref(i int) *ref {
	if i < 0 {
		return nil
	}
	return &ref{d.anchor(i), shortID(d.Nodes[i].id)}
}

// shortID is an id as it is shown.
func shortID(id string) string {
	r := []rune(text.Visible(id))
	return string(r[:min(len(r), 8)])
}

// entry is an entry as the template shows it: an article, or a line for a note; the
// rows of the tree have no parts.
type entry struct {
	I       int
	ref            // its own address
	Word    string // what it is
	Line    string // what it says, in a line
	Label   string // that the user gave it
	Class   string //
	Kept    string // of a compaction: the first entry that it kept
	About   []string
	At      time.Time
	Parts   []part
	IsNote  bool
	Follows *ref // what it follows on, where that is to be said
}

func (d *document) entry(i int) *entry {
	n := &d.Nodes[i]
	return &entry{I: i, ref: *d.ref(i), Word: word[n.kind], Line: n.line, Label: n.label, Class: string(n.kind), IsNote: n.kind == kindNote}
}

// Current yields the entries of the current path.
func (d *document) Current() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, i := range d.Path {
			if !d.Nodes[i].shown() {
				continue
			}
			e, err := d.store.Get(d.ctx, d.Nodes[i].id)
			if err != nil {
				d.err = err
				return
			}
			if v := d.full(i, e); d.err != nil || !yield(v) {
				return
			}
		}
	}
}

// Others yields what is on other branches, in the order of the log.
func (d *document) Others() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		i, before := -1, -1
		for e, err := range d.store.All(d.ctx) {
			if i++; err == nil && i < len(d.Nodes) && d.Nodes[i].id != e.ID {
				err = &session.Error{Op: "export", Subject: e.ID, Err: session.ErrConflict, Hint: "the session was changed meanwhile; export it again"}
			}
			if d.err = cmp.Or(d.err, err); d.err != nil || i >= len(d.Nodes) {
				return // failed, or it has grown meanwhile
			}
			if d.on[i] || !d.Nodes[i].shown() {
				continue
			}
			v := d.full(i, e)
			if d.err != nil {
				return
			}
			if above := d.tree.Above[i]; above != before || before < 0 {
				if v.Follows = d.ref(above); v.Follows == nil {
					v.Follows = &ref{}
				}
			}
			if before = i; !yield(v) {
				return
			}
		}
	}
}

// full is an entry with all that it says.
func (d *document) full(i int, e *session.Entry) *entry {
	v := d.entry(i)
	if d.hidden[i] {
		v.Class += " out"
	}
	if v.IsNote {
		return v
	}
	if d.Nodes[i].kind == kindCompaction {
		v.Kept = strconv.Itoa(d.kept(i))
	}
	m := messageOf(e)
	if v.At = e.Time(); v.At.IsZero() && m != nil {
		v.At = m.Time()
	}
	v.At = shownTime(v.At)
	for _, s := range about(m) {
		if s = line(s); s != "" {
			v.About = append(v.About, s)
		}
	}
	v.Parts = append(d.parts(i, e, m), d.instead(i, m)...)
	return v
}

// messageOf is the message of an entry, or nil.
func messageOf(e *session.Entry) *message.Message {
	if m, ok := e.CustomMessage(); ok {
		return m
	}
	if m, err := e.Message(); err == nil {
		return m
	}
	return nil
}

// about is what the head of a message says beside its role.
func about(m *message.Message) []string {
	switch {
	case m == nil:
	case m.Role == message.RoleUser && !m.UserWords():
		who := map[message.Origin]string{message.OriginHook: "a hook", message.OriginShell: "a command", message.OriginTask: "another agent"}[m.Source()]
		return []string{"by " + cmp.Or(who, "a program")}
	case m.Role == message.RoleAssistant:
		return []string{cmp.Or(m.ResponseModel, m.Model)}
	case m.Role == message.RoleCustom && !m.Display:
		return []string{m.CustomType, "not shown to the user"}
	case m.Role == message.RoleCustom:
		return []string{m.CustomType}
	case m.Role == message.RoleBashExecution && m.ExcludeFromContext:
		return []string{"not shown to the model"}
	case !m.Role.Known():
		return []string{string(m.Role)}
	}
	return nil
}

// instead is what edits make of an entry.
func (d *document) instead(i int, m *message.Message) (parts []part) {
	for _, at := range d.edits[i] {
		n := &d.Nodes[at]
		if !n.omits && (m == nil || !session.Replaceable(m.Role)) {
			continue // such an edit has no effect
		}
		v := part{
			Kind: "p", Class: "instead", Edit: strconv.Itoa(at), Hidden: d.on[i] && d.inForce[i] != at,
			Text: "An edit takes this out: the model does not see it.",
		}
		if !n.omits {
			e, err := d.store.Get(d.ctx, n.id)
			if err != nil {
				d.err = err
				return nil
			}
			c, ok := e.ContextEdit()
			if !ok {
				continue // another record has the same id
			}
			now := message.ParseContent(c.Content)
			v.Kind, v.Parts = "fold", blocks(now, m.Role)
			v.Text = "The model sees this instead: " + line(m.WithContent(now).Text())
		}
		parts = append(parts, v)
	}
	return parts
}
