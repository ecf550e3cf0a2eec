package token_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/token"
)

// mixture returns text of many kinds put together.
func mixture(r *rand.Rand, pieces int) string {
	var b strings.Builder
	for range pieces {
		n := 1 + r.IntN(150)
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		switch r.IntN(10) {
		case 0:
			b.WriteString(base64.StdEncoding.EncodeToString(data))
		case 1:
			b.WriteString(hex.EncodeToString(data))
		case 2:
			b.Write(data) // most of it not UTF-8
		case 3:
			b.WriteString(strings.Repeat("文件修复", n/4))
		case 4:
			b.WriteString(strings.Repeat("0123456789abcdef"[r.IntN(16):][:1], n))
		case 5:
			b.WriteString("data:image/png;base64," + strings.Repeat("A", n))
		case 6:
			b.WriteString(strings.Repeat("🙂é ", n/4))
		case 7:
			b.WriteString(strings.Repeat("a1", n/2))
		default:
			b.WriteString(strings.Repeat("for i := range 10 {\n\t// go\n}", n/20))
		}
		b.WriteString([]string{"", "", " ", "\n", "."}[r.IntN(5)])
	}
	return b.String()
}

// A longer text never costs less than its beginning, and text put together costs
// what its parts cost, but for the rounding of each part.
func TestTextIsMonotoneAndAdditive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	for range 40 {
		s := mixture(r, 5)
		for _, c := range counters() {
			whole := c.Text(s)
			before := int64(0)
			for i := range len(s) {
				if got := c.Text(s[:i]); got < before {
					t.Fatalf("%s: %d bytes cost %d, one fewer %d: %q", c.Name(), i, got, before, s[:i])
				} else {
					before = got
				}
			}
			if whole < before {
				t.Fatalf("%s: the whole costs %d, less than its beginning", c.Name(), whole)
			}
			if whole < 0 || whole > 3*int64(len(s)) {
				t.Errorf("%s: %d bytes cost %d", c.Name(), len(s), whole)
			}
			// A blank ends every run, so nothing joins across it.
			other := mixture(r, 3)
			sum := c.Text(s+" ") + c.Text(other)
			if joined := c.Text(s + " " + other); joined > sum || joined < sum-1 {
				t.Errorf("%s: %d and %d cost %d together", c.Name(), c.Text(s+" "), c.Text(other), joined)
			}
		}
	}
}

func counters() []token.Counter {
	all := []token.Counter{token.Chars4()}
	for _, f := range families {
		all = append(all, token.Heuristic(f))
	}
	return all
}

// Over generated sessions: a reading adds up, nothing is negative, a context
// never gets cheaper by another message, and the same context costs the same.
func TestReadingsAddUp(t *testing.T) {
	sessions := 40
	if testing.Short() {
		sessions = 5
	}
	var stats sessiongen.Stats
	meters := []*token.Meter{
		meter(t, claude), meter(t, token.Config{}), meter(t, token.Config{Model: "gpt-5.5", System: "be brief", Tools: []byte(`[{"name":"a"}]`), AnyUsage: true}),
		meter(t, token.Config{Counter: token.Chars4(), AnyUsage: true}),
	}
	contexts, anchored := 0, 0
	for seed := range sessions {
		s := sessiongen.Generate(uint64(seed), sessiongen.Options{})
		stats.Merge(s.Stats)
		f, err := jsonl.Read(context.Background(), "generated", bytes.NewReader(s.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range f.All(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != "message" && e.Type != "compaction" {
				continue
			}
			msgs, fresh := project(t, f, e.ID)
			contexts++
			for _, m := range meters {
				r := m.Measure(msgs, fresh)
				if r.Anchor >= 0 {
					anchored++
				}
				checkReading(t, m, r, msgs)
			}
			if t.Failed() {
				t.Fatalf("seed %d, entry %s", seed, e.ID)
			}
		}
		f.Close()
	}
	t.Logf("%d contexts, %d readings anchored; %s", contexts, anchored, stats.Shares())
	for _, short := range stats.Below(map[sessiongen.Feature]float64{
		sessiongen.ParallelCalls: .5, sessiongen.Images: .3, sessiongen.CJK: .5, sessiongen.OddArguments: .2, sessiongen.SystemSections: .2, sessiongen.BashExcluded: .05,
	}) {
		t.Error(short)
	}
}

func checkReading(t *testing.T, m *token.Meter, r token.Reading, msgs []*message.Message) {
	t.Helper()
	if r.Tokens != r.Measured+r.Estimated || r.Categories.Total() != r.Tokens || r.Guarded() < r.Tokens {
		t.Errorf("%s: %+v adds up to %d, guarded %d", m.Name(), r, r.Categories.Total(), r.Guarded())
	}
	if r.Measured < 0 || r.Estimated < 0 || r.Bytes < 0 || (r.Anchor < 0) != (r.Measured == 0) {
		t.Errorf("%s: %+v", m.Name(), r)
	}
	for i, n := range r.Categories {
		if n < 0 {
			t.Errorf("%s: %v is %d", m.Name(), token.Category(i), n)
		}
	}
	for i, msg := range msgs {
		cost := m.Message(msg)
		if cost < 0 {
			t.Errorf("%s: message %d costs %d", m.Name(), i, cost)
		}
	}
	if again := m.Measure(msgs, max(r.Anchor, 0)); again != r && r.Anchor >= 0 {
		t.Errorf("%s: %+v, then %+v", m.Name(), r, again)
	}
}

// A message put behind others adds exactly what it costs alone.
func TestMeasureGrowsByTheMessage(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	for _, c := range []token.Config{claude, {Model: "gpt-5.5"}, {}, {Counter: token.Chars4()}} {
		m := meter(t, c)
		var msgs []*message.Message
		before := m.Measure(nil, 0).Tokens
		for range 30 {
			msg := message.User(mixture(r, 3), now)
			msgs = append(msgs, msg)
			after := m.Measure(msgs, 0).Tokens
			if after != before+m.Message(msg) {
				t.Fatalf("%s: from %d to %d by a message of %d", m.Name(), before, after, m.Message(msg))
			}
			before = after
		}
	}
}
