package clew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Recall returns the message of an entry as it was appended, whatever has become of it in the context. The entry is
// named by its id, the beginning of it, or a handle of a summary or a note.
func (s *Session) Recall(ctx context.Context, handle string) (m *message.Message, err error) {
	err = s.do(ctx, "recall", handle, func() error {
		e, err := recall.Find(ctx, s.log.Store(), s.log.Leaf(), handle)
		if err == nil {
			m, err = s.messageOf(ctx, e)
		}
		return err
	})
	return m, err
}

func (s *Session) messageOf(ctx context.Context, e *session.Entry) (*message.Message, error) {
	m := recall.Said(e)
	if m == nil {
		return nil, &Error{Op: "recall", Subject: e.ID, Err: ErrBadMessage, Hint: "the entry is a " + string(e.Type) + ", which has no content for a model"}
	}
	return s.whole(ctx, m)
}

// DefaultRecall is how many characters RecallText returns.
const DefaultRecall = 8000

// RecallOptions changes one RecallText.
type RecallOptions struct {
	Offset int    // where to begin, in characters
	Max    int    // how many characters to return. Default: 8000; below 0, all.
	Raw    bool   // asks for the stored JSON: of a message all of it, of other entries the record
	Around string // words: the page is the one in which they stand closest together, and Offset does not count
}

// Recalled is a page of what an entry says, or several.
type Recalled struct {
	recall.Page
	Entries []string `json:"entries"` // the ids of the entries whose text is on the page, oldest first
	// Role and Tool are those of the message, where it is one.
	Role   message.Role `json:"role,omitempty"`
	Tool   string       `json:"tool,omitempty"`
	Purged bool         `json:"purged,omitempty"` // jsonl.PurgeMarker stands where a part was overwritten on purpose
	// Excerpt says that the whole was purged or lost: the text is the excerpt that the log has.
	Excerpt bool `json:"excerpt,omitempty"`
}

// RecallText returns the text of an entry, word for word, page by page. The handle is that of Recall, or of a range
// on a path, a..b, in which a line names each entry before its text. An entry that is no message gives its record.
func (s *Session) RecallText(ctx context.Context, handle string, opt RecallOptions) (r *Recalled, err error) {
	err = s.do(ctx, "recall", handle, func() error {
		e, path, err := s.lookUp(ctx, handle)
		if err == nil {
			r, err = s.page(ctx, handle, e, path, opt)
		}
		return err
	})
	return r, err
}

// RecallPair is RecallText for both halves of a call: first the entry that is named, then its
// results, or the call that it is the result of. Those begin at their beginning, or around the
// words, and share the room that the first leaves, at least a quarter.
func (s *Session) RecallPair(ctx context.Context, handle string, opt RecallOptions) (r []*Recalled, err error) {
	err = s.do(ctx, "recall", handle, func() error { r, err = s.recallPair(ctx, handle, opt); return err })
	return r, err
}

func (s *Session) recallPair(ctx context.Context, handle string, opt RecallOptions) ([]*Recalled, error) {
	e, path, err := s.lookUp(ctx, handle)
	if err != nil {
		return nil, err
	}
	first, notThere := s.page(ctx, handle, e, path, opt)
	if first == nil || e == nil {
		return []*Recalled{first}, notThere
	}
	pair, err := recall.Pair(ctx, s.log.Store(), e)
	if err != nil {
		return nil, err
	}
	opt.Offset = 0
	opt.Max = cmp.Or(opt.Max, DefaultRecall)
	if opt.Max > 0 && len(pair) > 0 {
		opt.Max = max(max(opt.Max-utf8.RuneCountInString(first.Text), opt.Max/4)/len(pair), 1)
	}
	all := []*Recalled{first}
	for _, e := range pair {
		r, err := s.page(ctx, e.ID, e, nil, opt)
		if r == nil {
			return nil, err
		}
		if err == nil {
			notThere = nil // the words stand in this half
		}
		all = append(all, r)
	}
	return all, notThere
}

