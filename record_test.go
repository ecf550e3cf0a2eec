package clew_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func recordSession(t *testing.T) (*clew.Session, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s, err := clew.Open(t.Context(), path, clew.Config{Provider: "anthropic", Model: "claude-sonnet-4-5"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, path
}

// TestAppendAs: the entry has the id, once.
func TestAppendAs(t *testing.T) {
	s, _ := recordSession(t)
	m := message.User("hello", time.UnixMilli(1))
	const id = "00112233aabbccdd"
	if err := s.AppendAs(t.Context(), id, m); err != nil {
		t.Fatal(err)
	}
	if s.Leaf() != id {
		t.Errorf("the leaf is %s", s.Leaf())
	}
	if err := s.AppendAs(t.Context(), id, m); !errors.Is(err, session.ErrDuplicateID) {
		t.Errorf("a second time: %v", err)
	}
	if err := s.AppendAs(t.Context(), "00112233aabbccde", nil); !errors.Is(err, clew.ErrBadMessage) {
		t.Errorf("nothing: %v", err)
	}
	items, err := s.Context(t.Context())
	if err != nil || len(items) != 1 || items[0].Entry.ID != id || items[0].Message.Text() != "hello" {
		t.Errorf("%+v, %v", items, err)
	}
}

// TestRecordAndOmit: what the model sees is changed by Omit alone.
func TestRecordAndOmit(t *testing.T) {
	s, _ := recordSession(t)
	ctx := t.Context()
	at := time.UnixMilli(1)
	call := message.Assistant(at, message.TextBlock("half an ans"), message.ToolCallBlock("c", "read", []byte("{}")))
	ids, err := s.Append(ctx, message.User("do it", at), call, message.ToolResult("c", "read", "text", false, at), message.Assistant(at, message.TextBlock("done")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Record(ctx, session.NewLabel(ids[0], "here"), session.NewCustom("mine", []byte("1"))); err != nil {
		t.Fatal(err)
	}
	for _, d := range []session.Draft{session.Message(call), session.NewContextEdit(session.ContextEdit{TargetID: ids[1], Omit: true})} {
		if _, err := s.Record(ctx, d); !errors.Is(err, session.ErrBadEntry) {
			t.Errorf("%s was recorded: %v", d.Type, err)
		}
	}
	if err := s.Omit(ctx, ids[0]); err == nil {
		t.Error("the user's words were taken out")
	}
	if err := s.Omit(ctx, ids[2]); err == nil {
		t.Error("a result was parted from its call")
	}
	if err := s.Omit(ctx, ids[1], "nowhere"); err != nil {
		t.Fatal(err)
	}
	items, err := s.Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		got = append(got, it.Entry.ID)
	}
	if !slices.Equal(got, []string{ids[0], ids[3]}) {
		t.Errorf("the context has %v of %v", got, ids)
	}
	if _, err := s.Prepare(ctx); err != nil {
		t.Error(err)
	}
	m, err := s.Recall(ctx, ids[1])
	if err != nil || m.Text() != "half an ans" {
		t.Errorf("recalled %v, %v", m, err)
	}
}

// TestPromptAndLimitsWhileInUse: what Check says follows them.
func TestPromptAndLimitsWhileInUse(t *testing.T) {
	s, _ := recordSession(t)
	ctx := t.Context()
	if _, err := s.Append(ctx, message.User("hello", time.UnixMilli(1))); err != nil {
		t.Fatal(err)
	}
	check := func() *compact.Plan {
		t.Helper()
		p, err := s.Check(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := check()
	if before.Budget.Window != compact.DefaultWindow || before.Threshold() != before.Budget.Limit {
		t.Errorf("%+v", before)
	}
	if err := s.SetPrompt(ctx, string(make([]byte, 4_000)), []byte(`[{"name":"read"}]`)); err != nil {
		t.Fatal(err)
	}
	if now := check(); now.Before.Tokens <= before.Before.Tokens {
		t.Errorf("%d tokens, and %d with a prompt", before.Before.Tokens, now.Before.Tokens)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Check(done); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: %v", err)
	}
}

// TestSuppliedSummary: a summary of the caller's is taken, with the user's words.
func TestSuppliedSummary(t *testing.T) {
	s, _ := recordSession(t)
	ctx := t.Context()
	at := time.UnixMilli(1)
	for i := range 12 {
		u := message.User("do part "+string(rune('a'+i)), at)
		if _, err := s.Append(ctx, u, message.Assistant(at, message.TextBlock(string(make([]byte, 8_000))+"done"))); err != nil {
			t.Fatal(err)
		}
	}
	usage := &message.Usage{Input: 100, Output: 10, Cost: 0.5}
	opt := clew.CompactOptions{Keep: compact.Tokens(3_000), Summary: &clew.SuppliedSummary{Text: "What happened, in my words.", By: "me", Usage: usage}, DryRun: true}
	preview, err := s.Compact(ctx, opt)
	if err != nil || !preview.Plan.Act || preview.Plan.Summary.Summarizer != "me" {
		t.Fatalf("%+v, %v", preview, err)
	}
	opt.DryRun, opt.FirstKept = false, preview.Plan.Cut.FirstKept
	r, err := s.Compact(ctx, opt)
	if err != nil || r.Plan.Cut.FirstKept != opt.FirstKept || r.Plan.Summary.Usage != usage {
		t.Fatalf("%+v, %v", r, err)
	}
	items, err := s.Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in my words", "do part a"} {
		if !strings.Contains(items[0].Message.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, items[0].Message.Summary)
		}
	}
}

// TestOmissionTakesOutWhatTheUserNames: with the other halves of calls, as a pass that Undo takes back; what a summary is
// made of later is without it, and what must stay is refused whole.
func TestOmissionTakesOutWhatTheUserNames(t *testing.T) {
	s, _ := recordSession(t)
	ctx := t.Context()
	at := time.UnixMilli(1)
	call := message.Assistant(at, message.TextBlock("let me see"), message.ToolCallBlock("c", "read", []byte("{}")))
	ids, err := s.Append(ctx, message.User("do it the wrong way", at), call, message.ToolResult("c", "read", "text", false, at),
		message.Assistant(at, message.TextBlock("done wrong")), message.User("and now right", at), message.Assistant(at, message.ThinkingBlock("hm", "sig"), message.TextBlock("done")))
	if err != nil {
		t.Fatal(err)
	}
	in := func() (out []int) {
		t.Helper()
		items, err := s.Context(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			out = append(out, slices.Index(ids, it.Entry.ID))
		}
		return out
	}
	if err := s.Pin(ctx, ids[3]); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []int{3, 4} { // pinned, the last message of the user
		if r, err := s.Compact(ctx, clew.CompactOptions{Omit: []string{ids[0], ids[bad]}}); err == nil {
			t.Errorf("%d was taken out: %+v", bad, r.Plan)
		}
	}
	if r, err := s.Compact(ctx, clew.CompactOptions{Omit: []string{"nowhere"}}); err != nil || r.Plan.Act || len(in()) != 6 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err := s.Compact(ctx, clew.CompactOptions{Omit: []string{ids[0], ids[2]}})
	if err != nil || r.Plan.Reason != compact.Omission || r.Plan.After.Tokens >= r.Plan.Before.Tokens || len(r.Plan.Stages) != 2 || r.Plan.Stages[1].Name != "omit" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := in(); !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("the context has %v", got)
	}
	items, _ := s.Context(ctx)
	if last := items[len(items)-1].Message; len(last.Content) != 1 {
		t.Errorf("the reasoning behind it is still there: %+v", last)
	}
	if plan, err := s.Check(ctx); err != nil || plan.Act {
		t.Errorf("another pass is due: %+v, %v", plan, err)
	}
	r, err = s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(1), DryRun: true})
	if err != nil || r.Plan.Summary != nil && strings.Contains(r.Plan.Summary.Text, "wrong way") {
		t.Errorf("a summary tells of it: %+v, %v", r, err)
	}
	for _, want := range [][]int{{0, 1, 2, 3, 4, 5}, {3, 4, 5}} {
		if _, err := s.Undo(ctx, session.UndoOptions{}); err != nil || !slices.Equal(in(), want) {
			t.Errorf("%v after an undo: %v", in(), err)
		}
	}
}
