package rpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

type state struct {
	agent.State
	Leaf string `json:"leaf"`
}

type pathOf struct {
	Leaf    string        `json:"leaf"`
	Entries []agent.Shown `json:"entries"`
	More    bool          `json:"more"`
}

func (p pathOf) texts() []string {
	var out []string
	for _, e := range p.Entries {
		if e.Message != nil {
			out = append(out, string(e.Message.Role)+": "+strings.TrimSpace(e.Message.Text()+e.Message.Output))
		}
	}
	return out
}

func (p pathOf) id(t testing.TB, text string) string {
	t.Helper()
	for _, e := range p.Entries {
		if e.Message != nil && strings.Contains(e.Message.Text(), text) {
			return e.ID
		}
	}
	t.Fatalf("no entry says %q: %q", text, p.texts())
	return ""
}

// long is an answer that fills a window, so that there is something to compact.
func long(i int) modeltest.Reply {
	return modeltest.Text(fmt.Sprintf("Answer %d. ", i) + strings.Repeat("The lock is taken in the reader and given back in the writer. ", 360))
}

// TestEveryMethod goes through all that a client can ask for, in one conversation.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{
		settings: `{"window": 32000, "providers": {"other": {"api": "anthropic-messages", "baseURL": "$URL", "keyEnv": "KEY"}}}`,
	}, long(1), long(2), long(3),
		modeltest.Answer(message.TextBlock("I make it."), modeltest.Call("c1", "write", `{"path":"made.txt","content":"hi"}`)), modeltest.Text("It is made."),
		modeltest.Answer(modeltest.Call("c2", "bash", `{"command":"rm -rf everything"}`)), modeltest.Text("Then not."),
		modeltest.Text("From the other model."))
	called := map[string]bool{"close": true}
	ask := func(name string, params any) json.RawMessage {
		t.Helper()
		called[name] = true
		return r.ask(name, params)
	}
	send := func(text string) {
		t.Helper()
		var q struct{ ID string }
		if err := json.Unmarshal(ask("send", p{"text": text}), &q); err != nil || q.ID == "" {
			t.Fatalf("%+v %v", q, err)
		}
	}
	path := func() pathOf { t.Helper(); called["path"] = true; return as[pathOf](r, "path", nil) }

	hello, err := r.Hello(t.Context())
	if err != nil || hello.Version != 1 || hello.Dir != r.dir || hello.State.Model != modelName || !slices.Contains(hello.Methods, "navigate") {
		t.Fatalf("%+v %v", hello, err)
	}
	ask("ready", nil)
	for i := range 3 {
		send(fmt.Sprintf("question %d", i+1))
		ask("wait", nil)
	}
	if got := path(); len(got.texts()) != 6 || !strings.HasPrefix(got.texts()[5], "assistant: Answer 3.") {
		t.Fatalf("%q", got.texts())
	}
	all := path()
	if half := as[pathOf](r, "path", p{"limit": 2}); len(half.Entries) != 2 || !half.More {
		t.Errorf("%+v", half)
	} else if rest := as[pathOf](r, "path", p{"since": half.Entries[1].ID}); len(rest.Entries) != len(all.Entries)-2 || rest.More {
		t.Errorf("%d entries after the first 2 of %d", len(rest.Entries), len(all.Entries))
	}
	r.refused(rpc.CodeNotFound, "path", p{"since": "nowhere"})

	var s state
	if err := json.Unmarshal(ask("state", nil), &s); err != nil || s.Doing != agent.DoingNothing || s.Window != 32_000 || s.Tokens < 9_000 {
		t.Errorf("%+v %v", s.State, err)
	}
	var totals agent.Totals
	if err := json.Unmarshal(ask("totals", nil), &totals); err != nil || totals.Requests != 3 {
		t.Errorf("%+v %v", totals, err)
	}

	// Compaction: looked at, changed, made, undone, made again.
	var preview, made agent.CompactReport
	if err := json.Unmarshal(ask("compact", p{"preview": true, "instructions": "the lock"}), &preview); err != nil || !preview.Act || preview.Summary == "" || len(preview.Entries) > 0 {
		t.Fatalf("%+v %v", preview, err)
	}
	if got := path(); got.Leaf != all.Leaf {
		t.Error("a preview has changed the session")
	}
	if err := json.Unmarshal(ask("compact", p{"summary": "## Goal\n- understand the lock, as the user put it\n", "firstKept": preview.FirstKept}), &made); err != nil || len(made.Entries) == 0 {
		t.Fatalf("%+v %v", made, err)
	}
	if got := path(); len(got.Entries) <= len(all.Entries) || got.id(t, "Answer 1.") != all.id(t, "Answer 1.") {
		t.Errorf("%q", got.texts())
	}
	var ctx struct {
		Tokens   int64
		Messages []struct {
			ID      string
			Message *message.Message
		}
	}
	if err := json.Unmarshal(ask("context", nil), &ctx); err != nil || ctx.Tokens >= preview.Before || !strings.Contains(ctx.Messages[0].Message.Summary, "as the user put it") {
		t.Errorf("%+v %v", ctx, err)
	}
	var why struct {
		Counts map[string]int
		Plan   *struct{ Why string }
		Fates  []any
	}
	if err := json.Unmarshal(ask("explain", p{"fates": true}), &why); err != nil || why.Counts["summarized"]+why.Counts["quoted"] == 0 || len(why.Fates) == 0 || why.Plan == nil {
		t.Errorf("%+v %v", why, err)
	}
	ask("undo", nil)
	if err := json.Unmarshal(ask("context", nil), &ctx); err != nil || len(ctx.Messages) != 6 {
		t.Errorf("after the undo there are %d messages, %v", len(ctx.Messages), err)
	}
	ask("undo", nil) // a redo

	// What has left the context can be had back.
	first := all.id(t, "Answer 1.")
	var back struct{ Text string }
	if err := json.Unmarshal(ask("recall", p{"id": first, "max": 9}), &back); err != nil || back.Text != "Answer 1." {
		t.Errorf("%q %v", back.Text, err)
	}
	var found struct {
		Hits []struct {
			Entry string
			Like  []string
		}
	}
	err = json.Unmarshal(ask("search", p{"query": "reader writer", "role": "assistant", "scope": "all"}), &found)
	if err != nil || len(found.Hits) != 1 || len(found.Hits[0].Like) != 2 {
		t.Errorf("%+v %v", found, err)
	}

	// A call that is asked about, and allowed; and one that is refused.
	send("make a file")
	q := r.kind(agent.KindAsk).Question
	var asked []agent.Question
	if err := json.Unmarshal(ask("questions", nil), &asked); err != nil || len(asked) != 1 || asked[0].ID != q.ID || q.Diff == "" {
		t.Errorf("%+v %v", asked, err)
	}
	send("and one more thing")
	ask("send", p{"text": "and then", "when": "done"})
	var queue []agent.Queued
	if err := json.Unmarshal(ask("queue", nil), &queue); err != nil || len(queue) != 2 {
		t.Errorf("%+v %v", queue, err)
	}
	var taken []agent.Queued
	if err := json.Unmarshal(ask("take_back", p{"ids": []string{queue[0].ID, queue[1].ID}}), &taken); err != nil || len(taken) != 2 || taken[0].Text != "and one more thing" {
		t.Errorf("%+v %v", taken, err)
	}
	r.refused(rpc.CodeNotFound, "take_back", p{"ids": []string{queue[0].ID}})
	for _, name := range []string{"undo", "new", "fork", "continue"} {
		r.refused(rpc.CodeBusy, name, nil)
	}
	ask("answer", p{"id": q.ID, "allow": true, "always": true})
	r.refused(rpc.CodeNotFound, "answer", p{"id": q.ID, "allow": true})
	ask("wait", nil)
	if data, err := os.ReadFile(filepath.Join(r.dir, "made.txt")); err != nil || string(data) != "hi" {
		t.Errorf("%q %v", data, err)
	}
	send("and clean up")
	q = r.until("a second question", func(e agent.Event) bool { return e.Kind == agent.KindAsk && e.Question.ID != q.ID }).Question
	ask("answer", p{"id": q.ID, "why": "never"})
	ask("wait", nil)
	if got := path().texts(); got[len(got)-1] != "assistant: Then not." || !strings.Contains(got[len(got)-2], "never") {
		t.Errorf("%q", got)
	}

	// What it has changed in files is shown, taken back, and made again.
	var turns []files.Turn
	if err := json.Unmarshal(ask("turns", nil), &turns); err != nil || len(turns) != 1 || turns[0].Text != "make a file" || !slices.Equal(turns[0].Files, []string{"made.txt"}) {
		t.Fatalf("%+v %v", turns, err)
	}
	var changed []files.Changed
	if err := json.Unmarshal(ask("changes", p{"turn": turns[0].ID}), &changed); err != nil || len(changed) != 1 || !strings.Contains(changed[0].Diff, "+hi") {
		t.Errorf("%+v %v", changed, err)
	}
	var restored files.Restored
	made1 := filepath.Join(r.dir, "made.txt")
	write(t, made1, "mine")
	r.refused(rpc.CodeChanged, "restore", p{"to": turns[0].ID})
	write(t, made1, "hi")
	if err := json.Unmarshal(ask("restore", p{"to": turns[0].ID}), &restored); err != nil || !slices.Equal(restored.Files, []string{"made.txt"}) {
		t.Errorf("%+v %v", restored, err)
	}
	if _, err := os.Stat(made1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if got := path().texts(); !strings.Contains(got[len(got)-1], "taken back changes of these files: made.txt") {
		t.Errorf("the model is not told: %q", got)
	}
	ask("restore", p{"to": restored.ID})
	if data, err := os.ReadFile(made1); err != nil || string(data) != "hi" {
		t.Errorf("%q %v", data, err)
	}
	r.refused(rpc.CodeNotFound, "restore", p{"to": "ffffffffffff"})
	r.refused(rpc.CodeBadParams, "restore", nil)

	// The tree.
	second := all.id(t, "question 2")
	ask("label", p{"id": second[:8], "label": "here"})
	ask("pin", p{"id": second})
	ask("unpin", p{"id": second})
	var omitted agent.CompactReport
	if err := json.Unmarshal(ask("omit", p{"from": second[:8]}), &omitted); err != nil || !omitted.Act || len(omitted.Entries) == 0 {
		t.Errorf("%+v %v", omitted, err)
	}
	ask("undo", nil)
	r.refused(rpc.CodeBadParams, "omit", nil)
	ask("name", p{"name": "The lock"})
	var nav struct{ Text, Leaf, Summary string }
	if err := json.Unmarshal(ask("navigate", p{"to": second, "summarize": true, "preview": true}), &nav); err != nil || nav.Summary == "" {
		t.Errorf("%+v %v", nav, err)
	}
	if err := json.Unmarshal(ask("navigate", p{"to": second, "summarize": true, "label": "left"}), &nav); err != nil || nav.Text != "question 2" || nav.Summary == "" {
		t.Errorf("%+v %v", nav, err)
	}
	var tree struct {
		Leaf  string
		Nodes []agent.Node
	}
	if err := json.Unmarshal(ask("tree", nil), &tree); err != nil || tree.Leaf == "" || len(tree.Nodes) <= len(all.Entries) {
		t.Errorf("%+v %v", tree, err)
	}
	labels := map[string]bool{}
	for _, n := range tree.Nodes {
		labels[n.Label] = true
	}
	if !labels["here"] || !labels["left"] {
		t.Errorf("labels %v", labels)
	}
	r.refused(rpc.CodeBadParams, "navigate", p{})
	r.refused(rpc.CodeNotFound, "navigate", p{"to": "ffffffffffff"})
	r.refused(rpc.CodeNotFound, "pin", p{"id": "ffffffffffff"})

	// Models, settings, rules.
	var models []rpc.ModelChoice
	if err := json.Unmarshal(ask("models", nil), &models); err != nil || len(models) < 10 {
		t.Errorf("%d models, %v", len(models), err)
	}
	ask("set_model", p{"model": "other/claude-haiku-4-5"})
	ask("set_reasoning", p{"reasoning": "low"})
	ask("set_mode", p{"mode": "plan"})
	if s := as[state](r, "state", nil); s.Model != "other/claude-haiku-4-5" || s.Reasoning != "low" || s.Mode != "plan" || s.Name != "The lock" {
		t.Errorf("%+v", s.State)
	}
	r.refused(rpc.CodeFailed, "set_model", p{"model": "antropic/x"})
	r.refused(rpc.CodeBadParams, "set_mode", p{"mode": "free"})
	r.refused(rpc.CodeBadParams, "set_reasoning", p{"reasoning": "much"})
	send("who are you")
	ask("wait", nil)
	var set []rpc.Setting
	if err := json.Unmarshal(ask("settings", nil), &set); err != nil || !slices.ContainsFunc(set, func(s rpc.Setting) bool { return s.Name == "window" && s.Value == "32000" }) {
		t.Errorf("%+v %v", set, err)
	}
	ask("set", p{"name": "ui.theme", "value": "dark"})
	r.refused(rpc.CodeFailed, "set", p{"name": "ui.theme", "value": "loud"})
	r.refused(rpc.CodeFailed, "set", p{"name": "ui.thme", "value": "dark"})
	ask("allow", p{"rules": []string{"bash(go test *)"}})
	r.refused(rpc.CodeFailed, "allow", p{"rules": []string{"bash("}})
	ask("hooks", nil)
	ask("untrusted", nil)
	ask("trust", nil)

	// Beside the conversation.
	var names []string
	if err := json.Unmarshal(ask("files", p{"prefix": "no"}), &names); err != nil || !slices.Equal(names, []string{"notes.txt"}) {
		t.Errorf("%q %v", names, err)
	}
	if err := json.Unmarshal(ask("expand", p{"text": "/init @notes.txt"}), &struct{ Text string }{}); err != nil {
		t.Error(err)
	}
	if got := string(ask("commands", nil)); !strings.Contains(got, `"name":"init"`) {
		t.Error(got)
	}
	ask("shell", p{"command": "echo from the shell"})
	if got := path().texts(); got[len(got)-1] != "bashExecution: from the shell" {
		t.Errorf("%q", got[len(got)-1])
	}
	ask("remember", p{"line": "who are you"})
	var lines []string
	if err := json.Unmarshal(ask("history", nil), &lines); err != nil || !slices.Equal(lines, []string{"who are you"}) {
		t.Errorf("%q %v", lines, err)
	}
	var out struct{ Path string }
	if err := json.Unmarshal(ask("export", p{"path": "out.html"}), &out); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(r.dir, "out.html")); err != nil || !strings.Contains(string(data), "who are you") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	r.refused(rpc.CodeFailed, "export", p{"path": "out.html"})

	// Other sessions.
	before := as[state](r, "state", nil)
	var forked struct {
		Text  string
		State state
	}
	if err := json.Unmarshal(ask("fork", p{"at": all.id(t, "question 1")}), &forked); err != nil || forked.Text != "question 1" || forked.State.Session == before.Session {
		t.Errorf("%+v %v", forked, err)
	}
	ask("new", nil)
	fresh := as[state](r, "state", nil)
	if fresh.Session == before.Session || fresh.Totals.Requests > 0 {
		t.Errorf("%+v", fresh.State)
	}
	type info struct{ Path, ID, Name string }
	var sessions []info
	if err := json.Unmarshal(ask("sessions", p{"all": true}), &sessions); err != nil || len(sessions) != 3 {
		t.Fatalf("%+v %v", sessions, err)
	}
	ask("rename", p{"session": forked.State.Session[:10], "name": "a copy"})
	r.refused(rpc.CodeFailed, "remove", p{"session": fresh.File})
	ask("resume", p{"session": before.Session})
	if s := as[state](r, "state", nil); s.Session != before.Session || s.Model != "other/claude-haiku-4-5" || s.Mode != "plan" {
		t.Errorf("%+v", s.State)
	}
	sessions = as[[]info](r, "sessions", nil)
	if len(sessions) != 2 { // the new one, in which nothing was said, is gone
		t.Errorf("%+v", sessions)
	}
	if !slices.ContainsFunc(sessions, func(i info) bool { return i.Name == "a copy" }) {
		t.Errorf("%+v", sessions)
	}
	ask("remove", p{"session": forked.State.Session})
	r.refused(rpc.CodeNotFound, "resume", p{"session": forked.State.Session})
	r.refused(rpc.CodeFailed, "resume", p{"session": filepath.Join(r.dir, "notes.txt")})
	if s := as[state](r, "state", nil); s.Session != before.Session {
		t.Error("a session that could not be opened took the place of one that is")
	}

	ask("subscribe", p{"kinds": []string{"closed"}})
	r.refused(rpc.CodeBadParams, "subscribe", p{"kinds": []string{"turn_and"}})
	n := len(r.all())
	ask("name", p{"name": "quiet"})
	if got := r.all()[n:]; len(got) > 0 {
		t.Errorf("events that were not wanted: %s", kinds(got))
	}
	ask("cancel", nil)
	r.refused(rpc.CodeUnknownMethod, "cancle", nil)
	r.hinted(rpc.CodeUnknownMethod, "did you mean compact?", "compat", nil)
	r.hinted(rpc.CodeBadParams, "did you mean text?", "send", p{"txt": "x"})
	r.refused(rpc.CodeBadParams, "send", p{"text": 1})
	ask("send", p{"text": "the end", "images": []any{}})
	called["continue"] = true // see TestD75Pi48Pi49CancelInEachPhase
	for _, m := range rpc.Methods() {
		if !called[m] {
			t.Errorf("%s was not called", m)
		}
	}
	r.ask("close", nil)
}
