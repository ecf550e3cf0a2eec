package chat_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// TestPi117StaleHandle: a handle dies with its session.
func TestPi117StaleHandle(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."), modeltest.Text("Two."))
	s := p.open(nil)
	say(t, s, "first")
	first := s.Agent()
	for name, change := range map[string]func() error{
		"new":    func() error { return s.New(t.Context()) },
		"resume": func() error { return s.Resume(t.Context(), first.State().File) },
		"fork":   func() error { _, err := s.Fork(t.Context(), ""); return err },
	} {
		old := s.Agent()
		file := old.State().File
		if name == "resume" && file == first.State().File {
			continue // it is in use already
		}
		if err := change(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now := s.Agent()
		if now == old || now.State().File == file {
			t.Fatalf("%s: the agent is the one before", name)
		}
		was, _ := os.ReadFile(now.State().File)
		ctx := t.Context()
		_, sendErr := old.Send(ctx, agent.Input{Text: "x"})
		_, compactErr := old.Compact(ctx, agent.CompactRequest{})
		_, moveErr := old.Navigate(ctx, "", clew.BranchOptions{})
		for what, err := range map[string]error{
			"send": sendErr, "compact": compactErr, "navigate": moveErr, "continue": old.Continue(ctx), "name": old.Name(ctx, "x"),
			"model": old.SetModel(ctx, modelName), "shell": old.Shell(ctx, "touch "+p.path("project/made"), false),
		} {
			if err == nil {
				t.Errorf("after %s the old handle could %s", name, what)
			}
		}
		if is, _ := os.ReadFile(now.State().File); string(is) != string(was) {
			t.Errorf("after %s the old handle has changed the new session", name)
		}
	}
	if _, err := os.Stat(p.path("project/made")); err == nil {
		t.Error("the old handle has run a command")
	}
}

// What can't be opened leaves the session in use, and a session that is at work is not left.
func TestChangeThatFails(t *testing.T) {
	p := newPlace(t, modeltest.Text("never").With(modeltest.Faults{Delay: time.Hour}))
	s := p.open(nil)
	a := s.Agent()
	for _, path := range []string{"", p.path("nowhere.jsonl"), p.path("project/notes.txt")} {
		if err := s.Resume(t.Context(), path); err == nil {
			t.Errorf("%q was resumed", path)
		}
	}
	if _, err := s.Fork(t.Context(), "ffffffffffff"); err == nil {
		t.Error("what is not there was forked")
	}
	if _, err := a.Send(t.Context(), agent.Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := s.New(t.Context()); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("%v", err)
	}
	if err := s.Remove(t.Context(), a.State().File); err == nil {
		t.Error("the session in use was removed")
	}
	if s.Agent() != a {
		t.Error("the agent is another one")
	}
	if _, err := a.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.New(t.Context()); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A session in which nothing was ever said leaves no file, others do.
func TestFilesOfSessions(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."))
	s := p.open(nil)
	if err := s.Agent().SetMode(t.Context(), permission.ModePlan); err != nil {
		t.Fatal(err)
	}
	if err := s.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || len(p.sessions()) > 0 {
		t.Errorf("%q %v", p.sessions(), err)
	}

	s = p.open(nil)
	say(t, s, "first")
	file := s.Agent().State().File
	if err := s.Close(); err != nil || !slices.ContainsFunc(p.sessions(), func(f string) bool { return f == file }) {
		t.Errorf("%q %v", p.sessions(), err)
	}
	// It is gone on with, and stays although nothing is said.
	s = p.open(func(c *chat.Config) { c.Last = true })
	if s.Agent().State().File != file {
		t.Errorf("%+v", s.Agent().State())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(func(c *chat.Config) { c.Memory, c.Name = true, "x" })
	if st := s.Agent().State(); st.File != "" || st.Name != "x" {
		t.Errorf("%+v", st)
	}
	if err := s.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = p.open(func(c *chat.Config) { c.Name = "named" })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := s.Sessions(t.Context(), false)
	if err != nil || len(list) != 2 || list[0].Name != "named" {
		t.Errorf("%+v %v", list, err)
	}
	s = p.open(func(c *chat.Config) { c.Fork = file })
	if st := s.Agent().State(); st.File == file || st.Session == "" {
		t.Errorf("%+v", st)
	}
	if path, err := s.Agent().Path(t.Context()); err != nil || !slices.ContainsFunc(path, func(e agent.Shown) bool {
		return e.Message != nil && e.Message.Text() == "One."
	}) {
		t.Errorf("%v", err)
	}
}

// The model: of the flag, of the session, of the settings, of the environment.
func TestWhichModel(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."), modeltest.Text("Two."))
	providers := `"providers": {"here": {"api": "anthropic-messages", "baseURL": "$URL", "keyEnv": "KEY"}, "there": {"api": "anthropic-messages", "baseURL": "$URL", "keyEnv": "MISSING"}}`
	p.write("config/settings.json", `{`+providers+`, "reasoning": "high"}`)
	own := func(c *chat.Config) { c.Flags, c.BaseURL, c.KeyEnv = map[string]string{}, "", "" }

	_, err := chat.Open(t.Context(), func() chat.Config { c := p.config(); own(&c); return c }())
	if !errors.Is(err, provider.ErrNoModel) || !strings.Contains(err.Error(), "--model here/ID") {
		t.Errorf("%v", err)
	}
	s := p.open(func(c *chat.Config) { own(c); c.Environ = append(c.Environ, "CLEW_MODEL=here/a") })
	say(t, s, "first")
	if st := s.Agent().State(); st.Model != "here/a" || st.Reasoning != "high" {
		t.Errorf("%+v", st)
	}
	if err := s.Agent().SetReasoning(t.Context(), "low"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.write("config/settings.json", `{`+providers+`, "model": "here/b"}`)
	s = p.open(own)
	if st := s.Agent().State(); st.Model != "here/b" {
		t.Errorf("%+v", st)
	}
	s = p.open(func(c *chat.Config) { own(c); c.Last = true })
	if st := s.Agent().State(); st.Model != "here/a" || st.Reasoning != "low" {
		t.Errorf("the session's own: %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(func(c *chat.Config) { own(c); c.Last = true; c.Flags["model"] = "here/c"; c.Reasoning = "none" })
	if st := s.Agent().State(); st.Model != "here/c" || st.Reasoning != "none" {
		t.Errorf("the flag's: %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A session whose model can't be asked any more.
	p.write("config/settings.json", `{`+strings.Replace(providers, `"here"`, `"moved"`, 1)+`, "model": "moved/b"}`)
	s = p.open(func(c *chat.Config) { own(c); c.Last = true })
	if st := s.Agent().State(); st.Model != "moved/b" {
		t.Errorf("%+v", st)
	}
	waittest.Until(t, "a warning", func() bool { return strings.Contains(p.warnings(), "the session's model can't answer") })
	_, err = chat.Open(t.Context(), func() chat.Config { c := p.config(); own(&c); c.Flags["model"] = "there/a"; return c }())
	if err == nil || !strings.Contains(err.Error(), "MISSING") {
		t.Errorf("%v", err)
	}
	if n := len(slices.DeleteFunc(p.sessions(), func(f string) bool { return !strings.HasSuffix(f, ".jsonl") })); n != 2 {
		t.Errorf("a failed start has left something: %q", p.sessions())
	}
}

// The mode of the flag and of the environment counts before that of the session; a
// session from elsewhere allows nothing.
func TestD47ModeOfASession(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."))
	s := p.open(nil)
	say(t, s, "first")
	if err := s.Agent().SetMode(t.Context(), permission.ModeAll); err != nil {
		t.Fatal(err)
	}
	file := s.Agent().State().File
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mode := func(change func(*chat.Config)) permission.Mode {
		t.Helper()
		s := p.open(change)
		defer s.Close()
		return s.Agent().State().Mode
	}
	if m := mode(func(c *chat.Config) { c.Last = true }); m != permission.ModeAll {
		t.Errorf("the session's mode is %s", m)
	}
	data := p.read(strings.TrimPrefix(file, p.root+string(filepath.Separator)))
	p.write("mail/from-elsewhere.jsonl", data)
	elsewhere := p.path("mail/from-elsewhere.jsonl")
	if m := mode(func(c *chat.Config) { c.File = elsewhere }); m != permission.ModeAsk {
		t.Errorf("a session from elsewhere has set the mode %s", m)
	}
	p.write("mail/from-elsewhere.jsonl", data)
	if m := mode(func(c *chat.Config) { c.Fork = elsewhere }); m != permission.ModeAsk {
		t.Errorf("a copy of a session from elsewhere has set the mode %s", m)
	}
	if m := mode(func(c *chat.Config) { c.Last = true }); m != permission.ModeAsk {
		t.Errorf("a copy of a session from elsewhere has set the mode %s, once it was the newest", m)
	}
	p.write("mail/from-elsewhere.jsonl", data)
	s = p.open(nil)
	if err := s.Resume(t.Context(), elsewhere); err != nil || s.Agent().State().Mode != permission.ModeAsk {
		t.Errorf("%v %s", err, s.Agent().State().Mode)
	}
	if m := mode(func(c *chat.Config) { c.File = file; c.Flags["mode"] = "plan" }); m != permission.ModePlan {
		t.Errorf("with --mode plan it is %s", m)
	}
	if m := mode(func(c *chat.Config) { c.File = file }); m != permission.ModePlan {
		t.Errorf("the session remembers %s", m)
	}
	if m := mode(func(c *chat.Config) { c.File = file; c.Environ = append(c.Environ, "CLEW_MODE=edits") }); m != permission.ModeEdits {
		t.Errorf("with CLEW_MODE=edits it is %s", m)
	}
}

// What a provider says of a window is known to the next run.
func TestWindowsAreLearnt(t *testing.T) {
	p := newPlace(t, modeltest.Overflow(210_000, 50_000), modeltest.Text("One."))
	s := p.open(nil)
	say(t, s, "first")
	if err := s.Close(); err != nil || !strings.Contains(p.read("data/windows.json"), "50000") {
		t.Fatalf("%v %s", err, p.read("data/windows.json"))
	}
	s = p.open(nil)
	if st := s.Agent().State(); st.Window != 50_000 || st.WindowFrom != "learnt" {
		t.Errorf("%+v", st)
	}
	p.write("data/windows.json", "nonsense")
	s = p.open(nil)
	if st := s.Agent().State(); st.Window != 200_000 {
		t.Errorf("%+v", st)
	}
}

// A call that is made again is told of, whoever makes it.
func TestRetriesAreTold(t *testing.T) {
	p := newPlace(t, modeltest.RateLimited(time.Millisecond), modeltest.Text("One."))
	s := p.open(nil)
	say(t, s, "first")
	waittest.Until(t, "a retry", func() bool {
		return slices.ContainsFunc(p.told(), func(e agent.Event) bool {
			return e.Kind == agent.KindRetry && e.Retry.Attempt == 1 && e.Retry.Of == 3
		})
	})
	// A call that fails again and again is made four times in all.
	for range 10 {
		p.models.Add(modeltest.RateLimited(time.Millisecond))
	}
	say(t, s, "second")
	if left := p.models.Left(); left != 6 {
		t.Errorf("it was made %d times", 10-left)
	}
}

func TestShell(t *testing.T) {
	p := newPlace(t)
	s := p.open(nil)
	for _, c := range []struct {
		command, output string
		exit            int
	}{{"echo one; echo two", "one\ntwo", 0}, {"echo no; exit 3", "no", 3}, {"true", "(no output)", 0}} {
		if err := s.Agent().Shell(t.Context(), c.command, false); err != nil {
			t.Fatal(err)
		}
		path, err := s.Agent().Path(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := path[len(path)-1].Message
		if m.Role != message.RoleBashExecution || m.Output != c.output || m.ExitCode == nil || *m.ExitCode != c.exit || m.Command != c.command {
			t.Errorf("%s: %+v", c.command, m)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	p := newPlace(t)
	for want, change := range map[string]func(*chat.Config){
		"there is no such folder":         func(c *chat.Config) { c.Dir = p.path("nowhere") },
		"it is no folder":                 func(c *chat.Config) { c.Dir = p.path("project/notes.txt") },
		"there is no such tool":           func(c *chat.Config) { c.Tools = []string{"read", "wirte"} },
		"no such file or directory":       func(c *chat.Config) { c.File = p.path("nowhere.jsonl") },
		"antropic/x":                      func(c *chat.Config) { c.Flags["model"], c.BaseURL = "antropic/x", "" },
		"rule":                            func(c *chat.Config) { c.Allow = []string{"bash("} },
		"there is no mode":                func(c *chat.Config) { c.Flags["mode"] = "free" },
		"the model that writes summaries": func(c *chat.Config) { c.Flags["summarizer"] = "nobody/x" },
	} {
		c := p.config()
		change(&c)
		s, err := chat.Open(t.Context(), c)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if len(p.sessions()) > 0 {
		t.Errorf("what could not be opened has left %q", p.sessions())
	}
}

func TestUIOfSettings(t *testing.T) {
	p := newPlace(t)
	p.write("config/settings.json", `{"ui": {"theme": "light", "screenReader": true}}`)
	if got := p.open(nil).UI(); got != (settings.UI{Theme: "light", ScreenReader: true}) {
		t.Errorf("%+v", got)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."))
	ignore := goleak.IgnoreCurrent()
	s := p.open(nil)
	say(t, s, "first")
	if err := s.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.models.Close()
	goleak.VerifyNone(t, ignore, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}
