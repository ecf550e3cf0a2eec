package clew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// ForkOptions changes one Fork. The zero value copies the path to the leaf.
type ForkOptions struct {
	// At is the entry that the new session ends with; but the one before it where it is a
	// message of the user, whose text is given back. Default: the leaf, whatever it is.
	At             string
	CloseOpenCalls bool    // adds a result that says that it was interrupted for every call that waits for one
	Hooks          []Hooks // asked before anything is written
	// Clock gives the time of what is new. Default: time.Now.
	Clock func() time.Time
	// NewID gives the ids of what is new. Default: random ones.
	NewID func() string
}

// Forked says what Fork wrote.
type Forked struct {
	Path string `json:"out"`            // the new file
	ID   string `json:"id"`             // of the session in it
	At   string `json:"at,omitempty"`   // the last entry that both have, "" for none
	Leaf string `json:"leaf,omitempty"` // where the new one stands
	Text string `json:"text,omitempty"` // that of ForkOptions.At where it is a message that was typed
	// Before is the pass in the middle of which ForkOptions.At stands. A part of a pass
	// did not happen, so the new session ends before it.
	Before string `json:"before,omitempty"`
	// Entries counts what was copied, Added what was not in the path: labels and the name
	// that were given on other branches, and results of CloseOpenCalls.
	Entries int `json:"entries"`
	Added   int `json:"added"`
	// Closed counts those results, Output the large output that was copied.
	Closed   int     `json:"settled,omitempty"`
	Output   int     `json:"output,omitempty"`
	Why      string  `json:"-"` // says why nothing was written; "" otherwise
	Warnings []error `json:"-"` // what went wrong beside the point: *HookError
}

// Fork copies a path of the file from into a new session. Entries keep their bytes, ids and parents, so it has the
// context of the old session at that entry, and its header names the source. from is only read; another program may
// have it open. to is the new file, or a folder for a name made of time and id; "" means the folder of from. The file
// is written whole or not at all, with the large output that the path refers to.
//
// It returns the errors of jsonl.Open, ErrNotFound, fs.ErrExist if to exists, and session.ErrReadOnly for a format
// version newer than this package.
func Fork(ctx context.Context, from, to string, opt ForkOptions) (*Forked, error) {
	const op = "fork"
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	src, err := jsonl.Open(ctx, from, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	if v := src.Version(); v > session.Version {
		return nil, &Error{
			Op: op, Subject: from, Hint: "use a newer clew",
			Err: fmt.Errorf("%w: it is of format version %d, and this clew writes version %d", session.ErrReadOnly, v, session.Version),
		}
	}
	h := home.NewHeader(src.Header().Cwd, opt.Clock, opt.NewID)
	if h.ParentSession, err = filepath.Abs(src.Path()); err != nil {
		return nil, failed(op, from, err)
	}
	if to, err = forkTarget(from, to, h); err != nil {
		return nil, err
	}
	plan, err := planFork(ctx, src, h, opt)
	if err != nil {
		return nil, failed(op, from, err)
	}
	d, warnings := AskFork(ctx, opt.Hooks, BeforeForkEvent{Session: src.Header().ID, From: from, To: to, Entry: opt.At})
	plan.forked.Warnings = warnings
	if d.Cancel {
		return &Forked{Why: "a hook stopped it: " + cmp.Or(d.Why, "it did not say why"), Warnings: warnings}, nil
	}
	plan.forked.Path, plan.forked.ID = to, h.ID
	// The output first: a session that names what is not there is worse than output that no session names.
	undo, err := plan.copyOutput(ctx, from, to)
	if err == nil {
		_, err = jsonl.WriteNew(ctx, to, h, plan.entries(ctx), jsonl.Options{Program: "clew fork"})
	}
	if err != nil {
		undo(context.WithoutCancel(ctx))
		return nil, failed(op, from, err)
	}
	return &plan.forked, nil
}

// forkTarget is the name of the new file. Writing it makes sure that it is free; what is known before is said before.
func forkTarget(from, to string, h session.Header) (string, error) {
	dir := to
	if to == "" {
		dir = filepath.Dir(from)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return filepath.Join(dir, home.FileName(h.Timestamp, h.ID)), nil
	}
	if _, err := os.Lstat(to); err == nil {
		return "", &Error{Op: "fork", Subject: to, Err: fs.ErrExist, Hint: "choose another name; nothing was written"}
	}
	if _, err := os.Stat(filepath.Dir(to)); errors.Is(err, fs.ErrNotExist) {
		return "", &Error{Op: "fork", Subject: to, Err: fmt.Errorf("there is no folder %s", filepath.Dir(to)), Hint: "make it first"}
	}
	return to, nil
}

// copyOutput copies the large output that the path refers to. undo removes it again.
func (p *forkPlan) copyOutput(ctx context.Context, from, to string) (undo func(context.Context), err error) {
	undo = func(context.Context) {}
	if len(p.output)+len(p.content) == 0 {
		return undo, nil
	}
	src, err := FileBlobs(from)
	if err != nil {
		return undo, err
	}
	dst, err := FileBlobs(to)
	if err != nil {
		return undo, err
	}
	if _, err := os.Lstat(dst.Path()); errors.Is(err, fs.ErrNotExist) {
		// What a fork that was cut off has left stays, for it may be another one's.
		undo = func(ctx context.Context) {
			if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) { // else it is that of another fork, which was first
				_ = dst.RemoveAll(ctx)
			}
		}
	}
	for i, id := range slices.Concat(p.output, p.content) {
		has, err := copyBlob(ctx, src, dst, id)
		if err != nil {
			return undo, &Error{Op: "copy", Subject: src.Path(), Err: err, Hint: "no session was written"}
		}
		if has && i < len(p.output) {
			p.forked.Output++
		}
	}
	return undo, nil
}

