package clew

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// A Follower keeps a session in step with a list of messages that somebody else holds, and gives whole each time: the
// history of an agent framework.
//
//	f, err := clew.Follow(ctx, s)
//	kept, err := f.Prepare(ctx, list) // before each call of the model
//
// A list that goes on where the last one ended goes on in the session, so what is sent begins with the same bytes until
// the next pass. One that is cut short or edited goes on as another branch from where it is still the same. What left
// the context is in the session, for Recall and Search. It may be used from several goroutines.
type Follower struct {
	s   *Session
	mu  sync.Mutex
	tip map[string]string // message → the newest entry after it that is no message
	own map[string]string // entry → the message that it follows
}

// A Followed is a message that is to be sent.
type Followed struct {
	Message *message.Message
	// From is the index of the message in the list; -1 for one that is not in it, such as a summary.
	From int
	// Edited says that the message has another content than in the list.
	Edited bool
}

// Follow returns a follower with a session of its own, which nothing else may write to.
func Follow(ctx context.Context, s *Session) (*Follower, error) {
	f := &Follower{s: s, tip: map[string]string{}, own: map[string]string{}}
	for e, err := range s.Log().Store().All(ctx) {
		if err != nil {
			return nil, err
		}
		f.note(e)
	}
	return f, nil
}

// Session returns the session: for RecallTool, Search and Close.
func (f *Follower) Session() *Session { return f.s }

func (f *Follower) note(e *session.Entry) {
	if e.Type == session.TypeMessage {
		f.own[e.ID] = e.ID
	} else if m, ok := f.own[e.ParentID]; ok {
		f.own[e.ID], f.tip[m] = m, e.ID
	}
}

// Prepare is Session.Prepare for a list, of which it returns what is to be sent. An error leaves the list as it is; it
// is for the caller to send it so.
func (f *Follower) Prepare(ctx context.Context, list []*message.Message) ([]Followed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, parent, last, sum := map[string]int{}, "", "", []byte(nil)
	for i, m := range list {
		if err := checkMessage(m); err != nil {
			return nil, err
		}
		h := sha256.Sum256(append(sum, withoutUsage(m).JSON()...))
		sum = h[:]
		id := hex.EncodeToString(sum[:8])
		at[id] = i
		if _, ok := f.own[id]; !ok {
			if err := f.stand(ctx, parent); err != nil {
				return nil, err
			}
			if err := f.s.AppendAs(ctx, id, m); err != nil && !errors.Is(err, session.ErrDuplicateID) {
				return nil, err
			}
			f.own[id] = id
		}
		parent, last = id, id
		if tip, ok := f.tip[id]; ok {
			parent = tip
		}
	}
	if err := f.stand(ctx, parent); err != nil {
		return nil, err
	}
	p, err := f.s.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	if last != "" {
		f.tip[last], f.own[p.Leaf] = p.Leaf, last // after a pass the list goes on behind it
	}
	items, err := f.s.Context(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Followed, len(items))
	for i, it := range items {
		out[i] = Followed{Message: it.Message, From: -1, Edited: it.Edit != nil}
		if from, ok := at[it.Entry.ID]; ok {
			out[i].From = from
		}
	}
	return out, nil
}

// stand moves to an entry, unless the session is there.
func (f *Follower) stand(ctx context.Context, id string) error {
	if f.s.Leaf() == id {
		return nil
	}
	return f.s.Navigate(ctx, id, "follow")
}
