package token_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/token"
)

// A running count gives at every length what Measure gives for that part of the context.
func TestRunningIsMeasure(t *testing.T) {
	ctx := context.Background()
	meters := map[string]token.Config{
		"heuristic": {Provider: "anthropic", Model: "claude-opus-4-5", System: "be brief", Tools: []byte(`[{"name":"read"}]`)},
		"chars4":    {Counter: token.Chars4(), AnyUsage: true},
		"unknown":   {},
	}
	anchored, systems, checked := 0, 0, 0
	for seed := range uint64(30) {
		gen := sessiongen.Generate(seed, sessiongen.Options{WellFormed: seed%2 == 0, PiSafe: true})
		f, err := jsonl.Read(ctx, "generated", bytes.NewReader(gen.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		last, err := f.Last(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.ContextAt(ctx, f, last.ID)
		if err != nil {
			t.Fatal(err)
		}
		var msgs []*message.Message
		fresh := 0
		for i, it := range c.Items {
			msgs = append(msgs, it.Message)
			if it.At < c.Boundary {
				fresh = i + 1
			}
			if it.Message.Role == message.RoleSystem {
				systems++
			}
		}
		for name, cfg := range meters {
			m, err := token.NewMeter(cfg)
			if err != nil {
				t.Fatal(err)
			}
			running := m.Running()
			for i, msg := range msgs {
				running.Add(msg, i >= fresh)
				want := m.Measure(msgs[:i+1], fresh)
				if got := running.Reading(); got != want {
					t.Fatalf("seed %d, %s, %d messages:\n got %+v\nwant %+v", seed, name, i+1, got, want)
				}
				checked++
				if want.Anchor >= 0 {
					anchored++
				}
			}
			var costs []int64
			for _, msg := range msgs {
				costs = append(costs, m.Message(msg))
			}
			if !slices.Equal(costs, running.Costs()) {
				t.Errorf("seed %d, %s: costs %v, want %v", seed, name, running.Costs(), costs)
			}
		}
	}
	t.Logf("%d readings, %d with an anchor, %d system messages", checked, anchored, systems)
	if checked < 1000 || anchored < 200 || systems < 10 {
		t.Error("too few of a kind to say anything")
	}
}

// Where the provider was sent less than the log holds, by its own context edits or through a
// gateway, what it reports says nothing about the log's context.
func TestUsageOfAShorterContextIsNoAnchor(t *testing.T) {
	m, err := token.NewMeter(token.Config{Provider: "anthropic", Model: "claude-opus-4-5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		input  int64
		anchor int
	}{{60_000, 1}, {30_000, 1}, {12_000, -1}} {
		msgs := []*message.Message{
			{Role: message.RoleUser, Content: []message.Block{message.TextBlock(strings.Repeat("some words of a long file\n", 10_000))}},
			{
				Role: message.RoleAssistant, Provider: "anthropic", Model: "claude-opus-4-5", StopReason: message.StopEnd,
				Content: []message.Block{message.TextBlock("done")}, Usage: &message.Usage{Input: c.input, Output: 5},
			},
		}
		r := m.Measure(msgs, 0)
		if r.Anchor != c.anchor {
			t.Errorf("%d tokens were reported: the anchor is %d, want %d; estimated %d", c.input, r.Anchor, c.anchor, r.Estimated)
		}
	}
}
