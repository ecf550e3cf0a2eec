package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a set of tools in a folder of its own.
type bench struct {
	t   *testing.T
	dir string
	set *builtin.Set
}

func newBench(t *testing.T, change ...func(*builtin.Config)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(dir, "project")}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := builtin.Config{Dir: b.dir}
	for _, f := range change {
		f(&c)
	}
	if b.set, err = builtin.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.set.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// path is one in the project; one that begins with "/" is beside it.
func (b *bench) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "/"); ok {
		return filepath.Join(filepath.Dir(b.dir), filepath.FromSlash(rest))
	}
	return filepath.Join(b.dir, filepath.FromSlash(name))
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	p := b.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.Symlink(target, b.path(name)); err != nil {
		b.t.Skip("no symbolic links here: ", err)
	}
}

func (b *bench) get(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) tool(name string) tool.Tool {
	b.t.Helper()
	for _, t := range b.set.Tools() {
		if t.Spec().Name == name {
			return t
		}
	}
	b.t.Fatalf("there is no tool %s", name)
	return nil
}

func args(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return data
}

// call asks for the effect and runs the call, as an agent does.
func (b *bench) call(name string, pairs ...any) (tool.Effect, tool.Result, error) {
	b.t.Helper()
	t := b.tool(name)
	e, err := t.Effect(args(pairs...))
	if err != nil {
		return e, tool.Result{}, err
	}
	r, err := t.Run(b.t.Context(), tool.Call{ID: "c1", Arguments: args(pairs...)})
	for _, block := range r.Content {
		if !utf8.ValidString(block.Text) || strings.Contains(block.Text, "\x00") {
			b.t.Errorf("%s: the result is no text for a log: %q", name, block.Text)
		}
	}
	if r.Details != nil && (!json.Valid(r.Details) || !utf8.Valid(r.Details)) {
		b.t.Errorf("%s: the details are no JSON: %s", name, r.Details)
	}
	return e, r, err
}

// ok is call for calls that must succeed; it returns the text.
func (b *bench) ok(name string, pairs ...any) string {
	b.t.Helper()
	_, r, err := b.call(name, pairs...)
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return textOf(r)
}

// bad is call for calls that must fail; it returns the error.
func (b *bench) bad(name string, pairs ...any) error {
	b.t.Helper()
	_, r, err := b.call(name, pairs...)
	if err == nil {
		b.t.Fatalf("%s %s: no error, but %q", name, args(pairs...), textOf(r))
	}
	var e *builtin.Error
	if !errors.As(err, &e) || e.Op == "" || strings.ContainsAny(err.Error(), "\n\x1b") {
		b.t.Errorf("%s: %q is no error for a model", name, err)
	}
	return err
}

func textOf(r tool.Result) string {
	var all []string
	for _, c := range r.Content {
		if c.Type == message.BlockText {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

func details(t *testing.T, r tool.Result) (d tool.Details) {
	t.Helper()
	if r.Details == nil {
		return d
	}
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in %q", w, got)
		}
	}
}

func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("not on Windows")
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	var names []string
	b := newBench(t, func(c *builtin.Config) {
		c.Recall = func(_ context.Context, a json.RawMessage) (string, error) {
			if strings.Contains(string(a), "nope") {
				return "", errors.New("nothing there")
			}
			return "found by " + string(a), nil
		}
	})
	for _, tl := range b.set.Tools() {
		s := tl.Spec()
		names = append(names, s.Name)
		if s.Description == "" || !json.Valid(s.Parameters) {
			t.Errorf("%s: %+v", s.Name, s)
		}
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema %s: %v", s.Name, s.Parameters, err)
		}
		for _, r := range schema.Required {
			if schema.Properties[r].Type == "" {
				t.Errorf("%s: %s is needed and not described", s.Name, r)
			}
		}
		// Whatever the arguments are, the answer is an error and not a panic.
		for _, bad := range []string{"", "null", "[]", `"x"`, `{`, `{"path":1}`, `{"path":{}}`, `{"command":[]}`, "{}x"} {
			_, err := tl.Effect(json.RawMessage(bad))
			_, runErr := tl.Run(t.Context(), tool.Call{Arguments: json.RawMessage(bad)})
			if s.Name != "ls" && s.Name != "recall" && (err == nil || runErr == nil) {
				t.Errorf("%s takes %s", s.Name, bad)
			}
		}
	}
	if got := strings.Join(names, " "); got != "read write edit bash grep find ls todo recall" {
		t.Errorf("tools %s", got)
	}
	e, r, err := b.call("recall", "query", "token expiry")
	if err != nil || e.Kind != tool.Read || e.Outside || e.Line != "recall token expiry" || textOf(r) != `found by {"query":"token expiry"}` {
		t.Errorf("%+v %+v %v", e, r, err)
	}
	if _, _, err := b.call("recall", "query", "nope"); err == nil {
		t.Error("the error of recall is lost")
	}
	for _, tl := range newBench(t).set.Tools() {
		if tl.Spec().Name == "recall" {
			t.Error("there is a tool recall without anything to answer its calls")
		}
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []builtin.Config{
		{Dir: filepath.Join(t.TempDir(), "none")},
		{Dir: t.TempDir(), Shell: "no-such-shell-anywhere"},
	} {
		set, err := builtin.New(c)
		if err == nil {
			set.Close()
			t.Errorf("%+v: no error", c)
			continue
		}
		contains(t, err.Error(), ";")
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set, err := builtin.New(builtin.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tl := range set.Tools() {
		if tl.Spec().Name == "bash" {
			continue
		}
		if _, err := tl.Run(t.Context(), tool.Call{Arguments: args("path", "a", "content", "", "oldText", "a", "newText", "b", "pattern", "x")}); err == nil {
			t.Errorf("%s works after Close", tl.Spec().Name)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("%v was made after Close", list)
	}
}

func TestCancelledBeforeRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a", "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tl := range b.set.Tools() {
		a := args("path", "a", "content", "new", "oldText", "old", "newText", "new", "pattern", "o", "command", "echo x >a")
		if _, err := tl.Run(ctx, tool.Call{Arguments: a}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", tl.Spec().Name, err)
		}
	}
	if got := b.get("a"); got != "old" {
		t.Errorf("a call that was cancelled made it %q", got)
	}
}
