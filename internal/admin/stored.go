package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Stored is what the session file of a conversation has: what was said up to the last
// epoch. Keys and passwords in it are masked.
type Stored struct {
	File     string           `json:"file"`
	Passes   []Pass           `json:"passes"`
	Left     *recall.StepPage `json:"left"`    // what left the context, a line each
	Kept     *recall.StepPage `json:"kept"`    // what is in it
	Changed  []string         `json:"changed"` // the entries of Kept with another content
	Messages int              `json:"messages"`
}

// Pass is a compaction of the session.
type Pass struct {
	Time    time.Time `json:"time"`
	Entry   string    `json:"entry"`
	Before  int64     `json:"before"` // tokens
	Summary string    `json:"summary"`
}

// perPage is how many lines of a session a page has.
const perPage = 40

// stored is an open session file.
type stored struct {
	*clew.Session
	path string
}

func isNotFound(err error) bool { return errors.Is(err, session.ErrNotFound) }

// open opens the session file of a conversation to read it.
func (s *Server) open(ctx context.Context, id string) (*stored, error) {
	if strings.Trim(id, "0123456789abcdef") != "" || len(id) < 16 {
		return nil, fmt.Errorf("%q names no conversation: %w", id, fs.ErrNotExist)
	}
	if s.cfg.Open != nil {
		store, err := s.cfg.Open(ctx, tenantOf(ctx), id)
		if err != nil {
			return nil, err
		}
		open, err := clew.OpenStore(ctx, store, clew.Config{})
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		return &stored{open, "session " + store.Header().ID + " in the database"}, nil
	}
	found, err := filepath.Glob(filepath.Join(s.cfg.Dir, id+"*.jsonl"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("nothing has left the context of conversation %s, or its file is gone: %w", id, fs.ErrNotExist)
	}
	f, err := jsonl.Open(ctx, found[0], jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	open, err := clew.OpenFile(ctx, f, clew.Config{})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stored{open, found[0]}, nil
}

// read reads what left the context, from an offset on, and what is in it. With words, Left
// has nothing: Search finds them.
func (f *stored) read(ctx context.Context, words string, offset int) (*Stored, error) {
	path, err := f.Log().Path(ctx)
	if err != nil {
		return nil, err
	}
	items, err := f.Context(ctx)
	if err != nil {
		return nil, err
	}
	out := &Stored{File: f.path, Passes: []Pass{}, Changed: []string{}}
	in := map[string]bool{}
	for _, it := range items {
		in[it.Entry.ID] = true
		if it.Edit != nil {
			out.Changed = append(out.Changed, it.Entry.ID)
		}
	}
	var left, kept []*session.Entry
	for _, e := range path {
		if e.Type == session.TypeMessage {
			out.Messages++
		}
		c, ok := e.Compaction()
		switch {
		case ok:
			out.Passes = append(out.Passes, Pass{e.Time(), e.ID, c.TokensBefore, redact.Text(c.Summary)})
		case in[e.ID]:
			kept = append(kept, e)
		default:
			left = append(left, e)
		}
	}
	slices.Reverse(out.Passes)
	if words == "" {
		out.Left = masked(recall.Steps(left, offset, perPage))
	}
	out.Kept = masked(recall.Steps(kept, 0, 5*perPage))
	return out, nil
}

func masked(p *recall.StepPage) *recall.StepPage {
	for i := range p.Lines {
		l := &p.Lines[i]
		l.Text = redact.Text(l.Text)
		for k := range l.Calls {
			l.Calls[k] = redact.Text(l.Calls[k])
		}
	}
	return p
}

// talkView is what the page of a conversation shows.
type talkView struct {
	Talk
	Live   bool
	Plot   plot
	Stored *Stored
	Words  string
	Found  *clew.Found
}

// talk shows a conversation.
func (s *Server) talk(w http.ResponseWriter, r *http.Request) {
	t, points, live := s.board(tenantOf(r.Context())).talk(r.PathValue("id"))
	words, offset := r.FormValue("q"), max(atoi(r.FormValue("offset")), 0)
	v := talkView{Talk: t, Live: live, Words: words, Plot: newPlot(points)}
	f, err := s.open(r.Context(), t.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist) && live: // nothing has left its context
		show(w, "talk", &v)
		return
	case err != nil:
		fail(w, err)
		return
	}
	defer f.Close()
	if v.Stored, err = f.read(r.Context(), words, offset); err == nil && words != "" {
		v.Found, err = f.Search(r.Context(), clew.Query{Text: words, Limit: perPage, Offset: offset, Snippet: 300})
		if errors.Is(err, recall.ErrNoQuery) {
			v.Found, err = &clew.Found{}, nil
		}
	}
	if err != nil {
		fail(w, err)
		return
	}
	if v.Found != nil {
		for i := range v.Found.Hits {
			v.Found.Hits[i].Snippet = redact.Text(v.Found.Hits[i].Snippet)
		}
	}
	show(w, "talk", &v)
}

// entryView is what the page of an entry shows: it, and the other half of a call.
type entryView struct {
	ID, Entry string
	Parts     []*clew.Recalled
}

// maxText is how many characters of an entry a page has.
const maxText = 60_000

// entry shows what an entry says, word for word but for keys.
func (s *Server) entry(w http.ResponseWriter, r *http.Request) {
	id, entry := r.PathValue("id"), r.PathValue("entry")
	f, err := s.open(r.Context(), id)
	if err != nil {
		fail(w, err)
		return
	}
	defer f.Close()
	parts, err := f.RecallPair(r.Context(), entry, clew.RecallOptions{Max: maxText, Offset: max(atoi(r.FormValue("offset")), 0)})
	if err != nil {
		fail(w, err)
		return
	}
	for _, p := range parts {
		p.Text = redact.Text(p.Text)
	}
	show(w, "entry", entryView{id, entry, parts})
}

// log shows the whole session: all branches, in the page that clew export writes, which has
// a policy of its own.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	f, err := s.open(r.Context(), r.PathValue("id"))
	if err != nil {
		fail(w, err)
		return
	}
	defer f.Close()
	p, err := page.New(r.Context(), f.Log().Store(), "", page.Options{})
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = p.Write(r.Context(), w) // the client is gone when this fails
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // what is no number is the beginning
	return n
}
