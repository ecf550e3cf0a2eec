package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rules"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

const canary = "Never use tabs in the file CANARY-7."

// ruled has a project with a rules file.
func ruled(dir string) func(*rig) {
	return func(r *rig) {
		r.cfg.Rules = func() (rules.Set, error) { return rules.Read(rules.Config{Dir: dir}) }
	}
}

func writeRules(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestD43AndD45RulesInEveryRequest: on every way to a request the rules are there, word for
// word, once (D-46).
func TestD43AndD45RulesInEveryRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, canary)
	r := newRig(t, func(r *rig) {
		ruled(dir)(r)
		small(12_000)(r)
		r.cfg.Tools = []tool.Tool{reader(100)}
	})
	calls := 60 // many passes between results and requests
	if testing.Short() {
		calls = 24
	}
	for i := range calls {
		r.srv.Add(spoken(fmt.Sprint("c", i), "read"))
	}
	r.srv.Add(modeltest.Text("Read."))
	r.say("go")
	cut := modeltest.Truncated("Hm")
	r.srv.Add(modeltest.Overflow(10_000, 7_500), cut, modeltest.Text("ok"), modeltest.Text("ok"))
	r.say("on an overflow, and after a cut")
	if _, err := r.Compact(context.Background(), agent.CompactRequest{}); err != nil {
		t.Fatal(err)
	}
	r.say("after a pass")
	if n := r.passes(); n < calls/6 {
		t.Errorf("%d passes, want %d", n, calls/6)
	}
	for i, x := range r.srv.Exchanges() {
		if n := strings.Count(string(x.Request), "CANARY-7"); n != 1 {
			t.Errorf("request %d has the rules %d times", i, n)
		}
	}
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}

// TestRulesThatChange: between two passes the model is told at the end, so that requests
// begin as before; a pass takes them into the prompt, and what was told goes.
func TestRulesThatChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "old rule")
	r := newRig(t, func(r *rig) { ruled(dir)(r); small(12_000)(r) })
	for range 4 {
		r.srv.Add(modeltest.Text(words(9_000)))
	}
	r.say("one")
	writeRules(t, dir, "new rule CANARY-8")
	r.say("two")
	r.say("three")
	xs := r.srv.Exchanges()
	last := string(xs[2].Request)
	if !xs[1].Kept || !xs[2].Kept {
		t.Error("the request does not begin as the one before")
	}
	if strings.Count(last, "CANARY-8") != 1 || !strings.Contains(last, "old rule") {
		t.Errorf("the change is not told once: %d", strings.Count(last, "CANARY-8"))
	}
	r.reopen()
	if c, err := r.Compact(context.Background(), agent.CompactRequest{}); err != nil || !c.Act {
		t.Fatal(err, c)
	}
	r.say("four")
	last = string(r.srv.Exchanges()[3].Request)
	if strings.Count(last, "CANARY-8") != 1 || strings.Contains(last, "old rule") {
		t.Errorf("after a pass the rules are not those of the file, %d times", strings.Count(last, "CANARY-8"))
	}
	r.fine()
}

// TestPromptIsThatOfTheSession: after a restart requests begin as before it.
func TestPromptIsThatOfTheSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "old rule")
	r := newRig(t, ruled(dir))
	r.srv.Add(modeltest.Text("1"), modeltest.Text("2"))
	r.say("one")
	writeRules(t, dir, "new rule")
	r.reopen()
	r.say("two")
	if x := r.srv.Exchanges()[1]; !x.Kept || !strings.Contains(string(x.Request), "new rule") {
		t.Errorf("kept %v: %s", x.Kept, x.Request)
	}
	r.fine()
}

// TestD47ModeOutlivesEverything: what may be done is decided outside of the prompt, and is
// the same after passes and a restart.
func TestD47ModeOutlivesEverything(t *testing.T) {
	t.Parallel()
	write := &fake{name: "write", kind: tool.Write}
	r := newRig(t, func(r *rig) {
		small(12_000)(r)
		guard, err := permission.New(permission.Config{Mode: permission.ModeAsk, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		r.cfg.Guard = guard
		r.cfg.Tools = []tool.Tool{write, reader(100)}
	})
	if err := r.SetMode(context.Background(), permission.ModePlan); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		r.srv.Add(spoken(string(rune('A'+i)), "read"))
	}
	r.srv.Add(call("w1", "write"), modeltest.Text("I may not."))
	r.say("plan it")
	if r.passes() == 0 {
		t.Fatal("no pass was made")
	}
	if _, err := r.Undo(context.Background(), session.UndoOptions{KeepLater: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Navigate(context.Background(), r.entryOf("plan it"), clew.BranchOptions{}); err != nil {
		t.Fatal(err)
	}
	r.srv.NewConversation()
	guard, err := permission.New(permission.Config{Mode: permission.ModeAll, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Guard = guard
	r.reopen()
	if m := r.State().Mode; m != permission.ModePlan {
		t.Errorf("after a restart the mode is %s", m)
	}
	r.srv.Add(call("w2", "write"), modeltest.Text("I may not."))
	r.say("write it")
	if write.ran.Load() != 0 {
		t.Errorf("write ran %d times in plan mode", write.ran.Load())
	}
	r.fine()
}

// TestI12GrantsOfALogFromElsewhere: a session file can't allow anything by itself.
func TestI12GrantsOfALogFromElsewhere(t *testing.T) {
	t.Parallel()
	write := &fake{name: "write", kind: tool.Write}
	for _, own := range []bool{false, true} {
		fresh := func() *permission.Guard {
			g, err := permission.New(permission.Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{write}; r.cfg.Guard = fresh(); r.cfg.TrustGrants = own })
		if err := r.SetMode(context.Background(), permission.ModeAll); err != nil {
			t.Fatal(err)
		}
		r.cfg.Guard = fresh()
		r.reopen()
		want := permission.ModeAsk
		if own {
			want = permission.ModeAll
		}
		if m := r.State().Mode; m != want {
			t.Errorf("own %v: after a restart the mode is %s", own, m)
		}
	}
}