// lookUp returns the entry that a handle names, or the path that it is the range of.
func (s *Session) lookUp(ctx context.Context, handle string) (*session.Entry, []*session.Entry, error) {
	e, err := recall.Find(ctx, s.log.Store(), s.log.Leaf(), handle)
	from, to, ok := strings.Cut(recall.Handle(handle), "..")
	if err == nil || !ok || !errors.Is(err, ErrNotFound) {
		return e, nil, err
	}
	path, err := recall.FindRange(ctx, s.log.Store(), s.log.Leaf(), from, to)
	return nil, path, err
}

// page reads a page of an entry, or of a path. Where none of the words to read around is in
// the text, there is the page at the offset and an error.
func (s *Session) page(ctx context.Context, handle string, e *session.Entry, path []*session.Entry, opt RecallOptions) (*Recalled, error) {
	if opt.Offset < 0 {
		return nil, &Error{Op: "recall", Subject: handle, Err: fmt.Errorf("offset %d", opt.Offset), Hint: "offsets begin at 0"}
	}
	p := recall.Pager{Offset: opt.Offset, Most: cmp.Or(opt.Max, DefaultRecall)}
	var notThere error
	if opt.Around != "" {
		whole, err := s.read(ctx, e, path, recall.Pager{}, opt.Raw)
		if err != nil {
			return nil, err
		}
		if at := recall.Place(whole.Text, opt.Around, max(p.Most, 0)/3); at >= 0 {
			p.Offset = at
		} else {
			notThere = &Error{
				Op: "recall", Subject: handle, Err: fmt.Errorf("none of the words stands there: %s", opt.Around),
				Hint: "read it from the beginning, or search for other entries",
			}
		}
	}
	r, err := s.read(ctx, e, path, p, opt.Raw)
	return r, cmp.Or(err, notThere)
}

// read pages the text of an entry, or of what the entries of a path say, of which one at a time is in memory.
func (s *Session) read(ctx context.Context, one *session.Entry, path []*session.Entry, p recall.Pager, raw bool) (*Recalled, error) {
	r := &Recalled{Entries: []string{}}
	if one != nil {
		path = []*session.Entry{one}
	}
	for _, e := range path {
		m := recall.Said(e)
		if m == nil && !raw && one == nil {
			continue
		}
		text, excerpt, err := s.entryText(ctx, e, m, raw)
		if err != nil {
			return nil, err
		}
		switch {
		case one != nil && m != nil:
			r.Role, r.Tool = m.Role, m.ToolName
		case one != nil:
		case raw:
			text += "\n"
		default:
			text = "[#" + e.ID + " " + speaker(m.Role, m.ToolName) + "]\n" + text + "\n\n"
		}
		if p.Add(text) || one != nil {
			r.Entries = append(r.Entries, e.ID)
			r.Purged = r.Purged || strings.Contains(text, jsonl.PurgeMarker)
			r.Excerpt = r.Excerpt || excerpt
		}
	}
	r.Page = p.Page()
	return r, nil
}

// Steps returns what happened in the entries of a range, a..b, or in those from near before an
// entry to near after it: one line for each that says something, oldest first. It passes over
// offset lines and returns at most limit. Default: 50.
func (s *Session) Steps(ctx context.Context, handle string, near, offset, limit int) (p *StepPage, err error) {
	err = s.do(ctx, "recall", handle, func() error { p, err = s.steps(ctx, handle, near, offset, limit); return err })
	return p, err
}

func (s *Session) steps(ctx context.Context, handle string, near, offset, limit int) (*StepPage, error) {
	e, path, err := s.lookUp(ctx, handle)
	if err != nil || e == nil {
		return recall.Steps(path, offset, limit), err
	}
	for _, leaf := range []string{s.log.Leaf(), e.ID} { // the entry may be on another branch
		if path, err = session.Path(ctx, s.log.Store(), leaf); err != nil {
			return nil, err
		}
		if around := recall.Around(path, e.ID, near); around != nil {
			return recall.Steps(around, offset, limit), nil
		}
	}
	return nil, &Error{Op: "recall", Subject: handle, Err: ErrNotFound}
}

