package transcript

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/session"
)

// Redacted is a view of a session in which the secrets have marks in their places:
// keys, tokens and passwords, in whatever was said, called or printed. The session
// itself is not changed, and nothing can be appended to the view.
//
// Ids, names of models and tools, images and signatures stay as they are. Thinking
// from which a secret was taken loses its signature, which would not fit any more.
type Redacted struct {
	session.Store

	mu    sync.Mutex
	found map[string]int // secrets by entry, for entries are read more than once
}

// Redact returns the view of a session.
func Redact(s session.Store) *Redacted {
	return &Redacted{Store: s, found: map[string]int{}}
}

// Secrets returns how many secrets were in the entries read so far.
func (r *Redacted) Secrets() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.found {
		n += k
	}
	return n
}

// SecretsNote is the note of a report about n secrets that were taken out.
func SecretsNote(n int) Note {
	return Note{Class: Lost, Kind: "secret", Count: n, What: "secrets, each with a mark in its place"}
}

// Header implements session.Store.
func (r *Redacted) Header() session.Header {
	h := r.Store.Header()
	if raw, n := redacted(h.Raw(), inHeader); n > 0 {
		if clean, err := session.ParseHeader(raw); err == nil {
			return clean
		}
	}
	h.Cwd, h.ParentSession = redact.Text(h.Cwd), redact.Text(h.ParentSession)
	return h
}

// Last implements session.Store.
func (r *Redacted) Last(ctx context.Context) (*session.Entry, error) {
	e, err := r.Store.Last(ctx)
	return r.clean(e), err
}

// Get implements session.Store.
func (r *Redacted) Get(ctx context.Context, id string) (*session.Entry, error) {
	e, err := r.Store.Get(ctx, id)
	return r.clean(e), err
}

// Parent implements session.Store.
func (r *Redacted) Parent(ctx context.Context, e *session.Entry) (*session.Entry, error) {
	p, err := r.Store.Parent(ctx, e)
	return r.clean(p), err
}

// All implements session.Store.
func (r *Redacted) All(ctx context.Context) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		for e, err := range r.Store.All(ctx) {
			if !yield(r.clean(e), err) {
				return
			}
		}
	}
}

// Append implements session.Store: it refuses.
func (r *Redacted) Append(context.Context, []*session.Entry, session.AppendOptions) error {
	return &session.Error{Op: "append", Err: session.ErrReadOnly, Hint: "this is a view without its secrets; append to the session"}
}

func (r *Redacted) clean(e *session.Entry) *session.Entry {
	if e == nil {
		return nil
	}
	raw, n := redacted(e.Raw(), inEntry)
	if n == 0 {
		return e
	}
	c, err := session.ParseEntry(raw)
	if err != nil {
		return e // raw was an entry, and marks are text
	}
	if c.ParentID != e.ParentID {
		c = c.Attached(e.ParentID)
	}
	r.mu.Lock()
	r.found[strings.Clone(e.ID)] = n
	r.mu.Unlock()
	return c
}

// place is where in a record a value stands. It says which members are not text:
// those tell records, calls and results from each other.
type place int

const (
	free      place = iota // arguments, details, data: anything
	inHeader               // of the session
	inEntry                // an entry
	inMessage              // a message, or what replaces its content
	inBlock                // a block of a content
	inContent              // a content: text, or blocks
	asItIs
)

// fixed are the members that stay as they are.
var fixed = map[place][]string{
	inHeader: {"type", "id", "timestamp"},
	inEntry:  {"type", "id", "parentId", "timestamp", "targetId", "fromId", "firstKeptEntryId", "customType", "provider", "modelId", "model", "clew"},
	inMessage: {
		"role", "toolCallId", "toolName", "customType", "origin", "api", "provider", "model", "responseModel", "stopReason", "fromId",
	},
	inBlock: {"type", "id", "name", "mimeType", "data", "textSignature", "thinkingSignature", "thoughtSignature"},
}

