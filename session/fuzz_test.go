package session_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
)

func seedLines(f *testing.F) {
	for seed := range uint64(4) {
		s := sessiongen.Generate(seed, sessiongen.Options{Entries: 30, UserBytes: 50, AnswerBytes: 50, ResultBytes: 50})
		data := s.Bytes()
		for _, e := range s.Entries {
			f.Add(data[e.Start:e.End])
		}
	}
	for _, s := range []string{
		`{}`, `null`, `{"type":"context_edit","replacement":{"content":[1]}}`, `{"type":"compaction","systemMessage":{"role":"system"}}`,
		`{"type":"session","id":"x","version":1e9}`, `{"type":"session","id":"x","version":-1}`, "{\n}", `{"type":"custom","customType":"clew.pass","data":{"lines":1e300}}`,
	} {
		f.Add([]byte(s))
	}
}

// An entry keeps its bytes, but for line breaks between tokens, and all its
// views hold still on anything.
func FuzzParseEntry(f *testing.F) {
	seedLines(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		e, err := session.ParseEntry(data)
		if string(data) != before {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		end, err := jsonx.Scan(data, 0)
		if err != nil {
			t.Fatalf("%q is no JSON: %v", data, err)
		}
		raw := string(e.Raw())
		was := data[jsonx.Space(data, 0):end]
		if len(raw) != len(was) {
			t.Fatalf("%q became %q", was, raw)
		}
		for i := range was {
			if raw[i] != was[i] && (was[i] != '\n' || raw[i] != ' ') {
				t.Fatalf("%q became %q", was, raw)
			}
		}
		if again, err := session.ParseEntry(e.Raw()); err != nil || again.ID != e.ID || again.ParentID != e.ParentID || again.Type != e.Type {
			t.Fatalf("%q reads back as %+v, %v", raw, again, err)
		}
		_, _ = e.Message()
		_, _ = e.CustomMessage()
		_, _ = e.Compaction()
		_, _ = e.BranchSummary()
		_, _ = e.ContextEdit()
		_, _ = e.Custom()
		_, _ = e.Label()
		_, _ = e.ModelChange()
		_, _ = e.ThinkingLevel()
		_, _ = e.SessionName()
		_, _ = e.Pass()
		_ = e.UsageReport()
		_ = e.Time()
		_ = session.PassEntry(e)
		// It can be projected, beside an edit of it, and written again.
		edit, err := session.ParseEntry([]byte(`{"type":"context_edit","id":"x","targetId":` + string(jsonx.Quote(e.ID)) + `,"replacement":{"content":"new"}}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range session.Project([]*session.Entry{e, edit}).Items {
			if js := it.Message.JSON(); !json.Valid(js) {
				t.Fatalf("the message of %q is %q", raw, js)
			}
		}
		log, err := session.NewLog(context.Background(), session.NewMemory(session.Header{}), session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c, _ := e.Custom(); e.Type == "session" || c.CustomType == session.CustomPass {
			return
		}
		if _, err := log.Append(context.Background(), session.Again(e)); err != nil {
			t.Fatalf("a copy of %q: %v", raw, err)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	seedLines(f)
	f.Add([]byte(`{"type":"session","version":3,"id":"a","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/x"}`))
	f.Add([]byte(`{"type":"session","version":2,"version":"3","id":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := session.ParseHeader(data)
		if err != nil {
			return
		}
		if h.ID == "" {
			t.Fatalf("%q has no id", data)
		}
		v3, err := session.ParseHeader(h.JSON())
		if err != nil || v3.Version != session.Version || v3.ID != h.ID || v3.Cwd != h.Cwd || v3.ParentSession != h.ParentSession || !v3.Timestamp.Equal(h.Timestamp) {
			t.Fatalf("%q as version 3 is %q (%v)", data, h.JSON(), err)
		}
	})
}
