package hook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/message"
)

func ExampleNew() {
	h, err := hook.New(hook.Config{Event: hook.ToolResult, Command: "redact", Required: true})
	if err != nil {
		panic(err)
	}
	s, err := clew.New(clew.Config{Hooks: []clew.Hooks{h}})
	fmt.Println(s != nil, err)
	_, err = hook.New(hook.Config{Event: "tool_results", Command: "redact"})
	fmt.Println(strings.HasPrefix(err.Error(), `hook redact for tool_results: there is no event "tool_results"`))
	// Output:
	// true <nil>
	// true
}

const examples = "../examples/hooks"

// exampleHook is one of the programs in examples/hooks.
func exampleHook(t *testing.T, interpreter string, c hook.Config) clew.Hooks {
	t.Helper()
	path, err := exec.LookPath(interpreter)
	if err != nil {
		t.Skipf("no %s to run the example with", interpreter)
	}
	c.Args = append([]string{c.Command}, c.Args...)
	if c.Command, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	if c.Dir, err = filepath.Abs(examples); err != nil {
		t.Fatal(err)
	}
	c.Env = append(c.Env, "PYENV_*")
	h, err := hook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestExampleRedact(t *testing.T) {
	h := exampleHook(t, "python3", hook.Config{Event: hook.ToolResult, Command: "redact.py", Required: true})
	for _, text := range []string{
		"key sk-abcdefghij0123456789 and 你好 🙂", "password=hunter2 and more", "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
		"nothing to hide: 第二 行", "",
	} {
		s, err := clew.New(clew.Config{Hooks: []clew.Hooks{h}})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, message.User("go", start), message.Assistant(start, message.ToolCallBlock("c", "read", []byte(`{}`))), message.ToolResult("c", "read", text, false, start))
		p := prepare(t, s)
		got := p.Messages[2].Text()
		want := regexp.MustCompile(`(?s)sk-\w{20}|hunter2|-----BEGIN.*-----`).ReplaceAllString(text, "[redacted]")
		if got != want || len(p.Warnings) > 0 {
			t.Errorf("%q became %q, warnings %v", text, got, p.Warnings)
		}
	}
}

func TestExampleRemind(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.txt")
	text := "Say \"please\".\n\tNever touch C:\\prod; 你好 $(id) `id` %s\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := prepare(t, full(t, exampleHook(t, "sh", hook.Config{Event: hook.SessionCompact, Command: "remind.sh", Args: []string{rules}})))
	if got := p.Messages[len(p.Messages)-1].Text(); got != text || len(p.Warnings) > 0 {
		t.Errorf("got %q, warnings %v", got, p.Warnings)
	}
	p = prepare(t, full(t, exampleHook(t, "sh", hook.Config{Event: hook.SessionCompact, Command: "remind.sh"})))
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Error(), "give the file") || !p.Plan.Act {
		t.Errorf("warnings %v", p.Warnings)
	}
}

