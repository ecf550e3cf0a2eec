package compact_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

const writtenFile = "../testdata/pi/clew-written.jsonl"

// A file that clew wrote is opened by pi with the same entries in its context: the
// file of this test has pi's answers beside it, which the conformance tests of
// session/jsonl, token and compact compare with clew's. This test makes sure that
// clew still writes it byte for byte.
//
// After a change of what clew writes: UPDATE=1 go test ./compact -run Written,
// then sh scripts/pi/node.sh answers.mjs --out testdata/pi testdata/pi/clew-written.jsonl
func TestWrittenFileIsTheOnePiWasAskedAbout(t *testing.T) {
	got := writeSession(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(writtenFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(writtenFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("clew writes another file than the one pi was asked about; see the comment of this test\n%s", got)
	}
	if _, err := os.Stat(strings.TrimSuffix(writtenFile, ".jsonl") + ".golden.json"); err != nil {
		t.Error(err)
	}
}

// fixedSummary stands in for a summarizer, so that the file does not change when
// the deterministic one gets better.
type fixedSummary struct{}

func (fixedSummary) Name() string { return "fixed" }

func (fixedSummary) Summarize(_ context.Context, in summary.Input) (summary.Output, error) {
	text := fmt.Sprintf("## Goal\n- what %d messages said\n", len(in.Items)+len(in.Prefix))
	return summary.Output{Text: text, Tokens: 10, Summarizer: "fixed"}, nil
}

// fixedCounter stands in for the heuristic, so that the file does not change with its
// weights.
type fixedCounter struct{}

func (fixedCounter) Name() string { return "fixed" }

func (fixedCounter) Text(s string) int64 { return (fixedWeight(s) + 999) / 1000 }

func (fixedCounter) Message(m *message.Message) int64 {
	weight := int64(35_000) + fixedWeight(m.Command) + fixedWeight(m.Output) + fixedWeight(m.Summary)
	for i := range m.Content {
		weight += fixedWeight(m.Content[i].Text) + fixedWeight(m.Content[i].Name) + fixedWeight(string(m.Content[i].Arguments))
	}
	return (weight + 999) / 1000
}

func fixedWeight(s string) (weight int64) {
	for _, r := range s {
		switch {
		case r >= 0x80:
			weight += 1150
		case unicode.IsLetter(r):
			weight += 279
		case unicode.IsDigit(r):
			weight += 1150
		case r == ' ':
			weight += 145
		case r == '\n':
			weight += 770
		default:
			weight += 400
		}
	}
	return weight
}

func writeSession(t *testing.T) []byte {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	clock := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	tick := func() time.Time { clock = clock.Add(time.Second); return clock }
	ids := 0
	f, err := jsonl.Create(ctx, path, session.Header{Version: session.Version, ID: "clew-written", Timestamp: clock, Cwd: "/home/dev/project"}, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{Clock: tick, NewID: func() string { ids++; return fmt.Sprintf("%016x", ids) }})
	if err != nil {
		t.Fatal(err)
	}
	add := func(drafts ...session.Draft) {
		if _, err := log.Append(ctx, drafts...); err != nil {
			t.Fatal(err)
		}
	}
	add(session.Message(message.System("You are careful.", tick())))
	for n := range 6 {
		call := fmt.Sprintf("call_%d", n)
		answer := message.Assistant(tick(), message.ThinkingBlock("hm", "sig"), message.TextBlock("I look."),
			message.ToolCallBlock(call, "read", []byte(fmt.Sprintf(`{"path":"file%d.go"}`, n))))
		answer.API, answer.Provider, answer.Model = "anthropic-messages", "anthropic", "claude-opus-4-5"
		add(session.Message(message.User(fmt.Sprintf("question %d 请", n), tick())), session.Message(answer),
			session.Message(message.ToolResult(call, "read", strings.Repeat(fmt.Sprintf("line of file %d\n", n), 400), false, tick())))
		if n == 2 {
			code := 0
			add(session.Message(&message.Message{Role: message.RoleBashExecution, Command: "ls", Output: "a b c", ExitCode: &code, Timestamp: tick().UnixMilli()}))
		}
	}
	pass := func(policy compact.Policy) {
		policy.Summarizer = fixedSummary{}
		snap, err := compact.Load(ctx, f, log.Leaf(), &compact.Setup{
			Model: session.Model{Provider: "anthropic", ID: "claude-opus-4-5"}, Uncalibrated: true,
			Counter: func(session.Model) token.Counter { return fixedCounter{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := compact.Make(ctx, snap, compact.Request{Reason: compact.Manual, Policy: &policy})
		if err != nil || !plan.Act {
			t.Fatalf("%v %+v", err, plan)
		}
		if _, err := compact.Apply(ctx, log, plan); err != nil {
			t.Fatal(err)
		}
	}
	pass(compact.Policy{Window: 20_000, Target: compact.Tokens(9_000)}) // edits alone
	add(session.Message(message.User("and now?", tick())), session.Message(message.Assistant(tick(), message.TextBlock("Now this."))))
	pass(compact.Policy{Window: 20_000, Keep: compact.Tokens(2_000)}) // a compaction and edits of what it keeps
	add(session.NewLabel(log.Leaf(), "after the pass"), session.NewSessionInfo("written by clew"))
	if _, err := log.Undo(ctx, session.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	add(session.Message(message.User("on the old context", tick())))
	if err := log.Navigate(ctx, fmt.Sprintf("%016x", 5), "look back"); err != nil {
		t.Fatal(err)
	}
	add(session.Message(message.User("a branch", tick())), session.NewCustomMessage("note", []message.Block{message.TextBlock("noted")}, true, nil))
	if err := log.Navigate(ctx, "", "from the start"); err != nil {
		t.Fatal(err)
	}
	add(session.Message(message.User("another root", tick())))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
