package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

// entryOf is the newest entry on the path whose text begins so.
func (r *rig) entryOf(text string) string {
	r.t.Helper()
	path, err := r.Path(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range slices.Backward(path) {
		if s.Message != nil && strings.HasPrefix(s.Message.Text(), text) {
			return s.ID
		}
	}
	r.t.Fatalf("nothing says %q", text)
	return ""
}

// TestPi108Pi112AndPi113Moves: to a message of the user is to before it, whose text comes
// back; also to the first; and the summary says where it comes from.
func TestPi108Pi112AndPi113Moves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, nil)
	for range 4 {
		r.srv.Add(modeltest.Text("An answer."))
	}
	r.say("first")
	r.say("second")
	leaf := r.State().Leaf
	b, err := r.Navigate(ctx, r.entryOf("second"), clew.BranchOptions{Summarize: true})
	if err != nil {
		t.Fatal(err)
	}
	if b.Text != "second" || b.Summary == nil || b.From != leaf {
		t.Errorf("%+v", b)
	}
	e, err := r.Session().Log().Store().Get(ctx, b.Entries[0])
	if err != nil {
		t.Fatal(err)
	}
	sum, ok := e.BranchSummary()
	if !ok || sum.FromID != leaf || e.ParentID == leaf || e.ParentID == b.Entries[0] {
		t.Errorf("the summary is from %s, under %s", sum.FromID, e.ParentID)
	}
	r.srv.NewConversation()
	r.say("second, differently")
	// To before the very first message, without a summary and with one.
	for _, summarize := range []bool{false, true} {
		path, err := r.Path(ctx)
		if err != nil {
			t.Fatal(err)
		}
		first := ""
		for _, s := range path {
			if s.Message != nil && s.Message.UserWords() {
				first = s.ID
				break
			}
		}
		b, err := r.Navigate(ctx, first, clew.BranchOptions{Summarize: summarize})
		if err != nil || b.Text == "" {
			t.Fatalf("to the first message: %+v, %v", b, err)
		}
		r.srv.NewConversation()
		r.srv.Add(modeltest.Text("Anew."))
		r.say("begin again")
	}
	nodes, err := r.Tree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leaves, onPath := 0, 0
	for _, n := range nodes {
		if n.Leaf {
			leaves++
		}
		if n.OnPath {
			onPath++
		}
	}
	if leaves != 1 || onPath == 0 || onPath == len(nodes) {
		t.Errorf("%d leaves, %d of %d on the path", leaves, onPath, len(nodes))
	}
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}

// TestPi109StoppedByAHook: the agent is free again afterwards.
func TestPi109StoppedByAHook(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	stop := true
	r := newRig(t, func(r *rig) {
		r.cfg.Engine.Hooks = []clew.Hooks{
			{BeforeBranch: func(context.Context, clew.BeforeBranchEvent) (clew.Decision, error) {
				return clew.Decision{Cancel: stop, Why: "not today"}, nil
			}},
			{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
				if stop {
					panic("oh")
				}
				return clew.Decision{}, nil
			}},
		}
	})
	r.srv.Add(modeltest.Text("An answer."), modeltest.Text("Another."))
	r.say("first")
	b, err := r.Navigate(ctx, r.entryOf("first"), clew.BranchOptions{})
	if err != nil || b.Why == "" {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := r.Compact(ctx, agent.CompactRequest{}); err != nil {
		t.Error(err)
	}
	if s := r.State(); s.Doing != agent.DoingNothing {
		t.Errorf("it is %s", s.Doing)
	}
	stop = false
	r.say("second")
	if b, err := r.Navigate(ctx, r.entryOf("second"), clew.BranchOptions{}); err != nil || b.Text != "second" {
		t.Errorf("%+v, %v", b, err)
	}
	r.fine()
}

