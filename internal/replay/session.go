// Package replay plays recorded sessions under compaction policies and says what
// each would have kept, without asking a model.
//
//	report, err := replay.Run(ctx, sessions, replay.Options{})
//	fmt.Print(report.Table())
//
// At points of a session the old part is dropped, each policy puts a text in its
// place, and package replay/measure scores the text by what the recorded agent
// wrote next. A policy is given what stood before the point and nothing else. The
// same sessions and options give the same report.
package replay

import (
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Session is a recorded session.
type Session struct {
	// Name is how reports call it: a path or an id.
	Name string
	// ID tells sessions apart that several files hold. Optional.
	ID string
	// Group is what it is averaged with where groups are compared: a folder, a
	// repository, a format. Optional.
	Group string
	// Cwd is the working directory, where it is known.
	Cwd string
	// Path are the entries from the root to the leaf. Compactions on it are the
	// rewrites that the recorded program made.
	Path []*session.Entry
}

// stretch is what was said between two rewrites: a context that only grew.
type stretch struct {
	items   []session.Item
	digests []*measure.Digest
	always  []*measure.Digest
	// rewrite is the entry that ends the stretch, nil at the end of the session.
	rewrite *session.Entry
}

// stretches divides a session at its rewrites. The first begins with the session;
// each other with what the rewrite before it left. Edits and a compaction with nothing
// said between them are one rewrite. A stretch that no compaction borders on has no
// messages here, unless it is the first: nothing is measured there.
func (s *Session) stretches() []*stretch {
	var (
		out   []*stretch
		ends  []int
		seen  = map[*message.Message]*measure.Digest{}
		quiet = false // nothing was said since the last rewrite
	)
	for i, e := range s.Path {
		switch {
		case !rewrites(e):
			if said(e) != nil {
				quiet = false
			}
		case quiet:
			if last := out[len(out)-1]; last.rewrite.Type != session.TypeCompaction {
				last.rewrite = e
			}
		default:
			out, ends, quiet = append(out, &stretch{rewrite: e}), append(ends, i), true
		}
	}
	if len(s.Path) > 0 {
		out, ends = append(out, &stretch{}), append(ends, len(s.Path))
	}
	compacted := func(i int) bool {
		return i >= 0 && out[i].rewrite != nil && out[i].rewrite.Type == session.TypeCompaction
	}
	for i, st := range out {
		if i == 0 || compacted(i) || compacted(i-1) {
			st.fill(s.Path[:ends[i]], seen)
		}
	}
	return out
}

// fill reads what the context is at the end of a path.
func (st *stretch) fill(path []*session.Entry, seen map[*message.Message]*measure.Digest) {
	for _, it := range session.Project(path).Items {
		m, where := neutral(it.Message)
		if where == placeOut {
			continue
		}
		d := seen[it.Message]
		if d == nil {
			d = measure.NewDigest(&m)
			seen[it.Message] = d
		}
		if where == placeAlways {
			st.always = append(st.always, d)
			continue
		}
		st.items = append(st.items, it)
		st.digests = append(st.digests, d)
	}
}

func rewrites(e *session.Entry) bool {
	return e.Type == session.TypeCompaction || e.Type == session.TypeContextEdit
}

// Kind says what a part of a context is.
type Kind uint8

// The kinds, in the order in which they are drawn.
const (
	KindOverhead Kind = iota // system prompt and tools
	KindUser
	KindAgent
	KindCalls
	KindResults
	KindInjected
	KindSummary
	NumKinds
)

var kindNames = [NumKinds]string{"overhead", "user", "answers", "calls", "results", "injected", "summaries"}

func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "?"
}

// A block is a part of a context that a cache holds whole or not at all.
type block struct {
	id     blockID
	tokens int
	parts  [NumKinds]int
	result bool // of a call: it stays with what is before it
	turn   bool // a turn begins with it
}

// blockID tells blocks apart: src is the message, or what else it is, and form what
// was made of it.
type blockID struct{ src, form int }

// What src is where it is no message.
const (
	srcOverhead = -1
	srcSummary  = -2
)

// The forms of a message.
const (
	formWhole = iota
	formMasked
	formOffloaded
)

// call is a call of the provider: the context is the blocks before the answer.
type call struct {
	upTo int // blocks before it
	out  int // tokens of the answer
	gap  int64
}

// recording is a session as it would have gone without any rewrite.
type recording struct {
	blocks []block
	calls  []call
	model  string
}

func (r *recording) tokens() int {
	n := 0
	for _, b := range r.blocks {
		n += b.tokens
	}
	return n
}

// record lists what was said and the calls. What a rewrite put in, summaries and
// copies of what it kept, is left out.
func record(s *Session) *recording {
	r := &recording{}
	var last int64
	for _, e := range s.Path {
		m := said(e)
		if m == nil || e.CopyOf() != "" {
			continue
		}
		n, where := neutral(m)
		if where == placeOut || m.Role == message.RoleSystem {
			continue // the prompt is part of the overhead
		}
		b := block{id: blockID{src: len(r.blocks)}, result: m.Role == message.RoleToolResult, turn: n.Kind == measure.User}
		text := toTokens(measure.Units(n.Text))
		b.tokens = toTokens(n.Size())
		switch {
		case m.Role == message.RoleAssistant:
			b.parts[KindAgent] = text
			b.parts[KindCalls] = b.tokens - text
		case b.result:
			b.parts[KindResults] = b.tokens
		case n.Kind == measure.User:
			b.parts[KindUser] = b.tokens
		default:
			b.parts[KindInjected] = b.tokens
		}
		if m.Role == message.RoleAssistant {
			c := call{upTo: len(r.blocks), out: b.tokens + toTokens(measure.Units(n.Hidden))}
			if m.Timestamp > 0 && last > 0 {
				c.gap = m.Timestamp - last
			}
			r.calls = append(r.calls, c)
			if m.Model != "" {
				r.model = m.Model
			}
		}
		if m.Timestamp > 0 {
			last = m.Timestamp
		}
		r.blocks = append(r.blocks, b)
	}
	return r
}

// said returns the message of an entry, nil for one that has none: what a pass left of
// a message that it took out was not said.
func said(e *session.Entry) *message.Message {
	switch e.Type {
	case session.TypeMessage:
		if m, err := e.Message(); err == nil {
			return m
		}
	case session.TypeCustomMessage:
		if m, ok := e.CustomMessage(); ok && m.CustomType != session.CustomExcerpt {
			return m
		}
	default:
	}
	return nil
}

func toTokens(units int) int { return (units + measure.CharsPerToken - 1) / measure.CharsPerToken }