// entryText returns what an entry says, or its record, and whether that is only the log's excerpt.
func (s *Session) entryText(ctx context.Context, e *session.Entry, m *message.Message, raw bool) (text string, excerpt bool, err error) {
	if m == nil {
		if edit, ok := e.ContextEdit(); ok && edit.Content != nil && !raw {
			return recall.Text(&message.Message{Content: message.ParseContent(edit.Content)}), false, nil
		}
		return string(e.Raw()), false, nil
	}
	if raw && e.Type != session.TypeMessage {
		return string(e.Raw()), false, nil
	}
	whole, err := s.whole(ctx, m)
	switch {
	case errors.Is(err, blob.ErrNotFound), errors.Is(err, blob.ErrCorrupt):
		whole, excerpt = m, true
	case err != nil:
		return "", false, err
	}
	if raw {
		return string(whole.JSON()), excerpt, nil
	}
	return recall.Text(whole), excerpt, nil
}

func speaker(role message.Role, tool string) string {
	return cmp.Or(map[message.Role]string{
		message.RoleToolResult: strings.TrimSpace("result of " + tool), message.RoleBashExecution: "shell",
		message.RoleCompactionSummary: "summary", message.RoleBranchSummary: "branch summary",
	}[role], string(role))
}

// The scopes of a Query.
const (
	ScopePath = ""     // the path to the leaf
	ScopeAll  = "all"  // every branch of the session
	ScopeLeft = "left" // what left the context: the path without what the model sees word for word
)

// Query says what Search is to find. The fields narrow down together.
type Query struct {
	// Text is words, best match first, and "phrases in quotes", which must stand in a hit but for case and white
	// space. Without Text all that the other fields let through is a hit, newest first.
	Text         string
	Tool         string         // names the tool that a hit calls or is the result of; a shell run counts as bash
	Path         string         // begins a path among the arguments of the call
	Since, Until string         // handles of the first and the last entry, in the order of the log, that may be a hit
	Scope        string         // where to look: ScopePath, ScopeAll or ScopeLeft
	Roles        []message.Role // that hits may have. Default: all.
	Offset       int            // how many hits to pass over
	Limit        int            // how many to return. Default: 10; at most 100.
	Snippet      int            // how much text a hit comes with, in bytes; at most 4000. Default: 2000 for the first three, 200 for the others.
}

type (
	// Hit is an entry that was found.
	Hit = recall.Hit
	// Found is a page of hits.
	Found = recall.Results
	// StepPage is a page of entries, each as one line.
	StepPage = recall.StepPage
)

// Search finds entries by words. The first search reads the whole session, later ones
// what was appended since. A query that asks for nothing is refused.
func (s *Session) Search(ctx context.Context, q Query) (f *Found, err error) {
	err = s.do(ctx, "search", q.Text, func() error { f, err = s.search(ctx, q); return err })
	return f, err
}

