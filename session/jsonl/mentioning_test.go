package jsonl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session/jsonl"
)

// Mentioning gives, newest first, those entries of All whose records hold the text,
// whatever the damage, and reads no further back than it is asked to.
func TestMentioningIsAllThatMentions(t *testing.T) {
	for seed := range uint64(40) {
		data := sessiongen.Generate(seed, sessiongen.Options{Entries: 30}).Bytes()
		if seed%2 == 1 {
			data, _ = sessiongen.Damage(seed, data)
		}
		f, err := jsonl.Read(ctx, "x", strings.NewReader(string(data)))
		if err != nil {
			continue // not every damage leaves a session
		}
		for _, texts := range [][]string{{`"label"`}, {`"session_info"`, `"role":"user"`}, {"{"}, {"nowhere in it"}, nil} {
			var want, got []string
			for e, err := range f.All(ctx) {
				must(t, err)
				if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(string(e.Raw()), t) }) {
					want = append(want, string(e.Raw()))
				}
			}
			for e, err := range f.Mentioning(ctx, texts...) {
				must(t, err)
				got = append(got, string(e.Raw()))
			}
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %q: %d entries, want %d", seed, texts, len(got), len(want))
			}
		}
	}
}

// What is asked for is at the end, so the beginning of the file is never read.
func TestMentioningReadsBackwards(t *testing.T) {
	var b strings.Builder
	b.WriteString(lines(head3))
	parent := ""
	for n := range 40_000 {
		id := fmt.Sprint("e", n)
		b.WriteString(lines(msg(id, parent)))
		parent = id
	}
	r := &countingReader{r: strings.NewReader(b.String())}
	f, err := jsonl.Read(ctx, "x", strings.NewReader(b.String()))
	must(t, err)
	jsonl.ReadFrom(f, r)
	for e, err := range f.Mentioning(ctx, `"e39990"`) {
		must(t, err)
		if e.ID == "e39990" {
			break
		}
	}
	if r.n == 0 || r.n > b.Len()/4 {
		t.Errorf("%d of %d bytes were read", r.n, b.Len())
	}
}

// All parses each record once: reading a record again costs no walk over its bytes.
func BenchmarkAll(b *testing.B) {
	data := sessiongen.Generate(1, sessiongen.Options{Entries: 3000, WellFormed: true}).Bytes()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		f, err := jsonl.Read(ctx, "x", strings.NewReader(string(data)))
		must(b, err)
		for _, err := range f.All(ctx) {
			must(b, err)
		}
	}
}

type countingReader struct {
	r *strings.Reader
	n int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += n
	return n, err
}
