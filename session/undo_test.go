package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// pass appends a compaction as a pass of clew, or as pi would: alone.
func pass(t testing.TB, log *session.Log, summary, kept string) {
	t.Helper()
	_, err := log.AppendPass(context.Background(), "", session.PassInfo{Reason: "manual"},
		session.NewCompaction(session.Compaction{Summary: summary, FirstKeptEntryID: kept}))
	if err != nil {
		t.Fatal(err)
	}
}

func undo(t testing.TB, log *session.Log, opt session.UndoOptions) session.Undone {
	t.Helper()
	u, err := log.Undo(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func want(t testing.TB, log *session.Log, context string) {
	t.Helper()
	if got := shows(t, log); got != context {
		t.Fatalf("the context is %q, want %q", got, context)
	}
}

func TestUndoWithoutAPass(t *testing.T) {
	log := testLog(t)
	for _, d := range []session.Draft{{}, user("a"), session.NewContextEdit(session.ContextEdit{TargetID: "e1", Omit: true}), session.NewLabel("e1", "x")} {
		if d.Type != "" {
			appendAll(t, log, d)
		}
		leaf := log.Leaf()
		_, err := log.Undo(context.Background(), session.UndoOptions{KeepLater: true})
		var rich *session.Error
		if !errors.Is(err, session.ErrNothingToUndo) || !errors.As(err, &rich) || rich.Hint == "" {
			t.Fatalf("error %v", err)
		}
		if log.Leaf() != leaf {
			t.Fatal("the leaf moved")
		}
	}
}

func TestUndoAndRedo(t *testing.T) {
	log := testLog(t)
	appendAll(t, log, user("a"), answer("b"), user("c"))
	pass(t, log, "sum", "e3")
	want(t, log, "[sum] c")
	for n := range 3 {
		u := undo(t, log, session.UndoOptions{})
		if u.Redo || u.Pass != "e4" || u.Kept != 0 || u.Leaf != log.Leaf() {
			t.Fatalf("undo %d: %+v", n, u)
		}
		want(t, log, "a b c")
		if u := undo(t, log, session.UndoOptions{}); !u.Redo || u.Pass != "e4" {
			t.Fatalf("redo %d: %+v", n, u)
		}
		want(t, log, "[sum] c")
		log = logOn(t, log.Store()) // the leaf survives
	}
}

// TestUndoInACopyOfThePath: what an undo has left is not in a log that has the path
// alone, so there is no way back to it.
func TestUndoInACopyOfThePath(t *testing.T) {
	log := testLog(t)
	appendAll(t, log, user("a"), user("b"))
	pass(t, log, "sum", "e2")
	undo(t, log, session.UndoOptions{})
	path, err := log.Path(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	log = testLog(t, path...)
	want(t, log, "a b")
	if u, err := log.Undo(context.Background(), session.UndoOptions{}); !errors.Is(err, session.ErrNothingToUndo) {
		t.Errorf("%+v, %v", u, err)
	}
	want(t, logOn(t, log.Store()), "a b")
}

func TestUndoTakesTheLatestPassOnly(t *testing.T) {
	log := testLog(t)
	appendAll(t, log, user("a"), user("b"))
	pass(t, log, "one", "e2")
	appendAll(t, log, user("c"))
	pass(t, log, "two", "e5")
	want(t, log, "[two] c")
	undo(t, log, session.UndoOptions{})
	want(t, log, "[one] b c")
	undo(t, log, session.UndoOptions{}) // of an undo: a redo
	want(t, log, "[two] c")
}

func TestUndoOfAnotherProgramsCompaction(t *testing.T) {
	compaction := func(sum, kept string) session.Draft {
		return session.NewCompaction(session.Compaction{Summary: sum, FirstKeptEntryID: kept})
	}
	t.Run("alone", func(t *testing.T) {
		log := testLog(t)
		appendAll(t, log, user("a"), user("b"), compaction("pi", "e2"))
		undo(t, log, session.UndoOptions{})
		want(t, log, "a b")
		undo(t, log, session.UndoOptions{})
		want(t, log, "[pi] b")
	})
	t.Run("right after a pass", func(t *testing.T) {
		log := testLog(t)
		appendAll(t, log, user("a"), user("b"))
		pass(t, log, "clew", "e2")
		appendAll(t, log, compaction("pi", ""))
		want(t, log, "[pi]")
		undo(t, log, session.UndoOptions{})
		want(t, log, "[clew] b")
	})
	t.Run("after edits that are no pass", func(t *testing.T) {
		log := testLog(t)
		appendAll(t, log, user("a"), answer("failed"),
			session.NewContextEdit(session.ContextEdit{TargetID: "e2", Omit: true}), answer("b"), compaction("pi", "e4"))
		undo(t, log, session.UndoOptions{})
		want(t, log, "a b")
	})
}

func TestUndoOfEdits(t *testing.T) {
	log := testLog(t)
	appendAll(t, log, user("a"), answer("b"))
	_, err := log.AppendPass(context.Background(), "e2", session.PassInfo{},
		session.NewContextEdit(session.ContextEdit{TargetID: "e1", Content: []byte(`"A"`)}),
		session.NewContextEdit(session.ContextEdit{TargetID: "e2", Omit: true}))
	if err != nil {
		t.Fatal(err)
	}
	want(t, log, "A")
	appendAll(t, log, session.NewLabel("e1", "a label is no message"))
	undo(t, log, session.UndoOptions{})
	want(t, log, "a b")
}

func TestUndoWithLaterMessages(t *testing.T) {
	log := testLog(t)
	appendAll(t, log, user("a"), user("b"))
	pass(t, log, "sum", "e2") // e3, e4
	appendAll(t, log, user("c"), answer("d"))
	appendAll(t, log, session.NewContextEdit(session.ContextEdit{TargetID: "e6", Content: []byte(`"D"`)}))
	want(t, log, "[sum] b c D")
	leaf := log.Leaf()
	_, err := log.Undo(context.Background(), session.UndoOptions{})
	var later *session.LaterError
	if !errors.As(err, &later) || later.Messages != 2 || later.Edits != 1 || later.Pass != "e3" || later.Error() == "" {
		t.Fatalf("error %v", err)
	}
	if log.Leaf() != leaf {
		t.Fatal("the leaf moved")
	}
	u := undo(t, log, session.UndoOptions{KeepLater: true})
	if u.Kept != 3 {
		t.Fatalf("%+v", u)
	}
	// The copied edit names the copy of its target.
	want(t, log, "a b c D")
	want(t, logOn(t, log.Store()), "a b c D")
}

func TestPassRefusesWhatIsNoPass(t *testing.T) {
	ctx := context.Background()
	log := testLog(t)
	appendAll(t, log, user("a"))
	compaction := session.NewCompaction(session.Compaction{Summary: "s"})
	for what, drafts := range map[string][]session.Draft{
		"nothing":         nil,
		"a message":       {user("x")},
		"a label":         {compaction, session.NewLabel("e1", "x")},
		"another's state": {compaction, session.NewCustom("todo", nil)},
		"a pass":          {session.NewCustom(session.CustomPass, []byte(`{"lines":1}`)), compaction},
		"a leaf":          {session.NewCustom(session.CustomLeaf, nil)},
		"two compactions": {compaction, compaction},
	} {
		if _, err := log.AppendPass(ctx, "e1", session.PassInfo{}, drafts...); err == nil || !strings.HasPrefix(err.Error(), "append pass: ") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if log.Leaf() != "e1" {
		t.Error("something was written")
	}
	entries, err := log.AppendPass(ctx, "e1", session.PassInfo{Reason: "threshold", Edits: []string{"offload"}},
		session.NewContextEdit(session.ContextEdit{TargetID: "e1", Omit: true}), compaction, session.NewCustom("clew.note", []byte(`1`)))
	if err != nil {
		t.Fatal(err)
	}
	info, ok := entries[0].Pass()
	if !ok || info.Lines != 3 || info.Reason != "threshold" || len(info.Edits) != 1 {
		t.Errorf("%+v %v", info, ok)
	}
	for i, e := range entries {
		if session.PassEntry(e) != (i > 0) {
			t.Errorf("PassEntry(%s) = %v", e.Raw(), i == 0)
		}
	}
	if c, _ := entries[2].Compaction(); c.FirstKeptEntryID != entries[2].ID {
		t.Errorf("a compaction that keeps nothing names %q, not itself", c.FirstKeptEntryID)
	}
}

func TestNavigate(t *testing.T) {
	ctx := context.Background()
	log := testLog(t)
	appendAll(t, log, user("a"), answer("b"), user("c"))
	if err := log.Navigate(ctx, "nowhere", "test"); !errors.Is(err, session.ErrNotFound) {
		t.Fatalf("error %v", err)
	}
	want(t, log, "a b c")
	for target, context := range map[string]string{"e1": "a", "e3": "a b c", "": ""} {
		if err := log.Navigate(ctx, target, "test"); err != nil {
			t.Fatal(err)
		}
		want(t, log, context)
		want(t, logOn(t, log.Store()), context) // where pi stands, too: the last record
		last, _ := log.Store().Last(ctx)
		if last.ParentID != target {
			t.Errorf("the leaf entry hangs under %q, want %q", last.ParentID, target)
		}
	}
	appendAll(t, log, user("new root's child"))
	if err := log.Navigate(ctx, "e2", "back"); err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, user("d"))
	want(t, log, "a b d")
}

// The beginning of a pass is never left alone at the end of a log, where it
// would count as a pass that was not written to its end.
func TestUndoFromInsideAPass(t *testing.T) {
	ctx := context.Background()
	log := testLog(t)
	appendAll(t, log, user("a"))
	pass(t, log, "one", "e1") // e2, e3
	_, err := log.AppendPass(ctx, "", session.PassInfo{},
		session.NewContextEdit(session.ContextEdit{TargetID: "e1", Omit: true}),
		session.NewCompaction(session.Compaction{Summary: "two"})) // e4 to e6
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Navigate(ctx, "e4", "test"); err != nil {
		t.Fatal(err)
	}
	undo(t, log, session.UndoOptions{})
	want(t, log, "a")
	last, err := log.Store().Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := last.Pass(); ok {
		t.Errorf("the log ends with %s", last.Raw())
	}
	if _, err := log.Append(ctx, session.Again(parse(t, `{"type":"custom","customType":"clew.pass","data":{"lines":2}}`))); !errors.Is(err, session.ErrBadEntry) {
		t.Errorf("error %v", err)
	}
}

// What the model is not sent, such as a command that the user kept from it, closes no tool loop and divides none. What it
// is told in the middle of a loop divides it, also by a program. An answer that was cut short may be asked for again.
func TestUndoKeepsTheThinkingOfALoop(t *testing.T) {
	think := message.ThinkingBlock("hm", "sig")
	answer := func(stop message.StopReason, more message.Block) session.Draft {
		m := message.Assistant(testTime, think, more)
		m.StopReason = stop
		return session.Message(m)
	}
	call := func(id string) session.Draft {
		return answer(message.StopToolUse, message.ToolCallBlock(id, "read", nil))
	}
	result := func(id string) session.Draft {
		return session.Message(message.ToolResult(id, "read", "text", false, testTime))
	}
	hidden := session.Message(&message.Message{Role: message.RoleBashExecution, Command: "ls", ExcludeFromContext: true, Timestamp: 1})
	told := session.NewCustomMessage("note", []message.Block{message.TextBlock("the rules have changed")}, true, nil)
	before := answer(message.StopEnd, message.TextBlock("closed"))
	for name, c := range map[string]struct {
		later []session.Draft
		want  string
	}{
		"hidden":    {[]session.Draft{before, user("b"), call("k1"), result("k1"), hidden, call("k2"), result("k2"), hidden}, "false true true "},
		"told":      {[]session.Draft{before, user("b"), call("k1"), result("k1"), told, call("k2"), result("k2")}, "false false true "},
		"cut short": {[]session.Draft{user("b"), call("k1"), result("k1"), answer(message.StopLength, message.TextBlock("and"))}, "true true "},
		"closed":    {[]session.Draft{user("b"), call("k1"), result("k1"), before}, "false false "},
	} {
		log := testLog(t)
		appendAll(t, log, user("a"))
		pass(t, log, "sum", "e1") // e2, e3
		appendAll(t, log, c.later...)
		undo(t, log, session.UndoOptions{KeepLater: true})
		path, err := log.Path(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range path {
			if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant {
				got += fmt.Sprint(m.Content[0].Type == message.BlockThinking, " ")
			}
		}
		if got != c.want {
			t.Errorf("%s: thinking is there: %s, want %s", name, got, c.want)
		}
	}
}
