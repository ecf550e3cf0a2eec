package chat_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

func TestSettings(t *testing.T) {
	p := newPlace(t)
	p.write("config/settings.json", "{\n  // mine\n  \"window\": 100000, // small\n}\n")
	s := p.open(nil)
	if note, err := s.Set(t.Context(), "agent.mode", "plan"); err != nil || note != "" || s.Agent().State().Mode != permission.ModePlan {
		t.Errorf("%q %v %+v", note, err, s.Agent().State())
	}
	if note, err := s.Set(t.Context(), "window", "120000"); err != nil || !strings.Contains(note, "from now on") {
		t.Errorf("%q %v", note, err)
	}
	if note, err := s.Set(t.Context(), "model", "openai/gpt-5"); err != nil || !strings.Contains(note, "--model says "+modelName) {
		t.Errorf("%q %v", note, err)
	}
	if note, err := s.Set(t.Context(), "reasoning", "low"); err != nil || note != "" || s.Agent().State().Reasoning != "low" {
		t.Errorf("%q %v", note, err)
	}
	want := "{\n  // mine\n  \"window\": 120000, // small\n  \"agent\": {\"mode\": \"plan\"},\n  \"model\": \"openai/gpt-5\",\n  \"reasoning\": \"low\"\n}\n"
	if got := p.read("config/settings.json"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for name, value := range map[string]string{"agent.mode": "free", "window": "few", "nonsense": "1", "hooks": "[]"} {
		if _, err := s.Set(t.Context(), name, value); err == nil || strings.Contains(err.Error(), os.TempDir()+"/clew") {
			t.Errorf("%s %s: %v", name, value, err)
		}
	}
	if got := p.read("config/settings.json"); got != want {
		t.Errorf("what is wrong was written: %s", got)
	}
	at := slices.IndexFunc(s.Settings(), func(v rpc.Setting) bool { return v.Name == "window" })
	if v := s.Settings()[at]; v.Value != "120000" || !strings.HasSuffix(v.From, "settings.json:3") || v.Text == "" || v.Default == "" {
		t.Errorf("%+v", v)
	}
	if err := s.New(t.Context()); err != nil || s.Agent().State().Window != 120_000 {
		t.Errorf("%v %+v", err, s.Agent().State())
	}
}

func TestAllow(t *testing.T) {
	call := modeltest.Answer(modeltest.Call("c1", "bash", `{"command":"touch made"}`))
	p := newPlace(t, call, modeltest.Text("Done."))
	p.write("config/settings.json", "{\n  \"permissions\": {\"deny\": [\"bash(rm *)\"]}\n}\n")
	s := p.open(nil)
	if err := s.Allow(t.Context(), []string{"bash(touch *)", "edit(src/**)"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Allow(t.Context(), []string{"edit(src/**)", "write"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Allow(t.Context(), []string{"bash("}); err == nil {
		t.Error("what is no rule was taken")
	}
	var file struct {
		Permissions struct{ Allow, Deny []string }
	}
	if err := json.Unmarshal([]byte(p.read("config/settings.json")), &file); err != nil ||
		!slices.Equal(file.Permissions.Allow, []string{"bash(touch *)", "edit(src/**)", "write"}) || len(file.Permissions.Deny) != 1 {
		t.Errorf("%+v %v", file, err)
	}
	say(t, s, "make it") // it would wait for an answer else
	if _, err := os.Stat(p.path("project/made")); err != nil {
		t.Error(err)
	}
}

// Without anybody to ask, what is not allowed is refused, and it is said how to allow it.
func TestRefused(t *testing.T) {
	p := newPlace(t, modeltest.Answer(
		modeltest.Call("c1", "bash", `{"command":"go test ./..."}`), modeltest.Call("c2", "bash", `{"command":"go test ./..."}`),
		modeltest.Call("c3", "write", `{"path":"a.txt","content":"x"}`), modeltest.Call("c4", "read", `{"path":"notes.txt"}`),
	), modeltest.Text("I may not."))
	s := p.open(func(c *chat.Config) { c.Interactive = false })
	say(t, s, "test it")
	refused := func() (out []*agent.Question) {
		for _, e := range p.told() {
			if e.Kind == agent.KindRefused {
				out = append(out, e.Question)
			}
		}
		return out
	}
	got := refused()
	if len(got) != 3 || got[0].Tool.Line != "bash: go test ./..." || len(got[0].Rules) == 0 || got[0].Why == "" || len(got[2].Rules) == 0 {
		t.Fatalf("%+v", got)
	}
	// What it says is enough.
	p.models.Add(modeltest.Answer(modeltest.Call("d1", "bash", `{"command":"go test ./..."}`), modeltest.Call("d2", "write", `{"path":"a.txt","content":"x"}`)), modeltest.Text("Done."))
	s = p.open(func(c *chat.Config) {
		c.Interactive, c.Allow = false, append(slices.Clone(got[0].Rules), got[2].Rules...)
	})
	say(t, s, "test it")
	if again := refused()[len(got):]; len(again) > 0 || p.read("project/a.txt") != "x" {
		t.Errorf("%+v", again)
	}
}

func TestTrust(t *testing.T) {
	p := newPlace(t)
	p.write("project/.clew/settings.json", `{"permissions": {"allow": ["bash"], "deny": ["read(.env)"]}, "hooks": [{"event": "tool_result", "command": "redact"}]}`)
	s := p.open(nil)
	if got := s.Untrusted(); len(got) != 2 || !s.AskTrust() {
		t.Fatalf("%q", got)
	}
	if len(s.Hooks()) > 0 {
		t.Errorf("%q", s.Hooks())
	}
	if err := s.DontTrust(); err != nil || s.AskTrust() {
		t.Errorf("it is asked again; %v", err)
	}
	p.write("project/.clew/settings.json", `{"permissions": {"allow": ["bash", "write"]}}`)
	p.write("project/.clew/settings.json", `{"hooks": [{"event": "tool_result", "command": "redact"}]}`)
	s = p.open(func(c *chat.Config) { c.Dir = p.path("project") })
	if !s.AskTrust() {
		t.Error("the project wants something else, and nobody is asked")
	}
	if err := s.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Untrusted(); len(got) > 0 || s.AskTrust() || len(s.Hooks()) != 1 {
		t.Errorf("%q %q", got, s.Hooks())
	}
	if !strings.Contains(p.read("config/settings.json"), "trustProjectHooks") {
		t.Error(p.read("config/settings.json"))
	}
}

func TestHistory(t *testing.T) {
	p := newPlace(t)
	s, other := p.open(nil), p.open(nil)
	for _, line := range []string{"one", "two\nlines", "two\nlines", "", "three"} {
		s.Remember(line)
	}
	other.Remember("from the other program")
	if got := s.History(); !slices.Equal(got, []string{"one", "two\nlines", "three"}) {
		t.Errorf("%q", got)
	}
	if got := p.open(nil).History(); !slices.Equal(got, []string{"one", "two\nlines", "three", "from the other program"}) {
		t.Errorf("%q", got)
	}
	files, err := filepath.Glob(p.path("data/history/*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v %v", info.Mode(), err)
	}
	long := strings.Repeat("x", 8000)
	for i := range 1200 {
		s.Remember(fmt.Sprint(i, long))
	}
	s.Remember(strings.Repeat("y", 100_000)) // no line that somebody has typed
	info, err := os.Stat(files[0])
	if err != nil || info.Size() > 4<<20 || len(s.History()) > 1000 {
		t.Errorf("%d bytes, %d lines, %v", info.Size(), len(s.History()), err)
	}
	got := p.open(nil).History()
	if len(got) > 500 || got[len(got)-1] != fmt.Sprint(1199, long) {
		t.Errorf("%d lines", len(got))
	}
	p.write("data/history/"+filepath.Base(files[0]), "nonsense\n\"good\"\n{}\n")
	if got := p.open(nil).History(); !slices.Equal(got, []string{"good"}) {
		t.Errorf("%q", got)
	}
}

func TestFiles(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"main.go", "src/main.go", "src/remain.go", "build/out.o", "docs/Main.md"} {
		p.write("project/"+name, "x")
	}
	p.write("project/.gitignore", "build/\n")
	s := p.open(nil)
	for prefix, want := range map[string][]string{
		"main":   {"main.go", "docs/Main.md", "src/main.go", "src/remain.go"},
		"./src/": {"src/", "src/main.go", "src/remain.go"},
		"out":    nil,
		"nosuch": nil,
	} {
		if got := s.Files(t.Context(), prefix, 10); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
	if got := s.Files(t.Context(), "", 2); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := s.Files(t.Context(), "a", 0); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestExportRenameRemove(t *testing.T) {
	p := newPlace(t, modeltest.Text("The key is "+"sk-ant-api03-"+strings.Repeat("a1B2", 24)+"AA"))
	s := p.open(nil)
	say(t, s, "first words")
	first := s.Agent().State().File
	for format, path := range map[string]string{"": "out.html", "pi": "", "anthropic": "body.json"} {
		out, err := s.Export(t.Context(), format, path)
		if err != nil {
			t.Errorf("%s %s: %v", format, path, err)
			continue
		}
		data, err := os.ReadFile(out)
		if err != nil || !strings.Contains(string(data), "first words") || strings.Contains(string(data), "a1B2a1B2") || filepath.Dir(out) != p.path("project") {
			t.Errorf("%s: %d bytes, %v", out, len(data), err)
		}
		if _, err := s.Export(t.Context(), format, out); err == nil {
			t.Errorf("%s was written over", out)
		}
	}
	for _, bad := range [][2]string{{"word", "x"}, {"", "x.docx"}, {"", "nowhere/x.html"}} {
		if _, err := s.Export(t.Context(), bad[0], bad[1]); err == nil {
			t.Errorf("%q", bad)
		}
	}
	if err := s.Rename(t.Context(), first, "in use"); err != nil || s.Agent().State().Name != "in use" {
		t.Errorf("%v", err)
	}
	if err := s.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(t.Context(), first, "by then"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Sessions(t.Context(), true)
	if err != nil || len(list) != 2 || !slices.ContainsFunc(list, func(i sessions.Found) bool { return i.Name == "by then" }) {
		t.Errorf("%+v %v", list, err)
	}
	if err := s.Remove(t.Context(), first); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(first); err == nil {
		t.Error("it is still there")
	}
}

func TestForkReturnsWhatWasTyped(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."), modeltest.Text("Two."), modeltest.Text("Three."))
	s := p.open(nil)
	say(t, s, "first")
	say(t, s, "second")
	path, err := s.Agent().Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(path, func(e agent.Shown) bool { return e.Message != nil && e.Message.Text() == "second" })
	text, err := s.Fork(t.Context(), path[at].ID)
	if err != nil || text != "second" {
		t.Fatalf("%q %v", text, err)
	}
	say(t, s, "otherwise")
	path, err = s.Agent().Path(t.Context())
	var said []string
	for _, e := range path {
		if e.Message != nil && e.Message.Role == message.RoleUser {
			said = append(said, e.Message.Text())
		}
	}
	if err != nil || !slices.Equal(said, []string{"first", "otherwise"}) {
		t.Errorf("%q %v", said, err)
	}
}

// A server that is slow makes nobody wait; its tools are there from the first request
// after that, in a session that was asked nothing, and else from the next pass on.
func TestServersConnectBesides(t *testing.T) {
	p := newPlace(t, modeltest.Text("One."))
	p.write("config/settings.json", `{"mcpServers": {"gone": {"command": "no-such-program-there-is"}, "off": {"command": "x", "enabled": false}}}`)
	s := p.open(nil)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a warning", func() bool { return strings.Contains(p.warnings(), "gone") })
	if lines := s.Hooks(); len(lines) != 1 || !strings.HasPrefix(lines[0], "server gone: ") {
		t.Errorf("%q", lines)
	}
	say(t, s, "first")
}
