package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// When says when something that was sent is delivered while the agent is at work.
type When string

// The times. What is sent while the agent has nothing to do is delivered at once.
const (
	// WhenNext is before the next request: between a tool result and the answer to it.
	WhenNext When = "next"
	// WhenDone is when the agent would stop.
	WhenDone When = "done"
)

// Input is what a user sends.
type Input struct {
	Text string `json:"text"`
	// Images go with the text.
	Images []Image `json:"images,omitempty"`
	// When is for while the agent is at work. Default: WhenNext.
	When When `json:"when,omitempty"`
}

// Image is a picture that a user sends.
type Image struct {
	MIMEType string `json:"mimeType"` // image/png, ...
	Data     []byte `json:"data"`     // base64 in JSON
}

// Queued is something that was sent and is not delivered yet.
type Queued struct {
	// ID is that which the entry in the log will have.
	ID string    `json:"id"`
	At time.Time `json:"at"`
	Input
}

// check says why an input can't be sent.
func (in Input) check() error {
	const op = "send"
	if in.Text == "" && len(in.Images) == 0 {
		return &Error{Op: op, Err: errors.New("there is nothing in it"), Hint: "give it a text"}
	}
	for _, i := range in.Images {
		if !strings.HasPrefix(i.MIMEType, "image/") || len(i.Data) == 0 {
			return &Error{Op: op, Err: fmt.Errorf("%q with %d bytes is no image", i.MIMEType, len(i.Data)), Hint: "give its type, such as image/png, and its data"}
		}
	}
	if w := cmp.Or(in.When, WhenNext); w != WhenNext && w != WhenDone {
		return &Error{Op: op, Err: fmt.Errorf("%q is no time to deliver something", w), Hint: `say "next" or "done"`}
	}
	return nil
}

// message is what the log gets.
func (it Queued) message() *message.Message {
	m := message.User(it.Text, it.At)
	if len(it.Images) == 0 {
		return m
	}
	var blocks []message.Block
	if it.Text != "" {
		blocks = append(blocks, message.TextBlock(it.Text))
	}
	for _, i := range it.Images {
		blocks = append(blocks, message.ImageBlock(i.MIMEType, base64.StdEncoding.EncodeToString(i.Data)))
	}
	return m.WithContent(blocks)
}

// mailbox has what was sent until it is in the log. What is accepted is in its file until the log is on the disk, too: so
// nothing else has to wait for the disk in the middle of a turn.
type mailbox struct {
	journal *journal
	fs      vfs.FS

	mu     sync.Mutex // may be held while something is written
	path   string     // "" for one in memory
	items  []Queued   // to be delivered
	sent   []Queued   // in the log, which may not be on the disk yet: the file has them still
	closed bool
}

// open takes up what an earlier run has left beside a session's file. What that had delivered, and had no time to take
// out of the queue, is known by its id.
func (m *mailbox) open(ctx context.Context, file string) error {
	if file != "" {
		m.path = clew.QueueFile(file)
		if err := m.read(); err != nil {
			return err
		}
	}
	all := m.items
	m.items = nil
	for _, it := range all {
		switch _, err := m.journal.s.Log().Store().Get(ctx, it.ID); {
		case err == nil:
			m.sent = append(m.sent, it)
		case errors.Is(err, clew.ErrNotFound):
			m.items = append(m.items, it)
		default:
			return err
		}
	}
	return m.sync(ctx)
}

