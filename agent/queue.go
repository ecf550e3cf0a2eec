package agent

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
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

// queue keeps what was sent until it is in the log. What is in it is on the disk
// before it counts as accepted. The mailbox guards it.
type queue struct {
	path  string // "" for one in memory
	fs    vfs.FS
	items []Queued
	sent  []Queued // in the log, which may not be on the disk yet: the file has them still
}

// openQueue reads what an earlier run has left.
func openQueue(path string) (*queue, error) {
	q := &queue{fs: vfs.OS{}}
	if path == "" {
		return q, nil
	}
	q.path = clew.QueueFile(path)
	data, err := vfs.ReadOwn(q.fs, q.path)
	if errors.Is(err, fs.ErrNotExist) {
		return q, nil
	}
	if err == nil {
		q.items, err = parseQueue(data)
	}
	if _, ok := errors.AsType[*vfs.NotFileError](err); ok {
		return nil, &Error{Op: "read what was waiting to be delivered", Subject: q.path, Err: err, Hint: "look at it and remove it, then try again"}
	}
	if err != nil {
		return nil, &Error{
			Op: "read what was waiting to be delivered", Subject: q.path, Err: err,
			Hint: "open the session with the version of clew that wrote it; or look into the file, take out what you need, and remove it",
		}
	}
	return q, nil
}

// parseQueue reads what write has written. What it does not know it refuses: it would be
// lost when the queue is written again, and it may be a part of what the user said.
func parseQueue(data []byte) ([]Queued, error) {
	var items []Queued
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&items); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is more after its end")
	}
	known := map[string]bool{}
	for i, it := range items {
		if it.ID == "" || known[it.ID] {
			return nil, fmt.Errorf("number %d in it has no id of its own", i+1)
		}
		known[it.ID] = true
		if err := it.check(); err != nil {
			return nil, fmt.Errorf("number %d in it: %w", i+1, err)
		}
	}
	return items, nil
}

// set makes items the queue. On an error it is as it was.
func (q *queue) set(items []Queued) error {
	if err := q.write(items); err != nil {
		// The file may be the new one already, and what is in it is not accepted.
		_ = q.write(q.items) // on a disk that does nothing any more it stays so
		return err
	}
	q.items = items
	return nil
}

// delivered takes out what is in the log. The file has it until settle.
func (q *queue) delivered(id string) {
	at := slices.IndexFunc(q.items, func(it Queued) bool { return it.ID == id })
	q.sent = append(q.sent, q.items[at])
	q.items = slices.Delete(slices.Clone(q.items), at, at+1)
}

// settle takes what was delivered out of the file, for it is on the disk. An error is one of
// the file: what it has too much is known by its id when it is read again.
func (q *queue) settle() error {
	if len(q.sent) == 0 {
		return nil
	}
	q.sent = nil
	if err := q.write(q.items); err != nil {
		return &Error{Op: "remove delivered messages from the queue", Subject: q.path, Err: err, Hint: "check who may write there; nothing is delivered twice"}
	}
	return nil
}

func (q *queue) write(items []Queued) error {
	if q.path == "" {
		return nil
	}
	items = slices.Concat(q.sent, items)
	if len(items) == 0 {
		err := q.fs.Remove(q.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		return q.fs.SyncDir(filepath.Dir(q.path))
	}
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return vfs.Replace(q.fs, q.path, 0o600, data)
}

// add accepts something.
func (q *queue) add(it Queued) error {
	if err := q.set(append(slices.Clip(q.items), it)); err != nil {
		return &Error{Op: "send", Subject: q.path, Err: err, Hint: "free some disk space, or check the permissions of the folder; nothing was accepted"}
	}
	return nil
}

// take removes items by their ids and returns them, in their order; all without ids.
func (q *queue) take(ids ...string) ([]Queued, error) {
	var out, rest []Queued
	for _, it := range q.items {
		if len(ids) == 0 || slices.Contains(ids, it.ID) {
			out = append(out, it)
		} else {
			rest = append(rest, it)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	if err := q.set(rest); err != nil {
		return nil, &Error{Op: "take back", Subject: q.path, Err: err, Hint: "free some disk space, or check the permissions of the folder; the message still waits"}
	}
	return out, nil
}

// deliverable returns what is to be delivered: in a turn what came before the first that is to
// wait for its end.
func (q *queue) deliverable(inTurn bool) []Queued {
	for i, it := range q.items {
		if inTurn && it.When == WhenDone {
			return slices.Clone(q.items[:i])
		}
	}
	return slices.Clone(q.items)
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
