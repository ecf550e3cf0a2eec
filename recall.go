package clew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Recall returns the message of an entry as it was appended, whatever has become of it in
// the context. The entry is named by its id, the beginning of it, or a handle of a
// summary or a note.
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
	m := shownBy(e)
	if m == nil {
		return nil, &Error{Op: "recall", Subject: e.ID, Err: ErrBadMessage, Hint: "the entry is a " + string(e.Type) + ", which has no content for a model"}
	}
	return s.whole(ctx, m)
}

// shownBy returns the message that an entry contributes by itself, or nil.
func shownBy(e *session.Entry) *message.Message {
	if c := session.Project([]*session.Entry{e}); len(c.Items) > 0 {
		return c.Items[len(c.Items)-1].Message
	}
	return nil
}

// defaultRecall is how many characters RecallText returns.
const defaultRecall = 8000

// RecallOptions changes one RecallText.
type RecallOptions struct {
	// Offset is where to begin, in characters.
	Offset int
	// Max is how many characters to return. Default: 8000; below 0, all.
	Max int
	// Raw asks for the stored JSON: of a message all of it, of other entries the record.
	Raw bool
}

// Recalled is a page of what an entry says, or several.
type Recalled struct {
	recall.Page
	// Entries are the ids of the entries whose text is on the page, oldest first.
	Entries []string `json:"entries"`
	// Role and Tool are those of the message, where it is one.
	Role message.Role `json:"role,omitempty"`
	Tool string       `json:"tool,omitempty"`
	// Purged says that jsonl.PurgeMarker stands where a part was overwritten on purpose.
	Purged bool `json:"purged,omitempty"`
	// Excerpt says that the whole was purged or lost: the text is the excerpt that the
	// log has.
	Excerpt bool `json:"excerpt,omitempty"`
}

// RecallText returns the text of an entry, word for word, page by page. The handle is
// that of Recall, or of a range on a path, a..b, in which a line names each entry before
// its text. An entry that is no message gives its record.
func (s *Session) RecallText(ctx context.Context, handle string, opt RecallOptions) (r *Recalled, err error) {
	err = s.do(ctx, "recall", handle, func() error { r, err = s.recallText(ctx, handle, opt); return err })
	return r, err
}

func (s *Session) recallText(ctx context.Context, handle string, opt RecallOptions) (*Recalled, error) {
	if opt.Offset < 0 {
		return nil, &Error{Op: "recall", Subject: handle, Err: fmt.Errorf("offset %d", opt.Offset), Hint: "offsets begin at 0"}
	}
	store, leaf := s.log.Store(), s.log.Leaf()
	p := recall.Pager{Offset: opt.Offset, Most: opt.Max}
	if opt.Max == 0 {
		p.Most = defaultRecall
	}
	e, err := recall.Find(ctx, store, leaf, handle)
	if err == nil {
		r := &Recalled{Entries: []string{e.ID}}
		if m := shownBy(e); m != nil {
			r.Role, r.Tool = m.Role, m.ToolName
		}
		text, excerpt, err := s.entryText(ctx, e, opt.Raw)
		if err != nil {
			return nil, err
		}
		p.Add(text)
		r.Page, r.Excerpt, r.Purged = p.Page(), excerpt, strings.Contains(text, jsonl.PurgeMarker)
		return r, nil
	}
	from, to, ok := strings.Cut(recall.Handle(handle), "..")
	if !ok || !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	path, err := recall.FindRange(ctx, store, leaf, from, to)
	if err != nil {
		return nil, err
	}
	return s.rangeText(ctx, path, p, opt.Raw)
}

// rangeText pages what the entries of a path say. One text is in memory at a time.
func (s *Session) rangeText(ctx context.Context, path []*session.Entry, p recall.Pager, raw bool) (*Recalled, error) {
	r := &Recalled{Entries: []string{}}
	for _, e := range path {
		m := shownBy(e)
		if m == nil && !raw {
			continue
		}
		text, excerpt, err := s.entryText(ctx, e, raw)
		if err != nil {
			return nil, err
		}
		if raw {
			text += "\n"
		} else {
			text = "[#" + e.ID + " " + speaker(m.Role, m.ToolName) + "]\n" + text + "\n\n"
		}
		if p.Add(text) {
			r.Entries = append(r.Entries, e.ID)
			r.Purged = r.Purged || strings.Contains(text, jsonl.PurgeMarker)
			r.Excerpt = r.Excerpt || excerpt
		}
	}
	r.Page = p.Page()
	return r, nil
}