// read reads what write has written. What it does not know it refuses: it would be lost when the queue is written again,
// and it may be a part of what the user said.
func (m *mailbox) read() error {
	data, err := vfs.ReadOwn(m.fs, m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	hint := "open the session with the version of clew that wrote it; or look into the file, take out what you need, and remove it"
	if _, ok := errors.AsType[*vfs.NotFileError](err); ok {
		hint = "look at it and remove it, then try again"
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err == nil {
		err = d.Decode(&m.items)
	}
	if err == nil && d.More() {
		err = errors.New("there is more after its end")
	}
	known := map[string]bool{"": true}
	for i, it := range m.items {
		if wrong := it.check(); err == nil && wrong != nil {
			err = fmt.Errorf("number %d in it: %w", i+1, wrong)
		}
		if err == nil && known[it.ID] {
			err = fmt.Errorf("number %d in it has no id of its own", i+1)
		}
		known[it.ID] = true
	}
	if err != nil {
		return &Error{Op: "read what was waiting to be delivered", Subject: m.path, Err: err, Hint: hint}
	}
	return nil
}

// add accepts something. When it returns, it is on the disk.
func (m *mailbox) add(it Queued) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.set("send", append(slices.Clip(m.items), it))
}

// take removes messages by their ids and returns them, in their order; all without ids.
func (m *mailbox) take(ids ...string) ([]Queued, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out, rest []Queued
	for _, it := range m.items {
		if len(ids) == 0 || slices.Contains(ids, it.ID) {
			out = append(out, it)
		} else {
			rest = append(rest, it)
		}
	}
	if err := m.set("take back", rest); err != nil {
		return nil, err
	}
	return out, nil
}

// set makes items the queue. On an error it is as it was. The lock is held.
func (m *mailbox) set(op string, items []Queued) error {
	switch {
	case m.closed:
		return &Error{Op: op, Err: ErrClosed} // the queue is that of the next run
	case len(items) == len(m.items):
		return nil
	}
	if err := m.write(items); err != nil {
		// The file may be the new one already, and what is in it is not accepted.
		_ = m.write(m.items) // on a disk that does nothing any more it stays so
		return &Error{Op: op, Subject: m.path, Err: err, Hint: "free some disk space, or check the permissions of the folder; nothing was done"}
	}
	m.have(items)
	return nil
}

// have tells of what is in the queue now.
func (m *mailbox) have(items []Queued) {
	m.items = items
	m.journal.status.change(func(s *State) { s.Queue = len(items) })
	m.journal.events.send(Event{Kind: KindQueue, Queue: slices.Clone(items)})
}

// list returns what is to be delivered, in order.
func (m *mailbox) list() []Queued {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.items)
}

// deliver appends the messages whose turn has come, and returns how many there were: in a turn those before the first
// that is to wait for its end.
func (m *mailbox) deliver(ctx context.Context, inTurn bool) (n int, err error) {
	for more := true; more && err == nil; n++ {
		more, err = m.deliverOne(ctx, inTurn)
	}
	return n - 1, err
}

func (m *mailbox) deliverOne(ctx context.Context, inTurn bool) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.items) == 0 || inTurn && m.items[0].When == WhenDone || ctx.Err() != nil {
		return false, nil
	}
	it, msg := m.items[0], m.items[0].message()
	// From here on it is not given up: it would be in the log and in the queue.
	if err := m.journal.s.AppendAs(context.WithoutCancel(ctx), it.ID, msg); err != nil && !errors.Is(err, session.ErrDuplicateID) {
		return false, err
	}
	m.journal.tell(it.ID, msg)
	m.delivered()
	return true, nil
}

// delivered takes out the first, which is in the log. The file has it until sync.
func (m *mailbox) delivered() {
	m.sent = append(m.sent, m.items[0])
	m.have(m.items[1:])
}

// sync makes the log durable, and forgets what was delivered.
func (m *mailbox) sync(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.journal.s.Sync(context.WithoutCancel(ctx))
	if err == nil {
		m.settle()
	}
	return err
}

// settle takes what was delivered out of the file, for the log is on the disk. What the file has too much is known by its
// id when it is read again.
func (m *mailbox) settle() {
	if len(m.sent) == 0 {
		return
	}
	m.sent = nil
	if err := m.write(m.items); err != nil {
		m.journal.warnOnce(&Error{Op: "remove delivered messages from the queue", Subject: m.path, Err: err, Hint: "check who may write there; nothing is delivered twice"})
	}
}

func (m *mailbox) write(items []Queued) error {
	if m.path == "" {
		return nil
	}
	items = slices.Concat(m.sent, items)
	if len(items) == 0 {
		err := m.fs.Remove(m.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		return m.fs.SyncDir(filepath.Dir(m.path))
	}
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return vfs.Replace(m.fs, m.path, 0o600, data)
}

// close accepts nothing any more; what is being accepted is on the disk when it returns.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}