// The example with another model's command: a script stands for it, which keeps what it was asked.
func TestExampleSummarize(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "summarize")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../examples/hooks/summarize").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var hooks []clew.Hooks
	for _, event := range []string{hook.SessionBeforeCompact, hook.SessionBeforeTree} {
		h, err := hook.New(hook.Config{Event: event, Command: program, Env: []string{"SUMMARIZE_COMMAND"}})
		if err != nil {
			t.Fatal(err)
		}
		hooks = append(hooks, h)
	}
	asked := filepath.Join(dir, "asked")
	t.Setenv("SUMMARIZE_COMMAND", "cat >'"+asked+"'; echo 'The port is \"8377\".'")
	s := full(t, hooks...)
	check := func(what, got string, warnings []error, summaries int, inPrompt ...string) {
		t.Helper()
		entries, err := s.Log().Path(t.Context())
		if want := fmt.Sprintf(`{"summaries":%d}`, summaries); err != nil || string(clew.HookDetails(entries)) != want {
			t.Errorf("%s: details %s, want %s (%v)", what, clew.HookDetails(entries), want, err)
		}
		if len(warnings) > 0 || !strings.HasPrefix(got, "<given by=\"hook\">\nThe port is \"8377\".\n") {
			t.Errorf("%s: %.200s, warnings %v", what, got, warnings)
		}
		prompt, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range inPrompt {
			if !strings.Contains(string(prompt), want) {
				t.Errorf("%s: %q is not in what the command was asked: %.500s", what, want, prompt)
			}
		}
	}
	p := prepare(t, s)
	check("pass", p.Messages[0].Summary, p.Warnings, 1, "(none)\n\n# Conversation\n\n[User]: request 0\n", `[Assistant tool calls]: read(path="a.go")`)
	long := strings.Repeat("and more of it. ", 1_500)
	add(t, s, message.User("go on", start), message.Assistant(start, message.TextBlock(long)), message.User("again", start))
	p = prepare(t, s)
	check("next pass", p.Messages[0].Summary, p.Warnings, 2, "# Summary so far\n\n<given by=\"hook\">\nThe port is", "go on")
	leaf := s.Leaf()
	add(t, s, message.User("try the other way", start), message.Assistant(start, message.TextBlock("it fails")))
	os.Remove(asked)
	if b, err := s.Branch(t.Context(), leaf, clew.BranchOptions{DryRun: true}); err != nil || len(b.Warnings) > 0 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("a model was asked for a summary that nobody wants")
	}
	b, err := s.Branch(t.Context(), leaf, clew.BranchOptions{Summarize: true, Instructions: "Say why."})
	if err != nil {
		t.Fatal(err)
	}
	check("branch", b.Summary.Summary, b.Warnings, 3, "Say why.", "[User]: try the other way\n\n[Assistant]: it fails")
	t.Setenv("SUMMARIZE_COMMAND", "echo broken >&2; exit 1")
	if p = prepare(t, full(t, hooks...)); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Error(), "broken") || p.Plan.Summary.Summarizer != "deterministic" {
		t.Errorf("%v", p.Warnings)
	}
}