// entryText returns what an entry says, or its record, and whether that is only the log's
// excerpt.
func (s *Session) entryText(ctx context.Context, e *session.Entry, raw bool) (text string, excerpt bool, err error) {
	m := shownBy(e)
	if m == nil {
		if edit, ok := e.ContextEdit(); ok && edit.Content != nil && !raw {
			return recall.BlocksText(message.ParseContent(edit.Content)), false, nil
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
	// Text is words, best match first, and "phrases in quotes", which must stand in a hit
	// but for case and white space. Without Text all that the other fields let through is
	// a hit, newest first.
	Text string
	// Roles that hits may have. Default: all.
	Roles []message.Role
	// Tool names the tool that a hit calls or is the result of; a shell run counts as
	// bash.
	Tool string
	// Path begins a path among the arguments of the call.
	Path string
	// Since and Until name the first and the last entry, in the order of the log, that
	// may be a hit.
	Since, Until string
	// Scope says where to look. Default: ScopePath.
	Scope string
	// Offset is how many hits to pass over, Limit how many to return. Default: 10; at
	// most 100.
	Offset, Limit int
	// Snippet is how much text a hit comes with, in bytes. Default: 240; at most 4000.
	Snippet int
}

// Hit is an entry that was found.
type Hit = recall.Hit

// Found is a page of hits.
type Found struct {
	recall.Results
	// Elsewhere is how many hits there are on other branches, with ScopePath.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Search finds entries by words. The first search reads the whole session, later ones
// what was appended since. A query that asks for nothing is refused.
func (s *Session) Search(ctx context.Context, q Query) (f *Found, err error) {
	err = s.do(ctx, "search", q.Text, func() error { f, err = s.search(ctx, q); return err })
	return f, err
}

func (s *Session) search(ctx context.Context, asked Query) (*Found, error) {
	q := recall.Query{
		Text: asked.Text, Roles: asked.Roles, Tool: asked.Tool, Path: asked.Path, Since: asked.Since, Until: asked.Until,
		Offset: asked.Offset, Limit: asked.Limit, Snippet: asked.Snippet,
	}
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
		s.index = recall.New(store, recall.Options{Whole: s.searched})
	}
	var in map[string]bool
	if asked.Scope != ScopeAll {
		var err error
		if in, err = s.inScope(ctx, asked.Scope); err != nil {
			return nil, err
		}
		q.Only = func(id string) bool { return in[id] }
	}
	r, err := s.index.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	f := &Found{Results: *r}
	if asked.Scope == ScopePath && s.index.Entries() > len(in) {
		q.Only = func(id string) bool { return !in[id] }
		q.Offset, q.Limit = 0, 1
		if r, err = s.index.Search(ctx, q); err != nil {
			return nil, err
		}
		f.Elsewhere = r.Total
	}
	return f, nil
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
		if hasLeft(f) {
			in[f.Entry] = true
		}
	}
	return in, nil
}

// hasLeft reports whether an entry was in the context and is not there word for word any
// more.
func hasLeft(f compact.Fate) bool {
	return f.Fate == compact.FateSummarized || f.Fate == compact.FateEdited ||
		f.Fate == compact.FateExcluded && (f.Why == compact.WhyOmitted || f.Why == compact.WhyOlder)
}

// maxSearched is how much of one message that is kept beside the log is searched, in
// bytes.
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

// maxToolRecall is the most characters of an answer: a page must not fill the window that
// it is read in.
const maxToolRecall = 40_000

// RecallTool answers a call of the tool that recall.AgentTool describes. An error is in
// words for the model.
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
	if a.ID != "" {
		text, err := s.toolRecall(ctx, a)
		return text, failed(op, a.ID, err)
	}
	text, err := s.toolSearch(ctx, a)
	return text, failed(op, a.Query, err)
}

type recallArguments struct {
	ID, Query        string
	Role, Tool, Path string
	Offset, Limit    int
	Raw, Left, All   bool
}