// TestPi96MovedInTheMiddleOfATool: cancelled first, no call is left without a result.
func TestPi96MovedInTheMiddleOfATool(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	wait, _ := gate()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(modeltest.Text("An answer."), call("a", "wait"))
	r.say("first")
	r.send("second")
	r.until("call", running("wait"))
	if _, err := r.Navigate(ctx, r.entryOf("first"), clew.BranchOptions{}); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("while a tool runs: %v", err)
	}
	if _, err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	path, err := r.Path(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var there string
	for _, s := range path {
		if s.Message != nil && len(s.Message.ToolCalls()) > 0 {
			there = s.ID
		}
	}
	// To the call itself: its result is not on that path.
	if _, err := r.Navigate(ctx, there, clew.BranchOptions{}); err != nil {
		t.Fatal(err)
	}
	r.srv.NewConversation()
	r.srv.Add(modeltest.Text("Fine."))
	r.say("go on")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := filled(t, 6, small(12_000))
	if err := r.SetMode(ctx, permission.ModeEdits); err != nil { // which is written down at each move
		t.Fatal(err)
	}
	before := r.texts()
	if _, err := r.Undo(ctx, session.UndoOptions{}); !errors.Is(err, clew.ErrNothingToUndo) {
		t.Errorf("without a pass: %v", err)
	}
	preview, err := r.Compact(ctx, agent.CompactRequest{Preview: true})
	if err != nil || !preview.Act || preview.Summary == "" || len(preview.Entries) > 0 {
		t.Fatalf("%+v, %v", preview, err)
	}
	if !slices.Equal(r.texts(), before) {
		t.Error("a preview has changed the context")
	}
	edited := strings.Replace(preview.Summary, "## ", "## Edited by me CANARY\n\n## ", 1)
	done, err := r.Compact(ctx, agent.CompactRequest{Summary: edited, FirstKept: preview.FirstKept})
	if err != nil || !done.Act || done.FirstKept != preview.FirstKept || !strings.Contains(done.Summary, "CANARY") {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := r.Undo(ctx, session.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := r.texts(); !slices.Equal(got, before) {
		t.Errorf("after an undo the context is\n%q\nwant\n%q", got, before)
	}
	if u, err := r.Undo(ctx, session.UndoOptions{}); err != nil || !u.Redo {
		t.Fatal(u, err)
	}
	r.srv.Add(modeltest.Text("ok"))
	r.say("go on")
	var later *session.LaterError
	if _, err := r.Undo(ctx, session.UndoOptions{}); !errors.As(err, &later) {
		t.Errorf("with a turn after it: %v", err)
	}
	if _, err := r.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil {
		t.Fatal(err)
	}
	if got := r.users(); got[len(got)-1] != "go on" {
		t.Errorf("the user has said %q", got)
	}
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}

// TestPi72AndPi71Totals: they are of all that was spent, before passes and on other
// branches too, also after a restart; and the size of the context is known after a pass.
func TestPi72AndPi71Totals(t *testing.T) {
	t.Parallel()
	r := filled(t, 6, small(12_000))
	want := r.State().Totals
	if want.Requests != 7 || want.Output == 0 || want.Cost == 0 {
		t.Fatalf("%+v", want)
	}
	big := r.State().Tokens
	want.Passes = 1
	if _, err := r.Compact(context.Background(), agent.CompactRequest{}); err != nil {
		t.Fatal(err)
	}
	if s := r.State(); !s.Known || s.Tokens >= big || s.Measured {
		t.Errorf("after a pass: %+v", s)
	}
	if _, err := r.Navigate(context.Background(), "", clew.BranchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := r.State().Totals; got.Requests != want.Requests || got.Cost != want.Cost || got.Passes != 1 {
		t.Errorf("after a pass and a move: %+v, want %+v", got, want)
	}
	r.reopen()
	r.until("totals", func(e agent.Event) bool {
		return e.Kind == agent.KindState && r.State().Totals.Requests == want.Requests
	})
	got := r.State().Totals
	if fmt.Sprintf("%.6f", got.Cost) != fmt.Sprintf("%.6f", want.Cost) || got.Passes != 1 || got.ByModel["anthropic/"+modelName].Requests != want.Requests {
		t.Errorf("after a restart: %+v, want %+v", got, want)
	}
}

// TestPinNameLabel: they are written down.
func TestPinNameLabel(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, nil)
	r.srv.Add(modeltest.Text("An answer."))
	r.say("first")
	id := r.entryOf("An answer.")
	if err := errors.Join(r.Pin(ctx, id[:8], true), r.Label(ctx, id, "here"), r.Name(ctx, "my session")); err != nil {
		t.Fatal(err)
	}
	if r.Pin(ctx, "nosuch", true) == nil || r.Label(ctx, "nosuch", "x") == nil {
		t.Error("an entry that is not there was named")
	}
	r.reopen()
	nodes, err := r.Tree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(nodes, func(n agent.Node) bool { return n.ID == id && n.Label == "here" }) {
		t.Error("the label is gone")
	}
	x, err := r.Explain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(x.Fates, func(f compact.Fate) bool { return f.Entry == id && f.Pinned }) {
		t.Error("the pin is gone")
	}
	r.until("name", func(agent.Event) bool { return r.State().Name == "my session" })
}

// TestCompactWithinTheTarget: who asks for a pass gets one, also where none is needed.
func TestCompactWithinTheTarget(t *testing.T) {
	t.Parallel()
	r := filled(t, 5, nil)
	before := r.State().Tokens
	preview, err := r.Compact(context.Background(), agent.CompactRequest{Preview: true})
	if err != nil || !preview.Act {
		t.Fatalf("%+v, %v", preview, err)
	}
	done, err := r.Compact(context.Background(), agent.CompactRequest{Summary: preview.Summary, FirstKept: preview.FirstKept})
	if err != nil || !done.Act || done.FirstKept != preview.FirstKept {
		t.Fatalf("%+v, %v", done, err)
	}
	if now := r.State().Tokens; now > before*3/5 {
		t.Errorf("%d tokens, then %d", before, now)
	}
	r.srv.Add(modeltest.Text("ok"))
	r.say("go on")
	r.fine()
}

// TestTokensOfANewSession: what is sent beside the conversation counts from the start.
func TestTokensOfANewSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{reader(1)} })
	if s := r.State(); !s.Known || s.Tokens < 200 {
		t.Errorf("%+v", s)
	}
}

