package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// theError is what the check says at first.
const theError = "FAIL  recipes/mains.txt:79: Stuffed peppers needs cinamon, and pantry.txt has no cinamon"

// rig is an agent with the tools of clew chat, in the project of a demo.
type rig struct {
	*agent.Agent
	t    testing.TB
	demo *Demo
	file string

	mu     sync.Mutex
	events []agent.Event
}

func newRig(t testing.TB, mode permission.Mode) *rig {
	t.Helper()
	d, err := Open(Config{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, demo: d, file: filepath.Join(t.TempDir(), "s.jsonl")}
	set, err := builtin.New(builtin.Config{Dir: d.Dir, Recall: func(ctx context.Context, arguments json.RawMessage) (string, error) {
		return r.Session().RecallTool(ctx, arguments)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	guard, err := permission.New(permission.Config{Mode: mode, Dir: d.Dir})
	if err != nil {
		t.Fatal(err)
	}
	r.Agent, err = agent.New(context.Background(), agent.Config{
		Open: func(ctx context.Context, c clew.Config) (*clew.Session, error) { return clew.Open(ctx, r.file, c) },
		File: r.file, Model: d.Model, Guard: guard, Tools: set.Tools(), Interactive: true,
		Events: func(e agent.Event) {
			r.mu.Lock()
			r.events = append(r.events, e)
			r.mu.Unlock()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// context is a test's, with a limit.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// ask sends a text and returns the last answer to it.
func (r *rig) ask(text string) string {
	r.t.Helper()
	ctx := limited(r.t)
	if _, err := r.Send(ctx, agent.Input{Text: text}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Wait(ctx); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return r.answer()
}

func (r *rig) answer() string {
	r.t.Helper()
	path, err := r.Path(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range slices.Backward(path) {
		if s.Message != nil && s.Message.Role == message.RoleAssistant {
			return s.Message.Text()
		}
	}
	return ""
}

func (r *rig) compactions() (out []agent.Compaction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == agent.KindCompactionEnd && e.Compaction.Done {
			out = append(out, *e.Compaction)
		}
	}
	return out
}

// content is the context as the model is sent it, a message each.
func (r *rig) content() (out []string) {
	r.t.Helper()
	items, err := r.Session().Context(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, it := range items {
		out = append(out, string(it.Message.JSON()))
	}
	return out
}

func needShell(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("the project's check is a script for sh")
	}
}

// TestTour goes through the whole tour, twice, and looks at what is left of it.
func TestTour(t *testing.T) {
	needShell(t)
	t.Chdir(t.TempDir())
	var said [2]string
	for i := range said {
		d, err := Open(Config{Folder: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		queue, out := agent.NewEventQueue(), &bytes.Buffer{}
		h, err := chat.Open(limited(t), chat.Config{
			Dir: d.Dir, Home: d.Home, UserFile: d.UserFile, Environ: d.Environ(os.Environ()), OpenModel: d.OpenModel, Interactive: true, Events: queue.Send,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tui.Run(limited(t), tui.Config{Host: h, Events: queue, In: strings.NewReader(""), Out: out, Script: Script(), Silent: true}); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		now := h.Agent().State()
		if now.Tokens >= now.Window || now.Totals.Passes < 2 {
			t.Errorf("the context has %d tokens of %d, after %d passes", now.Tokens, now.Window, now.Totals.Passes)
		}
		for _, want := range []string{
			"You: find out why check.sh fails", "-  cinamon: 1 teaspoon", "+  cinnamon: 1 teaspoon", "Compacted: ", "0 missing",
			"Stuffed peppers needs **cinnamon**, and the", "as it was before the compaction", theError, "stay on the branch that was left", "I know from the summary of the branch that we left",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("nowhere is %q in\n%s", want, out)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		checkFile(t, now.File)
		said[i] = strings.Join(regexp.MustCompile(`(?m)^(?:You|clew): .*$`).FindAllString(regexp.MustCompile(`[0-9a-f]{8,}`).ReplaceAllString(out.String(), "id"), -1)[1:], "\n")
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if said[0] != said[1] {
		t.Errorf("the second time it went otherwise:\n%s\n---\n%s", said[0], said[1])
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the current folder has %v, %v", left, err)
	}
}

// checkFile holds the session file against what clew verify says of it.
func checkFile(t *testing.T, file string) {
	t.Helper()
	ctx := context.Background()
	f, err := jsonl.Open(ctx, file, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	problems, err := f.Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Severity != session.SevInfo {
			t.Errorf("the session file: %v", p)
		}
	}
	branches := 0
	for e, err := range f.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == session.TypeBranchSummary {
			branches++
		}
	}
	if branches != 1 {
		t.Errorf("the session file has %d branch summaries, want 1", branches)
	}
}

// TestUndo: what the pass has taken away is there again, byte for byte.
func TestUndo(t *testing.T) {
	needShell(t)
	r := newRig(t, permission.ModeAll)
	r.ask(sayFix)
	passes := r.compactions()
	if len(passes) != 1 {
		t.Fatalf("there were %d compactions, want 1", len(passes))
	}
	ctx := context.Background()
	store := r.Session().Log().Store()
	pass, err := store.Get(ctx, passes[0].Entries[0])
	if err != nil {
		t.Fatal(err)
	}
	path, err := session.Path(ctx, store, pass.ParentID)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, it := range session.Project(path).Items {
		want = append(want, string(it.Message.JSON()))
	}
	compacted := r.content()
	compacted = slices.DeleteFunc(compacted, func(m string) bool { return strings.Contains(m, `"summary":`) })
	if strings.Contains(strings.Join(compacted, "\n"), theError) {
		t.Error("the error stands outside of the summary after the pass, so that there is nothing to recall")
	}
	if _, err := r.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil {
		t.Fatal(err)
	}
	got := r.content()
	if n := len(want); len(got) != n+1 || !slices.Equal(got[:n], want) {
		t.Errorf("the context has %d messages, want the %d from before the pass, as they were, and the one after it", len(got), n)
	}
	if !strings.Contains(strings.Join(got, "\n"), theError) {
		t.Error("the error does not stand in the context that was taken back")
	}
}

// TestRecall: the error is quoted from wherever it is.
func TestRecall(t *testing.T) {
	needShell(t)
	first := func(r *rig) string {
		path, err := r.Path(context.Background())
		if err != nil || len(path) == 0 {
			t.Fatal(err)
		}
		for _, s := range path {
			if s.Message != nil && s.Message.UserWords() {
				return s.ID
			}
		}
		return ""
	}
	for name, c := range map[string]struct {
		before func(*rig)
		want   []string
	}{
		"out of the window": {func(r *rig) { r.ask(sayFix) }, []string{theError, "was not in my window"}},
		"on a branch that was left": {func(r *rig) {
			r.ask(sayFix)
			if _, err := r.Navigate(context.Background(), first(r), clew.BranchOptions{Summarize: true}); err != nil {
				t.Fatal(err)
			}
			r.ask(sayTeach)
		}, []string{"on a branch that we left", "/tree"}},
		"nowhere": {func(*rig) {}, []string{"Nothing of the kind was said"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, permission.ModeAll)
			c.before(r)
			answer := r.ask(sayRecall)
			for _, want := range c.want {
				if !strings.Contains(answer, want) {
					t.Errorf("the answer is %q, want %q in it", answer, want)
				}
			}
		})
	}
}

// TestOtherWords: whatever is said gets an answer, and no pass by the model's own doing.
func TestOtherWords(t *testing.T) {
	needShell(t)
	r := newRig(t, permission.ModeAll)
	for _, c := range []struct{ say, want string }{
		{"Tell me about the moon", "I am a demo model"},
		{"?", "I am a demo model"},
		{"日本語", "I am a demo model"},
		{"what is in this folder?", "README.txt says what is where"},
		{"read pantry.txt", "almond milk"},
		{"please show me recipes/soups.txt", "Leek and potato soup"},
		{"read nothing.txt", "no such file"},
		{"recall the beginning", "Nothing of the kind"},
		{"teach check.sh to say what was meant", "did you mean cinnamon?"},
		{"now fix that", "0 missing"},
		{"fix the check", "0 missing"},
		{"teach it again", "does that already"},
	} {
		if got := r.ask(c.say); !strings.Contains(got, c.want) {
			t.Errorf("%q is answered by %q, want %q in it", c.say, got, c.want)
		}
	}
}

// TestComplaintLeftTheWindow: where what the check said was cut out of its result, an earlier run tells it, or the log.
func TestComplaintLeftTheWindow(t *testing.T) {
	check := []byte(`{"command":"` + checkCommand + `"}`)
	ran := func(id, result string) []*message.Message {
		return []*message.Message{
			message.Assistant(time.Time{}, message.ToolCallBlock(id, "bash", check)), message.ToolResult(id, "bash", result, true, time.Time{}),
		}
	}
	late := append([]*message.Message{message.User("fix that", time.Time{})}, ran("b", "ok  soup needs salt\n288 needed, 1 missing\nCommand exited with code 1")...)
	early := append([]*message.Message{message.User(sayTeach, time.Time{})}, ran("a", theError+"\n288 needed, 1 missing\nCommand exited with code 1")...)
	for want, messages := range map[string][]*message.Message{"read": slices.Concat(early, late), "recall": late} {
		got := observe(&model.Request{Messages: messages}).fix()
		if len(got.calls) == 0 || got.calls[0].tool != want {
			t.Errorf("it says %q with %v, want a call of %s", got.text, got.calls, want)
		}
	}
}

// TestNotAllowed: the model leaves what the user refuses, and says so.
func TestNotAllowed(t *testing.T) {
	needShell(t)
	r := newRig(t, permission.ModeAsk)
	ctx := limited(t)
	if _, err := r.Send(ctx, agent.Input{Text: sayFix}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Wait(ctx) }()
	asked := 0
	for {
		for _, q := range r.Questions() {
			asked++
			if err := r.Answer(q.ID, agent.Reply{Allow: q.Tool.Name == "bash"}); err != nil {
				t.Log(err) // it was answered the time before
			}
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Millisecond):
			continue
		}
		break
	}
	if got := r.answer(); asked < 2 || !strings.Contains(got, "I leave that") {
		t.Errorf("after %d questions the answer is %q", asked, got)
	}
	data, err := os.ReadFile(filepath.Join(r.demo.Dir, "recipes", "mains.txt"))
	if err != nil || !strings.Contains(string(data), "cinamon") {
		t.Errorf("the recipe was changed, or is gone: %v", err)
	}
}

func TestPlanMode(t *testing.T) {
	needShell(t)
	r := newRig(t, permission.ModePlan)
	if got := r.ask(sayFix); !strings.Contains(got, "did not work") || !strings.Contains(got, "plan") {
		t.Errorf("the answer is %q, want the reason in it", got)
	}
}

func TestCloseRemovesAll(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(Config{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "check.sh")); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := Open(Config{Folder: filepath.Join(dir, "not there")}); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestEnviron(t *testing.T) {
	d := &Demo{}
	got := d.Environ([]string{"PATH=/bin", "CLEW_WINDOW=1000", "clew_mode=all", "CLEW_SUMMARY_MODEL=same", "CLEWS=1"})
	if want := []string{"PATH=/bin", "CLEWS=1", "CLEW_SUMMARY_MODEL=none"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHints(t *testing.T) {
	for _, h := range Hints() {
		if len(h) > 78 { // of 80 columns
			t.Errorf("%q is too long for a line", h)
		}
	}
	if len(Hints()) != len(Tour())+1 {
		t.Error("a step has no hint")
	}
}