// parseRecallArguments reads the arguments of a call. Models write numbers and booleans
// as strings at times, and null for what they leave out; members that are not known are
// passed over.
func parseRecallArguments(data json.RawMessage) (a recallArguments, err error) {
	bad := func(name, want string) error {
		return &Error{Op: "recall", Subject: name, Err: errors.New("the argument is no " + want), Hint: `call it with {"id": "1a2b3c4d"} or {"query": "words"}`}
	}
	if end, scanErr := jsonx.Scan(data, 0); scanErr != nil || jsonx.Space(data, end) != len(data) || !jsonx.IsObject(data[jsonx.Space(data, 0):]) {
		return a, bad("arguments", "JSON object")
	}
	fields := map[string]any{
		"id": &a.ID, "query": &a.Query, "role": &a.Role, "tool": &a.Tool, "path": &a.Path,
		"offset": &a.Offset, "limit": &a.Limit, "raw": &a.Raw, "left": &a.Left, "all": &a.All,
	}
	jsonx.Members(data[jsonx.Space(data, 0):], func(key, val []byte) bool {
		if jsonx.IsNull(val) {
			return true
		}
		name := string(key)
		text, isText := jsonx.String(val)
		word := strings.TrimSpace(text)
		if !isText {
			word = strings.TrimSpace(string(val))
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
	if err != nil {
		return a, err
	}
	if role := message.Role(a.Role); a.Role != "" && !role.Known() {
		return a, bad("role "+a.Role, "role of a message")
	}
	if a.Left && a.All {
		return a, &Error{Op: "recall", Err: errors.New("left and all are both true: what left the context is a part of this branch, all are all branches"), Hint: "call it again with one of them"}
	}
	if a.ID == "" && a.Query == "" && a.Role == "" && a.Tool == "" && a.Path == "" {
		return a, &Error{Op: "recall", Err: recall.ErrNoQuery, Hint: `call it with {"id": "1a2b3c4d"} or {"query": "words"}`}
	}
	return a, nil
}

func (s *Session) toolRecall(ctx context.Context, a recallArguments) (string, error) {
	most := min(a.Limit, maxToolRecall)
	r, err := s.recallText(ctx, a.ID, RecallOptions{Offset: a.Offset, Max: most, Raw: a.Raw})
	if err != nil {
		return "", err
	}
	what := "#" + recall.Handle(a.ID)
	if len(r.Entries) == 1 {
		what = "#" + r.Entries[0]
	}
	if who := speaker(r.Role, r.Tool); who != "" {
		what += " " + who
	}
	end := r.Total
	if r.Next > 0 {
		end = r.Next
	}
	what += fmt.Sprintf(": characters %d to %d of %d", r.Offset, end, r.Total)
	if r.Next > 0 {
		what += fmt.Sprintf("; go on with offset %d", r.Next)
	}
	if r.Purged {
		what += "; a part of it was purged and can't be had back"
	}
	if r.Excerpt {
		what += "; an excerpt, the whole was purged or lost"
	}
	return recall.ResultLine(what) + r.Text, nil
}

func (s *Session) toolSearch(ctx context.Context, a recallArguments) (string, error) {
	q := Query{Text: a.Query, Tool: a.Tool, Path: a.Path, Offset: a.Offset, Limit: a.Limit}
	if a.Role != "" {
		q.Roles = []message.Role{message.Role(a.Role)}
	}
	switch {
	case a.Left:
		q.Scope = ScopeLeft
	case a.All:
		q.Scope = ScopeAll
	}
	f, err := s.search(ctx, q)
	if err != nil {
		return "", err
	}
	what := fmt.Sprintf("search: %d found", f.Total)
	if n := len(f.Hits); n > 0 && n < f.Total {
		what += fmt.Sprintf(", %d to %d here", f.Offset+1, f.Offset+n)
	}
	if f.Next > 0 {
		what += fmt.Sprintf("; go on with offset %d", f.Next)
	}
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
		where := ""
		if here != nil && !here[h.Entry] {
			where = ", on a branch that was left" // it may not hold any more
		}
		fmt.Fprintf(&b, "#%s %s, turn %d, at character %d of %d%s\n  %s\n", h.Entry, hitSpeaker(h), h.Turn, h.Offset, h.Size, where, h.Snippet)
	}
	return b.String(), nil
}

func hitSpeaker(h Hit) string {
	who := speaker(h.Role, strings.Join(h.Tools, ", "))
	if h.Role == message.RoleAssistant && len(h.Tools) > 0 {
		who += " calling " + strings.Join(h.Tools, ", ")
	}
	return who
}
