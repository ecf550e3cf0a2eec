package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
)

const (
	aKey      = "sk-ant-api03-Zk3vQ9bWm2xR7tYc5nLh8dPf1sGj4aUe"
	aPassword = "vR8#kLq2mZx9"
)

var withSecrets = `{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T15:02:01.000Z","cwd":"/work"}
{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-05T15:02:01.000Z","message":{"role":"user","content":"use ` + aKey + `, and no other"}}
{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-05T15:02:02.000Z","message":{"role":"assistant","api":"anthropic-messages","provider":"anthropic","model":"m","content":[{"type":"thinking","thinking":"the key ` + aKey + `","thinkingSignature":"c2ln"},{"type":"thinking","thinking":"nothing","thinkingSignature":"c2ln"},{"type":"toolCall","id":"` + aKey + `","name":"login","arguments":{"user":"me","password":"` + aPassword + `","n":[1.50,{"api_key":"Zk3vQ9bWm2xR7tYc5nLh8dPf"}]}}],"stopReason":"toolUse"}}
{"type":"message","id":"r1","parentId":"a1","timestamp":"2026-01-05T15:02:03.000Z","message":{"role":"toolResult","toolCallId":"` + aKey + `","toolName":"login","content":[{"type":"text","text":"+` + aKey + `"},{"type":"image","mimeType":"image/png","data":"` + strings.ReplaceAll(aKey, "-", "+") + `"}],"details":{"` + aKey + `":true},"isError":false}}
{"type":"message","id":"u2","parentId":"r1","timestamp":"2026-01-05T15:02:04.000Z","message":{"role":"user","content":"thank you"}}
`

func openSession(t *testing.T, data string) session.Store {
	t.Helper()
	f, err := jsonl.Read(t.Context(), "test", strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestRedacted(t *testing.T) {
	ctx := t.Context()
	s := openSession(t, withSecrets)
	r := transcript.Redact(s)
	var all strings.Builder
	for e, err := range r.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(e.Raw(), '\n'))
		byID, err := r.Get(ctx, e.ID)
		if err != nil || !bytes.Equal(byID.Raw(), e.Raw()) {
			t.Errorf("Get %s: %v", e.ID, err)
		}
	}
	out := all.String()
	for _, want := range []string{
		`"content":"use [redacted:key], and no other"`,
		`{"type":"thinking","thinking":"the key [redacted:key]"}`,
		`{"type":"thinking","thinking":"nothing","thinkingSignature":"c2ln"}`,
		`"arguments":{"user":"me","password":"[redacted:credential]","n":[1.50,{"api_key":"[redacted:credential]"}]}`,
		`"toolCallId":"` + aKey + `"`, `"id":"` + aKey + `"`,
		`"text":"+[redacted:key]"`, `"details":{"[redacted:key]":true}`,
		`"data":"` + strings.ReplaceAll(aKey, "-", "+") + `"`,
		`{"type":"message","id":"u2","parentId":"r1","timestamp":"2026-01-05T15:02:04.000Z","message":{"role":"user","content":"thank you"}}`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if n := r.Secrets(); n != 6 {
		t.Errorf("%d secrets, of which each counts once", n)
	}
	last, err := r.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := r.Parent(ctx, last); err != nil || !strings.Contains(string(p.Raw()), "[redacted:key]") {
		t.Errorf("the parent: %v", err)
	}
	if err := r.Append(ctx, nil, session.AppendOptions{}); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("Append: %v", err)
	}
	// The session itself is as it was.
	if e, err := s.Get(ctx, "u1"); err != nil || !strings.Contains(string(e.Raw()), aKey) {
		t.Errorf("the session was changed: %v", err)
	}
}

// In every form that can be written, a secret of the conversation is only where ids
// are, and the report counts them.
func TestSecretsInEveryForm(t *testing.T) {
	data := strings.NewReplacer(`"id":"`+aKey, `"id":"toolu_1`, `"toolCallId":"`+aKey, `"toolCallId":"toolu_1`).Replace(withSecrets)
	for _, f := range writable {
		for _, full := range []bool{false, true} {
			s := openSession(t, data)
			var plain, clean bytes.Buffer
			if _, err := transcript.Write(t.Context(), &plain, s, f, transcript.WriteOptions{Full: full}); err != nil {
				t.Fatal(err)
			}
			w, err := transcript.Write(t.Context(), &clean, transcript.Redact(s), f, transcript.WriteOptions{Full: full})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(plain.String(), aKey) || !strings.Contains(plain.String(), aPassword) {
				t.Errorf("%s: what is asked for whole has no secret", f)
			}
			if strings.Contains(clean.String(), aKey) || strings.Contains(clean.String(), aPassword) {
				t.Errorf("%s: a secret is in\n%s", f, clean.String())
			}
			if n := w.Report.Find("secret"); n == nil || n.Count != 6 || n.Class != transcript.Lost {
				t.Errorf("%s: the report says %v", f, n)
			}
		}
	}
}

// A session without secrets is the same, entry for entry; in all, tree, ids, kinds of
// messages and pairs of calls and results are.
func TestRedactedKeepsTheSession(t *testing.T) {
	changed := 0
	for seed := range uint64(60) {
		gen := sessiongen.Generate(seed, sessiongen.Options{})
		s := openSession(t, string(gen.Bytes()))
		r := transcript.Redact(s)
		var want []*session.Entry
		for e, err := range s.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, e)
		}
		i := 0
		for e, err := range r.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			w := want[i]
			i++
			if e.ID != w.ID || e.ParentID != w.ParentID || e.Type != w.Type || !json.Valid(e.Raw()) {
				t.Fatalf("seed %d: %s became %s", seed, w.Raw(), e.Raw())
			}
			if !bytes.Equal(e.Raw(), w.Raw()) {
				changed++
			}
		}
		if i != len(want) {
			t.Fatalf("seed %d: %d of %d entries", seed, i, len(want))
		}
	}
	t.Logf("%d entries had what looks like a secret", changed)
}

func FuzzRedacted(f *testing.F) {
	f.Add(`{"role":"user","content":"` + aKey + `"}`)
	for l := range strings.Lines(withSecrets) {
		f.Add(strings.TrimSpace(l))
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := session.ParseEntry([]byte(`{"type":"message","id":"a","parentId":null,"message":` + raw + `}`))
		if err != nil {
			return
		}
		before := string(e.Raw())
		r := transcript.Redact(session.NewMemory(session.Header{ID: "s", Version: 3}, e))
		got, err := r.Get(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Raw()) != before {
			t.Fatal("the entry was changed")
		}
		again, err := session.ParseEntry(got.Raw())
		if err != nil || again.ID != "a" || got.ID != "a" {
			t.Fatalf("%s became %s: %v", before, got.Raw(), err)
		}
		if m, err := e.Message(); err == nil {
			n, err := got.Message()
			if err != nil || n.Role != m.Role || len(n.Content) != len(m.Content) {
				t.Fatalf("%s became %s: %v", before, got.Raw(), err)
			}
		}
	})
}
