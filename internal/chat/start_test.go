package chat_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// longSession writes a session of about so many bytes, which was compacted now and then.
func longSession(b testing.TB, p *place, size int) string {
	b.Helper()
	path := p.path("long.jsonl")
	s, err := clew.Open(b.Context(), path, clew.Config{Cwd: p.path("project")})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.SetModel(b.Context(), "anthropic", "claude-sonnet-4-5"); err != nil {
		b.Fatal(err)
	}
	at := time.Unix(1_767_225_600, 0)
	text := strings.Repeat("The lock is taken in the reader and given back in the writer. ", 160)
	for i := 0; ; i++ {
		m := message.Assistant(at)
		m.Content, m.StopReason, m.Provider, m.Model = []message.Block{message.TextBlock(fmt.Sprint(i, text))}, message.StopEnd, "anthropic", "claude-sonnet-4-5"
		if _, err := s.Append(b.Context(), message.User(fmt.Sprint("question ", i), at), m); err != nil {
			b.Fatal(err)
		}
		if i%20 == 0 {
			if _, err := s.Prepare(b.Context()); err != nil {
				b.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() > int64(size) {
				break
			}
		}
	}
	// As an agent leaves it after a pass.
	if _, err := s.Record(b.Context(), session.NewCustom("clew.prompt", []byte(`{"system":"Be brief.","rules":{}}`))); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkStart is from nothing to a session that a prompt can be sent to, and, to compare,
// opening the file alone.
func BenchmarkStart(b *testing.B) {
	for _, mb := range []int{1, 10} {
		p := newPlace(b)
		path := longSession(b, p, mb<<20)
		b.Run(fmt.Sprintf("chat/%dMB", mb), func(b *testing.B) {
			for b.Loop() {
				c := p.config()
				c.File = path
				s, err := chat.Open(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("file/%dMB", mb), func(b *testing.B) {
			for b.Loop() {
				f, err := jsonl.Open(b.Context(), path, jsonl.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Last(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("engine/%dMB", mb), func(b *testing.B) {
			for b.Loop() {
				s, err := clew.Open(b.Context(), path, clew.Config{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Check(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("new/%dMB", mb), func(b *testing.B) {
			for b.Loop() {
				s, err := chat.Open(b.Context(), p.config())
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// TestModelsOfAFamilyAreOffered: rows of the catalogue that are patterns name models too.
func TestModelsOfAFamilyAreOffered(t *testing.T) {
	p := newPlace(t)
	s := p.open(nil)
	var got []string
	for _, m := range s.Models() {
		if strings.ContainsAny(m.Name, "*") || strings.HasSuffix(m.Name, "-") || slices.Contains(got, m.Name) {
			t.Errorf("%q can't be taken, or stands there twice", m.Name)
		}
		got = append(got, m.Name)
	}
	if !slices.Contains(got, "anthropic/claude-opus-4-5") {
		t.Errorf("no model of Anthropic: %q", got)
	}
}
