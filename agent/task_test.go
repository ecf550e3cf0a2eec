package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session/jsonl"
)

// tasks is the tool task of an agent, which comes later.
func tasks(a **agent.Agent, r **rig) *fake {
	return &fake{name: "task", kind: tool.Read, do: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		(*r).srv.NewConversation()
		defer (*r).srv.NewConversation()
		return (*a).Task(ctx, c, "count the files")
	}}
}

// TestTask: a task has a context and a session of its own; what it asks is asked where
// the user is, and what it changes and costs counts there.
func TestTask(t *testing.T) {
	t.Parallel()
	var a *agent.Agent
	var r *rig
	path := filepath.Join(t.TempDir(), "f")
	write := &fake{name: "write", kind: tool.Write, effect: tool.Effect{Paths: []string{path}}, do: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text("written"), c.Record(ctx, tool.Change{Path: path, After: []byte("new")})
	}}
	r = newRig(t, func(r *rig) { asking(tasks(&a, &r), write)(r) })
	a = r.Agent
	r.srv.Add(call("a", "task"), call("b", "write"), modeltest.Text(strings.Repeat("7 files. ", 3000)), modeltest.Text("There are 7."))
	r.send("how many are there")
	q := r.question()
	if q.Tool.Name != "write" || r.State().Asking != 1 {
		t.Errorf("%+v", q)
	}
	if err := r.Answer(q.ID, agent.Reply{Allow: true, Remember: true}); err != nil {
		t.Fatal(err)
	}
	r.wait()
	got := r.texts()
	if len(got) != 4 || !strings.HasPrefix(got[2], "toolResult: 7 files. ") || got[3] != "assistant: There are 7." {
		t.Fatalf("the conversation is %.200q", got)
	}
	reqs := r.srv.Exchanges()
	if len(reqs) != 4 {
		t.Fatalf("%d requests", len(reqs))
	}
	for i, own := range []bool{true, false, false, true} {
		if body := string(reqs[i].Request); strings.Contains(body, "how many are there") != own || strings.Contains(body, "another agent has given you") == own || strings.Contains(body, `"name":"task"`) != own {
			t.Errorf("request %d is of the wrong conversation: %.3000s", i, body)
		}
	}
	if n := r.State().Totals.Requests; n < 3 {
		t.Errorf("%d requests are counted", n)
	}
	if turns, err := r.Turns(t.Context()); err != nil || len(turns) != 1 || turns[0].Text != "how many are there" {
		t.Errorf("what the task has changed is not in the history: %+v %v", turns, err)
	}

	files, err := filepath.Glob(filepath.Join(clew.TaskFolder(r.path), "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the sessions of the task are %q %v", files, err)
	}
	f, err := jsonl.Open(t.Context(), files[0], jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if f.Header().ParentSession != r.path {
		t.Errorf("its session is of %q, want %q", f.Header().ParentSession, r.path)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	shown, err := r.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, s := range shown {
		if s.Message != nil && s.Message.Role == message.RoleToolResult && (!strings.HasSuffix(s.Message.Text(), "[the answer is longer]") || len(s.Message.Text()) > 17<<10) {
			t.Errorf("the result has %d bytes", len(s.Message.Text()))
		}
		named = named || s.Message != nil && s.Message.Role == message.RoleToolResult && strings.Contains(string(s.Message.Details), filepath.Base(files[0]))
	}
	if !named {
		t.Error("the result does not name the session of the task")
	}
	r.fine()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := clew.RemoveFile(t.Context(), r.path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(clew.TaskFolder(r.path)); err == nil {
		t.Error("the session is removed, and those of its tasks are there")
	}
}

// TestTaskEnds: a task that does not end is stopped, and one that fails says why.
func TestTaskEnds(t *testing.T) {
	t.Parallel()
	var a *agent.Agent
	var r *rig
	look := &fake{name: "look", kind: tool.Read}
	r = newRig(t, func(r *rig) {
		r.cfg.Tools = []tool.Tool{tasks(&a, &r), look}
		r.cfg.TaskRequests = 2
		r.cfg.Retries = -1
	})
	a = r.Agent
	r.srv.Add(call("a", "task"), call("b", "look"), call("c", "look"), modeltest.Text("ok"),
		call("d", "task"), modeltest.Reply{Failure: &modeltest.Failure{Status: 400, Message: "no"}}, modeltest.Text("ok"))
	r.say("one")
	r.say("two")
	got := strings.Join(r.texts(), "\n")
	for _, want := range []string{"The task was stopped after 2 requests.", "The task was not done: "} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	began := make(chan struct{})
	look.do = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(began)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	r.srv.Add(call("e", "task"), call("f", "look"))
	r.send("three")
	<-began
	if did, err := r.Cancel(t.Context()); !did || err != nil {
		t.Errorf("%v %v", did, err)
	}
}

// TestCompactSoon: the model can have the conversation compacted, when it is worth it.
func TestCompactSoon(t *testing.T) {
	t.Parallel()
	var a *agent.Agent
	small := &fake{name: "compact", kind: tool.Read, do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text("soon"), a.CompactSoon("the lock")
	}}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{small}; r.cfg.Engine.Policy.Window = 32_000 })
	a = r.Agent
	r.srv.Add(call("a", "compact"), modeltest.Text("ok"))
	r.say("early")
	if got := strings.Join(r.texts(), "\n"); !strings.Contains(got, "less than half of that is not worth a summary") {
		t.Errorf("early it says:\n%s", got)
	}
	for r.State().Tokens*2 < r.State().Threshold {
		r.srv.Add(modeltest.Text(words(4_000)))
		r.say("on")
	}
	if n := len(r.all(agent.KindCompactionEnd)); n > 0 {
		t.Fatalf("there were %d passes before it was asked for", n)
	}
	r.srv.Add(call("b", "compact"), modeltest.Text("ok"))
	r.say("now")
	ends := r.all(agent.KindCompactionEnd)
	if len(ends) == 0 || !ends[0].Compaction.Done || ends[0].Compaction.Reason != compact.Manual {
		t.Fatalf("%d passes: %+v", len(ends), ends)
	}
	r.fine()
}