// Every event that a program gets has the fields of its type, none null, and the head.
func TestEventsAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOOKTEST_FILE", filepath.Join(dir, "event"))
	event := func(name string, run func(h clew.Hooks)) map[string]any {
		run(doing(t, name, "keep", ""))
		data, err := os.ReadFile(filepath.Join(dir, "event"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		os.Remove(filepath.Join(dir, "event"))
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("%s: %v in %s", name, err, data)
		}
		if m["protocol"] != 1.0 || m["event"] != name || m["session"] == "" && name != hook.SessionBeforeFork {
			t.Errorf("%s: head of %v", name, m)
		}
		if bytes.Contains(data, []byte(":null")) && name != hook.SessionBeforeCompact && name != hook.SessionBeforeTree {
			t.Errorf("%s: null in %.500s", name, data) // records may have it: a root's parent
		}
		return m
	}
	onPrepare := func(h clew.Hooks) { prepare(t, full(t, h)) }
	if m := event(hook.SessionStart, onPrepare); m["reason"] != "new" || m["cwd"] != "/repo" {
		t.Errorf("%v", m)
	}
	event(hook.SessionShutdown, func(h clew.Hooks) { full(t, h).Close() })
	if m := event(hook.Context, onPrepare); len(m["messages"].([]any)) != 14*4 {
		t.Errorf("%v", m)
	}
	if m := event(hook.ToolResult, func(h clew.Hooks) { turns(t, 1, h) }); m["arguments"].(map[string]any)["path"] != "a.go" {
		t.Errorf("%v", m)
	}
	m := event(hook.SessionBeforeCompact, onPrepare)
	prep := m["preparation"].(map[string]any)
	if m["reason"] != "threshold" || m["attempt"] != 1.0 || len(m["entries"].([]any)) != 14*4 || !strings.HasPrefix(prep["text"].(string), "[User]: request 0") {
		t.Errorf("%v", m)
	}
	cut := prep["plan"].(map[string]any)["cut"].(map[string]any)
	for name, want := range map[string]any{
		"messagesToSummarize": prep["history"], "turnPrefixMessages": prep["turnPrefix"], "isSplitTurn": cut["splitTurn"] == true,
		"firstKeptEntryId": cut["firstKept"], "tokensBefore": m["before"].(map[string]any)["tokens"],
		"fileOps":  map[string]any{"read": []any{"a.go"}, "written": []any{}, "edited": []any{}},
		"settings": map[string]any{"enabled": true, "reserveTokens": m["budget"].(map[string]any)["reserve"], "keepRecentTokens": m["budget"].(map[string]any)["keep"]},
	} {
		if !reflect.DeepEqual(prep[name], want) || want == nil {
			t.Errorf("%s is %.200v, want %.200v", name, prep[name], want)
		}
	}
	if len(prep["messagesToSummarize"].([]any)) == 0 || len(m["branchEntries"].([]any)) != 14*4 {
		t.Errorf("%.500v", m)
	}
	m = event(hook.SessionBeforeCompact, func(h clew.Hooks) {
		s, err := clew.New(clew.Config{NoAuto: true, Hooks: []clew.Hooks{h}})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, message.User("one", start), message.Assistant(start, message.TextBlock(strings.Repeat("much ", 2_000))), message.User("two", start))
		if _, err := s.Compact(t.Context(), clew.CompactOptions{Keep: compact.Tokens(1)}); err != nil {
			t.Fatal(err)
		}
	})
	if on := m["preparation"].(map[string]any)["settings"].(map[string]any)["enabled"]; on != false {
		t.Errorf("compaction by itself is off, and enabled is %v", on)
	}
	if m := event(hook.SessionCompact, onPrepare); len(m["entries"].([]any)) == 0 || m["summary"] == nil {
		t.Errorf("%v", m)
	}
	toTree := func(h clew.Hooks) {
		s := full(t, h)
		entries, err := s.Log().Path(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Branch(t.Context(), entries[3].ID, clew.BranchOptions{Summarize: true}); err != nil {
			t.Fatal(err)
		}
	}
	m = event(hook.SessionBeforeTree, toTree)
	if m["summarize"] != true || !strings.Contains(m["text"].(string), "request 5") {
		t.Errorf("%v", m)
	}
	if want := map[string]any{
		"targetId": m["target"], "oldLeafId": m["from"], "commonAncestorId": m["ancestor"], "entriesToSummarize": m["entries"], "userWantsSummary": true,
	}; !reflect.DeepEqual(m["preparation"], want) || m["ancestor"] == "" || m["target"] == m["from"] {
		t.Errorf("preparation %.500v, want %.500v", m["preparation"], want)
	}
	if len(m["entries"].([]any)) != 13*4 || len(m["branchEntries"].([]any)) != 14*4 {
		t.Errorf("%d entries, %d of the branch", len(m["entries"].([]any)), len(m["branchEntries"].([]any)))
	}
	if m := event(hook.SessionTree, toTree); m["left"] != 13.0*4 || m["summary"] == nil {
		t.Errorf("%v", m)
	}
	m = event(hook.SessionBeforeFork, func(h clew.Hooks) {
		clew.AskFork(t.Context(), []clew.Hooks{h}, clew.BeforeForkEvent{Session: "s", From: "a", To: "b"})
	})
	if m["from"] != "a" || m["to"] != "b" {
		t.Errorf("%v", m)
	}
	m = event(hook.SessionCompactFailed, func(h clew.Hooks) {
		s, err := clew.New(clew.Config{System: strings.Repeat("long ", 400_000), Hooks: []clew.Hooks{h}})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, message.User("x", start))
		if _, err := s.Prepare(t.Context()); err == nil {
			t.Error("no error")
		}
	})
	if !strings.Contains(m["error"].(string), "system prompt") || m["aborted"] != false {
		t.Errorf("%v", m)
	}
}