// within returns where the value of a member stands.
func (p place) within(name string) place {
	if p == free || p == asItIs {
		return p
	}
	for _, f := range fixed[p] {
		if f == name {
			return asItIs
		}
	}
	switch name {
	case "message", "systemMessage", "replacement":
		if p == inEntry {
			return inMessage
		}
	case "content":
		if p == inEntry || p == inMessage {
			return inContent
		}
	}
	return free
}

// redacted returns a JSON value without its secrets and how many it had; without
// any it is the value itself.
func redacted(raw []byte, at place) ([]byte, int) {
	w := redactor{out: make([]byte, 0, len(raw)+64)}
	if _, err := w.value(raw, jsonx.Space(raw, 0), "", at); err != nil || w.n == 0 {
		return raw, 0
	}
	return w.out, w.n
}

// redactor writes a value anew, without its secrets.
type redactor struct {
	out []byte
	n   int
}

// value writes what begins at data[i] and returns where it ends. name is the member
// it is the value of.
func (w *redactor) value(data []byte, i int, name string, at place) (end int, err error) {
	switch {
	case i < len(data) && data[i] == '{' && at != asItIs:
		return w.object(data, i, at)
	case i < len(data) && data[i] == '[' && at != asItIs:
		if at == inContent {
			at = inBlock
		}
		w.out = append(w.out, '[')
		first := true
		end, err = jsonx.ScanArray(data, i, func(k int) (int, error) {
			w.comma(&first)
			return w.value(data, k, name, at)
		})
		w.out = append(w.out, ']')
		return end, err
	}
	if end, err = jsonx.Scan(data, i); err != nil {
		return end, err
	}
	val := data[i:end]
	if s, ok := jsonx.String(val); ok && at != asItIs {
		if clean := named(name, s); clean != s {
			w.n += max(1, countMarks(clean)-countMarks(s))
			w.out = jsonx.AppendQuote(w.out, clean)
			return end, nil
		}
	}
	w.out = append(w.out, val...)
	return end, nil
}

func (w *redactor) comma(first *bool) {
	if !*first {
		w.out = append(w.out, ',')
	}
	*first = false
}

func (w *redactor) object(data []byte, i int, at place) (end int, err error) {
	unsigned := false
	if at == inBlock {
		if end, err = jsonx.Scan(data, i); err != nil {
			return end, err
		}
		said := jsonx.StringAt(data[i:end], "thinking")
		unsigned = named("thinking", said) != said
	}
	w.out = append(w.out, '{')
	first := true
	end, err = jsonx.ScanObject(data, i, func(key []byte, k int) (int, error) {
		name := string(key)
		if unsigned && name == "thinkingSignature" {
			return jsonx.Scan(data, k)
		}
		w.comma(&first)
		w.key(name, at)
		return w.value(data, k, name, at.within(name))
	})
	w.out = append(w.out, '}')
	return end, err
}

// key writes the name of a member. Where anything may stand, a name may be secret.
func (w *redactor) key(name string, at place) {
	if at == free {
		if clean := redact.Text(name); clean != name {
			w.n++
			name = clean
		}
	}
	w.out = append(jsonx.AppendQuote(w.out, name), ':')
}

// named returns the text of a member without its secrets. The name may be what says
// that it is one.
func named(name, s string) string {
	const long = 4096
	if name == "" || len(name) > 80 || len(s) > long {
		return added(redact.Text(s))
	}
	head := name + `: "`
	if clean, ok := strings.CutPrefix(redact.Text(head+s), head); ok {
		return added(clean)
	}
	return added(redact.Text(s))
}

// added takes secrets out of the lines that a diff adds: to redact.Text the plus is the
// first character of the word behind it.
func added(s string) string {
	if !strings.HasPrefix(s, "+") && !strings.Contains(s, "\n+") {
		return s
	}
	var b strings.Builder
	for l := range strings.Lines(s) {
		if rest, ok := strings.CutPrefix(l, "+"); ok {
			l = "+" + redact.Text(rest)
		}
		b.WriteString(l)
	}
	return b.String()
}

func countMarks(s string) int { return strings.Count(s, "[redacted:") }
