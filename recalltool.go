package clew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
)

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