// forkPlan holds ids and not entries, so that a session of any size can be forked.
type forkPlan struct {
	src     session.Store
	path    []forkNode       // what is copied, oldest first
	added   []*session.Entry // what comes behind it
	output  []blob.ID        // large output that the path refers to
	content []blob.ID        // of files that were changed on the path
	marks   forkMarks        // of the path
	forked  Forked
}

// forkNode is what has to be known of an entry on the path.
type forkNode struct {
	id     string
	parent string // what its record says
	lines  int    // of the group that it begins, see session.Entry.Group
	body   bool   // it may belong to a group
}

// forkMarks are the labels, "" for one that was taken away, and the name as they stand at
// the end of a path or of the log; name is nil when there never was one.
type forkMarks struct {
	labels map[string]string
	name   *string
}

// take takes in what an entry says; the newest counts. Strings alias the whole record, so they are copied.
func (m *forkMarks) take(e *session.Entry, newest bool) {
	if l, ok := e.Label(); ok {
		if _, known := m.labels[l.TargetID]; newest || !known {
			m.labels[strings.Clone(l.TargetID)] = strings.Clone(l.Label)
		}
	}
	if name, ok := e.SessionName(); ok && (newest || m.name == nil) {
		name = strings.Clone(name)
		m.name = &name
	}
}

func planFork(ctx context.Context, src session.Store, h session.Header, opt ForkOptions) (*forkPlan, error) {
	p := &forkPlan{src: src, marks: forkMarks{labels: map[string]string{}}}
	leaf, err := p.place(ctx, opt.At)
	if err != nil {
		return nil, err
	}
	if leaf != nil {
		if err := session.Walk(ctx, src, leaf.ID, p.take); err != nil {
			return nil, err
		}
		slices.Reverse(p.path)
	}
	all, err := readForkSource(ctx, src)
	if err != nil {
		return nil, err
	}
	p.leavePart(all)
	if n := len(p.path); n > 0 {
		p.forked.At = p.path[n-1].id
	}
	drafts, err := p.closeOpenCalls(ctx, opt)
	if err != nil {
		return nil, err
	}
	drafts = append(drafts, p.missing(all)...)
	if len(drafts) == 0 && p.endsInGroup() {
		data, _ := json.Marshal(map[string]string{"from": p.forked.At, "reason": "fork"}) // strings
		drafts = append(drafts, session.NewCustom(session.CustomLeaf, data))
	}
	if err := p.add(ctx, h, opt, drafts); err != nil {
		return nil, err
	}
	p.forked.Entries, p.forked.Added = len(p.path), len(p.added)
	return p, nil
}

// place returns the last entry of the path that was asked for, nil for none.
func (p *forkPlan) place(ctx context.Context, at string) (*session.Entry, error) {
	if at == "" {
		return p.src.Last(ctx)
	}
	e, err := p.src.Get(ctx, at)
	if err != nil {
		return nil, err
	}
	leaf, text, err := branch.Place(ctx, p.src, at)
	if err != nil || leaf == e.ID {
		return e, err
	}
	p.forked.Text = text
	return p.src.Parent(ctx, e)
}