func (s *Session) search(ctx context.Context, q Query) (*Found, error) {
	store := s.log.Store()
	for _, end := range []*string{&q.Since, &q.Until} {
		if *end == "" {
			continue
		}
		e, err := recall.Find(ctx, store, s.log.Leaf(), *end)
		if err != nil {
			return nil, err
		}
		*end = e.ID
	}
	if s.index == nil {
		s.index = recall.New(store, s.searched)
	}
	asked := recall.Query(q)
	if q.Scope == ScopeAll {
		return s.index.Search(ctx, asked, nil)
	}
	in, err := s.inScope(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	f, err := s.index.Search(ctx, asked, func(id string) bool { return in[id] })
	if err != nil || q.Scope != ScopePath || s.index.Entries() == len(in) {
		return f, err
	}
	asked.Offset, asked.Limit = 0, 1
	others, err := s.index.Search(ctx, asked, func(id string) bool { return !in[id] })
	if err == nil {
		f.Elsewhere = others.Total
	}
	return f, err
}

func (s *Session) inScope(ctx context.Context, scope string) (map[string]bool, error) {
	if scope != ScopeLeft {
		err := s.index.Update(ctx)
		return s.index.Path(s.log.Leaf()), err
	}
	path, err := s.log.Path(ctx)
	if err != nil {
		return nil, err
	}
	in := make(map[string]bool, len(path))
	for _, f := range compact.Fates(path) {
		// It was in the context, and is not there word for word any more.
		in[f.Entry] = f.Fate == compact.FateSummarized || f.Fate == compact.FateEdited ||
			f.Fate == compact.FateExcluded && (f.Why == compact.WhyOmitted || f.Why == compact.WhyOlder)
	}
	return in, nil
}

// maxSearched is how much of one message that is kept beside the log is searched, in bytes.
const maxSearched = 64 << 20

func (s *Session) searched(ctx context.Context, m *message.Message) (*message.Message, error) {
	at, ok := session.SpilledOf(m)
	if !ok || at.Size <= maxSearched {
		return s.whole(ctx, m)
	}
	data, err := s.readSpilled(ctx, at, maxSearched-1<<10)
	if err != nil {
		return nil, err
	}
	return message.Parse(closed(data))
}

// maxToolRecall is the most characters of an answer: a page must not fill the window that it is read in.
const maxToolRecall = 40_000

// RecallTool answers a call of the tool that recall.AgentTool describes. An error is in words for the model.
func (s *Session) RecallTool(ctx context.Context, arguments json.RawMessage) (string, error) {
	const op = "recall"
	a, err := parseRecallArguments(arguments)
	if err != nil {
		return "", err
	}
	if err := s.begin(ctx, op); err != nil {
		return "", err
	}
	defer s.end()
	if a.ID == "" && recall.AreHandles(a.Text) { // words that happen to look so are searched for
		if _, _, err := s.lookUp(ctx, recall.Handles(a.Text)[0]); err == nil {
			a.ID, a.Around = a.Text, ""
		}
	}
	text, subject := "", cmp.Or(a.ID, a.Text)
	switch {
	case a.From+a.To != "":
		subject = a.From + ".." + a.To
		text, err = s.toolSteps(ctx, a, subject)
	case a.ID != "" && a.Near > 0:
		text, err = s.toolSteps(ctx, a, a.ID)
	case a.ID != "":
		text, err = s.toolRecall(ctx, a)
	default:
		text, err = s.toolSearch(ctx, a.Query)
	}
	return text, failed(op, subject, err)
}

type recallArguments struct {
	Query
	ID, Around, From, To string
	Near                 int
	Raw                  bool
}

// parseRecallArguments reads the arguments of a call. Models write numbers and booleans as strings at times, and null
// for what they leave out; members that are not known are passed over.
func parseRecallArguments(data json.RawMessage) (a recallArguments, err error) {
	const hint = `call it with {"id": "1a2b3c4d"} or {"query": "words"}`
	bad := func(name, want string) error {
		return &Error{Op: "recall", Subject: name, Err: errors.New("the argument is no " + want), Hint: hint}
	}
	object := jsonx.One(data)
	if !jsonx.IsObject(object) {
		return a, bad("arguments", "JSON object")
	}
	role, left, all := "", false, false
	fields := map[string]any{
		"id": &a.ID, "query": &a.Text, "role": &role, "tool": &a.Tool, "path": &a.Path,
		"around": &a.Around, "from": &a.From, "to": &a.To, "since": &a.Since, "until": &a.Until, "near": &a.Near,
		"offset": &a.Offset, "limit": &a.Limit, "raw": &a.Raw, "left": &left, "all": &all,
	}
	jsonx.Members(object, func(key, val []byte) bool {
		if jsonx.IsNull(val) {
			return true
		}
		name := string(key)
		text, isText := jsonx.String(val)
		word := strings.TrimSpace(text)
		if !isText {
			word = string(val)
		}
		switch to := fields[name].(type) {
		case *string:
			if *to = text; !isText {
				err = bad(name, "string")
			}
		case *int:
			n, ok := jsonx.Int([]byte(word))
			if *to = int(n); !ok || n < 0 || n > math.MaxInt32 {
				err = bad(name, "whole number from 0 on")
			}
		case *bool:
			if *to = word == "true"; word != "true" && word != "false" {
				err = bad(name, "true or false")
			}
		}
		return err == nil
	})
	switch {
	case err != nil:
		return a, err
	case left && all:
		return a, &Error{Op: "recall", Err: errors.New("left and all are both true: what left the context is a part of this branch, all are all branches"), Hint: "call it again with one of them"}
	case a.ID+a.From+a.To+a.Text+role+a.Tool+a.Path == "":
		return a, &Error{Op: "recall", Err: recall.ErrNoQuery, Hint: hint}
	case left:
		a.Scope = ScopeLeft
	case all:
		a.Scope = ScopeAll
	}
	if role != "" {
		if a.Roles = []message.Role{message.Role(role)}; !a.Roles[0].Known() {
			return a, bad("role "+role, "role of a message")
		}
	}
	return a, nil
}

// toolRecall answers a call with ids.
func (s *Session) toolRecall(ctx context.Context, a recallArguments) (string, error) {
	var answers []string
	ids := recall.Handles(a.ID)
	if len(ids) == 0 {
		ids = []string{a.ID}
	}
	most := max(min(cmp.Or(a.Limit, DefaultRecall), maxToolRecall)/len(ids), 1)
	for _, id := range ids {
		all, err := s.recallPair(ctx, id, RecallOptions{Offset: a.Offset, Max: most, Raw: a.Raw, Around: a.Around})
		if err != nil {
			return "", err
		}
		if a.Raw {
			all = all[:1]
		}
		for _, r := range all {
			before, after := r.Frame(`"offset": %d`)
			answers = append(answers, recall.ResultLine(r.head(id))+before+r.Text+after)
		}
	}
	return strings.Join(answers, "\n\n"), nil
}

// head says what a page is of, and which part.
func (r *Recalled) head(id string) string {
	what := "#" + recall.Handle(id)
	if len(r.Entries) == 1 {
		what = "#" + r.Entries[0]
	}
	if who := speaker(r.Role, r.Tool); who != "" {
		what += " " + who
	}
	what += fmt.Sprintf(": characters %d to %d of %d", r.Offset, cmp.Or(r.Next, r.Total), r.Total)
	if r.Next > 0 {
		what += fmt.Sprintf("; "+goOn, r.Next)
	}
	if r.Purged {
		what += "; a part of it was purged and can't be had back"
	}
	if r.Excerpt {
		what += "; an excerpt, the whole was purged or lost"
	}
	return what
}

// toolSteps answers a call for a stretch.
func (s *Session) toolSteps(ctx context.Context, a recallArguments, handle string) (string, error) {
	p, err := s.steps(ctx, handle, a.Near, a.Offset, a.Limit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(recall.ResultLine(fmt.Sprintf("steps: %d%s", p.Total, p.Part(goOn))))
	for _, step := range p.Lines {
		b.WriteString(step.String() + "\n")
	}
	return b.String(), nil
}

// goOn is how the model gets what follows.
const goOn = "go on with offset %d"

// toolSearch answers a call with a query.
func (s *Session) toolSearch(ctx context.Context, q Query) (string, error) {
	f, err := s.search(ctx, q)
	if err != nil {
		return "", err
	}
	what := fmt.Sprintf("search: %d found%s%s", f.Total, f.Words(), f.Part(goOn))
	if f.Elsewhere > 0 {
		what += fmt.Sprintf(`; %d more on branches that were left, for "all": true`, f.Elsewhere)
	}
	if len(f.Hits) > 0 {
		what += "; give an id to read the whole"
	}
	var b strings.Builder
	b.WriteString(recall.ResultLine(what))
	var here map[string]bool
	if q.Scope == ScopeAll {
		here = s.index.Path(s.log.Leaf())
	}
	for _, h := range f.Hits {
		who, where := speaker(h.Role, strings.Join(h.Tools, ", ")), ""
		if h.Role == message.RoleAssistant && len(h.Tools) > 0 {
			who += " calling " + strings.Join(h.Tools, ", ")
		}
		if here != nil && !here[h.Entry] {
			where = ", on a branch that was left" // it may not hold any more
		}
		fmt.Fprintf(&b, "#%s %s, turn %d, at character %d of %d%s\n  %s\n", h.Entry, who, h.Turn, h.Offset, h.Size, where, h.Snippet)
		for _, line := range h.Rest() {
			b.WriteString("  " + line + "\n")
		}
	}
	b.WriteString(f.Narrow(func(name, value string) string { return fmt.Sprintf("%q: %q", name, cmp.Or(value, "true")) }))
	return b.String(), nil
}