// Answers reach the session.
func TestAnswers(t *testing.T) {
	s := full(t)
	path, err := s.Log().Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, ninth := path[0].ID, path[9*4].ID // the request of the turn
	p := prepare(t, full(t, doing(t, hook.SessionBeforeCompact, "say", `{"summary":"All is well.","keep":"900","target":2000,"edits":[{"entry":"`+first+`","omit":true}]}`)))
	if p.Plan.Summary == nil || p.Plan.Summary.Summarizer != "hook" || p.Plan.Budget.Keep != 900 || len(p.Warnings) > 0 || strings.Contains(shown(p.Messages), "request 0") {
		t.Errorf("summary %v, budget %+v, warnings %v", p.Plan.Summary, p.Plan.Budget, p.Warnings)
	}
	for _, own := range []string{
		`{"summary":"All is well.","details":{"n":1}}`,
		`{"compaction":{"summary":"All is well.","firstKeptEntryId":"` + ninth + `","tokensBefore":5,"estimatedTokensAfter":3,"usage":{"input":1},"details":{"n":1}}}`,
		`{"summary":"All is well.","details":null,"compaction":{"summary":"","details":{"n":1}}}`,
	} {
		s := full(t, doing(t, hook.SessionBeforeCompact, "say", own))
		p := prepare(t, s)
		entries, err := s.Log().Path(t.Context())
		if err != nil || len(p.Warnings) > 0 || string(clew.HookDetails(entries)) != `{"n":1}` || !strings.HasPrefix(p.Messages[0].Summary, "<given by=\"hook\">\nAll is well.\n") {
			t.Errorf("%s: details %s, %v, %v", own, clew.HookDetails(entries), p.Warnings, err)
		}
		if strings.Contains(own, ninth) && p.Plan.Cut.FirstKept != ninth {
			t.Errorf("kept from %s, not from %s", p.Plan.Cut.FirstKept, ninth)
		}
	}
	for _, own := range []string{
		`{"summary":"It went nowhere.","details":[2]}`, `{"customInstructions":"x","summary":{"summary":"It went nowhere.","usage":{},"details":[2]}}`,
	} {
		s := full(t, doing(t, hook.SessionBeforeTree, "say", own))
		b, err := s.Branch(t.Context(), first, clew.BranchOptions{Summarize: true})
		if err != nil || len(b.Warnings) > 0 || !b.Summary.FromHook || !strings.HasPrefix(b.Summary.Summary, "<given by=\"hook\">\nIt went nowhere.\n") {
			t.Fatalf("%s: %+v, %v", own, b, err)
		}
		entries, err := s.Log().Path(t.Context())
		if string(clew.HookDetails(entries)) != "[2]" || err != nil {
			t.Errorf("%s: details %s, %v", own, clew.HookDetails(entries), err)
		}
	}
	s = full(t, doing(t, hook.SessionBeforeTree, "say", `{"cancel":true,"why":"stay"}`))
	if b, err := s.Branch(t.Context(), first, clew.BranchOptions{}); err != nil || !strings.Contains(b.Why, "stay") || b.Leaf != b.From {
		t.Errorf("%+v %v", b, err)
	}
	d, warnings := clew.AskFork(t.Context(), []clew.Hooks{doing(t, hook.SessionBeforeFork, "exit", "2")}, clew.BeforeForkEvent{})
	if !d.Cancel || d.Why != "because of this" || len(warnings) > 0 {
		t.Errorf("%+v %v", d, warnings)
	}
	p = prepare(t, full(t, doing(t, hook.SessionStart, "exit", "2")))
	if len(p.Warnings) == 0 || !slices.ContainsFunc(p.Warnings, func(e error) bool { return strings.Contains(e.Error(), "because of this") }) {
		t.Errorf("a start can't be blocked, and nothing says so: %v", p.Warnings)
	}
}