// TestUnknownID: the error says what was to be done, to what, and what to do, each once.
func TestUnknownID(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, nil)
	_, omit := r.Omit(ctx, "zzzz", "")
	for op, err := range map[string]error{"omit": omit, "pin": r.Pin(ctx, "zzzz", true), "label": r.Label(ctx, "zzzz", "here")} {
		if want := op + " zzzz: no such entry; take an id from the tree"; !errors.Is(err, session.ErrNotFound) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOmitARange: from one message to another, as the tree names them; undo brings them back.
func TestOmitARange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, nil)
	for range 4 {
		r.srv.Add(modeltest.Text("An answer."))
	}
	r.say("first")
	r.say("second")
	r.say("third")
	size := func() int {
		items, err := r.Session().Context(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return len(items)
	}
	before, first, second := size(), r.entryOf("first"), r.entryOf("second")
	for _, bad := range [][2]string{{"ffffffffffff", ""}, {first, r.entryOf("third")}, {"", ""}} {
		if rep, err := r.Omit(ctx, bad[0], bad[1]); err == nil || size() != before {
			t.Errorf("%v: %+v", bad, rep)
		}
	}
	rep, err := r.Omit(ctx, second[:10], first)
	if err != nil || !rep.Act || rep.After >= rep.Before || size() != before-3 {
		t.Fatalf("%+v, %v, %d messages of %d", rep, err, size(), before)
	}
	if rep, err := r.Omit(ctx, first, ""); err == nil {
		t.Errorf("it was in the context: %+v", rep)
	}
	r.srv.NewConversation()
	r.say("fourth")
	if _, err := r.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil || size() != before+2 {
		t.Errorf("%v, %d messages of %d", err, size(), before)
	}
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}