// take takes in an entry of the path, the newest first.
func (p *forkPlan) take(e *session.Entry) (enough bool) {
	parent := strings.Clone(jsonx.StringAt(e.Raw(), "parentId"))
	n := forkNode{id: strings.Clone(e.ID), parent: parent, body: session.GroupEntry(e)}
	n.lines, _ = e.Group()
	p.path = append(p.path, n)
	p.marks.take(e, false)
	if at, ok := spilledOf(e); ok {
		if id, err := blob.ParseID(at.ID); err == nil && !slices.Contains(p.output, id) {
			p.output = append(p.output, id)
		}
	}
	for _, address := range e.Content() {
		if id, err := blob.ParseID(address); err == nil && !slices.Contains(p.output, id) && !slices.Contains(p.content, id) {
			p.content = append(p.content, id)
		}
	}
	return false
}

// forkSource is what a fork has to know of the whole log.
type forkSource struct {
	forkMarks
	passes map[string]string // entry of a pass that is not its last → its first
}

func readForkSource(ctx context.Context, src session.Store) (*forkSource, error) {
	s := &forkSource{forkMarks{labels: map[string]string{}}, map[string]string{}}
	first, left := "", 0 // of the pass that is being read
	for e, err := range src.All(ctx) {
		if err != nil {
			return nil, err
		}
		if left > 0 {
			if left--; !session.PassEntry(e) {
				left = 0
			} else if left > 0 {
				s.passes[strings.Clone(e.ID)] = first
			}
		}
		if pass, ok := e.Pass(); ok {
			first, left = strings.Clone(e.ID), pass.Lines
			s.passes[first] = first
		}
		s.take(e, true)
	}
	return s, nil
}

func (p *forkPlan) leavePart(all *forkSource) {
	for len(p.path) > 0 {
		first, ok := all.passes[p.path[len(p.path)-1].id]
		at := slices.IndexFunc(p.path, func(n forkNode) bool { return n.id == first })
		if !ok || at < 0 {
			return
		}
		p.path, p.forked.Before = p.path[:at], first
	}
}

func (p *forkPlan) closeOpenCalls(ctx context.Context, opt ForkOptions) ([]session.Draft, error) {
	if !opt.CloseOpenCalls || p.forked.At == "" {
		return nil, nil
	}
	c, err := session.ContextAt(ctx, p.src, p.forked.At)
	if err != nil {
		return nil, err
	}
	drafts := compact.Interrupted(c.Items, opt.Clock())
	p.forked.Closed = len(drafts)
	return drafts, nil
}

// missing drafts the labels and the name that the path does not say as the log does: they count wherever they stand.
func (p *forkPlan) missing(all *forkSource) (drafts []session.Draft) {
	for _, n := range p.path {
		if want := all.labels[n.id]; p.marks.labels[n.id] != want {
			drafts = append(drafts, session.NewLabel(n.id, want))
		}
	}
	if all.name != nil && *all.name != *cmp.Or(p.marks.name, new(string)) {
		drafts = append(drafts, session.NewSessionInfo(*all.name))
	}
	return drafts
}

// endsInGroup reports that a reader would take the end of the new file for a group that broke off, and leave it out.
func (p *forkPlan) endsInGroup() bool {
	for after, n := range slices.Backward(p.path) {
		if n.lines > 0 {
			return n.lines > len(p.path)-1-after
		}
		if !n.body {
			return false
		}
	}
	return false
}

func (p *forkPlan) add(ctx context.Context, h session.Header, opt ForkOptions, drafts []session.Draft) error {
	var end []*session.Entry
	if at := p.forked.At; at != "" {
		e, err := p.src.Get(ctx, at)
		if err != nil {
			return err
		}
		end = append(end, e)
	}
	log, err := session.NewLog(ctx, session.NewMemory(h, end...), session.Options{Clock: opt.Clock, NewID: opt.NewID})
	if err != nil {
		return err
	}
	if p.added, err = log.Append(ctx, drafts...); err != nil {
		return err
	}
	p.forked.Leaf = log.Leaf()
	return nil
}

// entries yields what is written. A record keeps its bytes, unless it hangs elsewhere in a damaged file than it says.
func (p *forkPlan) entries(ctx context.Context) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		parent := ""
		for _, n := range p.path {
			e, err := p.src.Get(ctx, n.id)
			if err == nil && n.parent != parent {
				e = e.WithIdentity(n.id, parent)
			}
			if !yield(e, err) || err != nil {
				return
			}
			parent = n.id
		}
		for _, e := range p.added {
			if !yield(e, nil) {
				return
			}
		}
	}
}
