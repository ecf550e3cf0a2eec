package tui

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/summary"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	time.Local = time.UTC // times are in golden files
	goleak.VerifyTestMain(m)
}

// hand is a clock that tests move.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func newHand() *hand { return &hand{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// fakeHost is a rpc.Host on agents with a scripted model.
type fakeHost struct {
	t     testing.TB
	dir   string
	queue *agent.EventQueue
	model *modeltest.Model
	clock *hand
	cfg   func(*agent.Config) // changes the settings of each agent

	mu      sync.Mutex
	use     *agent.Agent
	files   []string
	ids     int
	lines   []string
	allowed []string
	set     []string
}

func (h *fakeHost) open(path string) (*agent.Agent, error) {
	guard, err := permission.New(permission.Config{Dir: h.dir})
	if err != nil {
		return nil, err
	}
	newID := func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ids++
		return fmt.Sprintf("%016x", h.ids)
	}
	c := agent.Config{
		File: path, Guard: guard, Model: h.model, Interactive: true, Background: -1, Clock: h.clock.Now, NewID: newID,
		Open: func(ctx context.Context, e clew.Config) (*clew.Session, error) {
			return clew.Open(ctx, path, e)
		},
		Find: func(_ context.Context, name string) (model.Model, error) {
			if name != "scripted/other" {
				return nil, fmt.Errorf("there is no model %q; clew models lists them", name)
			}
			m := modeltest.New(modeltest.Text("I am the other one."))
			m.ModelInfo.Model = "other"
			return m, nil
		},
		Shell: func(_ context.Context, line string, out func(string)) (string, int, error) {
			out("ran " + line + "\n")
			return "ran " + line + "\n", 0, nil
		},
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Events: func(e agent.Event) {
			h.queue.Send(e)
		},
	}
	c.Engine.Clock, c.Engine.NewID = h.clock.Now, newID
	if h.cfg != nil {
		h.cfg(&c)
	}
	return agent.New(context.Background(), c)
}

func (h *fakeHost) next() string {
	h.files = append(h.files, filepath.Join(h.dir, fmt.Sprintf("s%d.jsonl", len(h.files)+1)))
	return h.files[len(h.files)-1]
}

func (h *fakeHost) change(path string) error {
	if h.use != nil && h.use.State().Doing != agent.DoingNothing {
		return &agent.Error{Op: "change", Err: agent.ErrBusy}
	}
	a, err := h.open(path)
	if err != nil {
		return err
	}
	h.mu.Lock()
	old := h.use
	h.use = a
	h.mu.Unlock()
	if old != nil {
		return old.Close()
	}
	return nil
}

func (h *fakeHost) Agent() *agent.Agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.use
}
func (h *fakeHost) New(context.Context) error                   { return h.change(h.next()) }
func (h *fakeHost) Resume(_ context.Context, path string) error { return h.change(path) }
func (h *fakeHost) Fork(ctx context.Context, at string) (string, error) {
	f, err := h.Agent().Fork(ctx, h.next(), at)
	if err != nil {
		return "", err
	}
	return "", h.change(f.Path)
}

func (h *fakeHost) Sessions(ctx context.Context, _ bool) ([]sessions.Found, error) {
	found, _, err := sessions.Folder(ctx, h.dir)
	for i := range found {
		found[i].Window = 200_000
	}
	return found, err
}

func (h *fakeHost) Remove(_ context.Context, path string) error {
	h.files = slices.DeleteFunc(h.files, func(f string) bool { return f == path })
	return os.Remove(path)
}
func (h *fakeHost) Rename(context.Context, string, string) error { return errors.ErrUnsupported }
func (h *fakeHost) Models() []rpc.ModelChoice {
	return []rpc.ModelChoice{
		{Name: "scripted/script", Window: 200_000, Input: 3, Output: 15, Ready: true},
		{Name: "scripted/other", Ready: true},
		{Name: "far/away", Window: 1_000_000, Why: "FAR_API_KEY is not set"},
	}
}

func (h *fakeHost) Export(_ context.Context, format, path string) (string, error) {
	return "out." + format + path, nil
}

func (h *fakeHost) Settings() []rpc.Setting {
	return []rpc.Setting{{Name: "agent.mode", Value: "ask", Default: "ask", From: "default", Text: "what is done without asking"}}
}

func (h *fakeHost) Set(_ context.Context, name, value string) (string, error) {
	h.set = append(h.set, name+"="+value)
	return "it counts for the next session", nil
}

func (h *fakeHost) Allow(_ context.Context, rules []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.allowed = append(h.allowed, rules...)
	return nil
}
func (h *fakeHost) Hooks() []string { return []string{"session_start: ./greet"} }
func (h *fakeHost) Files(_ context.Context, prefix string, most int) (out []string) {
	for _, f := range []string{"src/main.go", "src/other.go", "README.md"} {
		if strings.Contains(f, prefix) && len(out) < most {
			out = append(out, f)
		}
	}
	return out
}
func (h *fakeHost) History() []string { return []string{"what I said before"} }
func (h *fakeHost) Remember(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}
func (h *fakeHost) Ready(context.Context) error { return nil }
func (h *fakeHost) Untrusted() []string         { return nil }
func (h *fakeHost) Trust(context.Context) error { return nil }
func (h *fakeHost) Commands() []rpc.Command {
	return []rpc.Command{{Name: "tidy", Description: "Tidy up", From: "user"}}
}

func (h *fakeHost) Expand(_ context.Context, text string) (rpc.Expanded, error) {
	return rpc.Expanded{Text: strings.Replace(text, "/tidy", "Tidy up:", 1)}, nil
}
func (h *fakeHost) Dir() string  { return "/home/u/project" }
func (h *fakeHost) Close() error { return h.Agent().Close() }

// screenTest is a terminal that a test types on and looks at.
type screenTest struct {
	t    testing.TB
	u    *ui
	h    *fakeHost
	msgs chan tea.Msg
	done chan struct{}
	quit bool
}

// newTerm starts the program on a new session, of 80 columns and 24 lines.
func newTerm(t testing.TB, change func(h *fakeHost, c *Config)) *screenTest {
	t.Helper()
	clock := newHand()
	h := &fakeHost{t: t, dir: t.TempDir(), queue: agent.NewEventQueue(), model: modeltest.New(), clock: clock}
	h.model.Now = clock.Now
	c := Config{Host: h, Events: h.queue, In: strings.NewReader(""), Out: &strings.Builder{}, Theme: widget.ModeNone, Environ: []string{}, Clock: clock.Now, Silent: true}
	if change != nil {
		change(h, &c)
	}
	if h.use == nil {
		if err := h.New(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	x := &screenTest{t: t, h: h, u: newUI(ctx, c), msgs: make(chan tea.Msg, 1000), done: make(chan struct{})}
	t.Cleanup(func() {
		cancel()
		close(x.done)
		x.u.tasks.wait()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	x.exec(x.u.Init())
	x.size(80, 24)
	x.until("the start", func() bool { return !x.u.loading })
	return x
}

// exec does what a command wants, as Bubble Tea would.
func (x *screenTest) exec(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if msg == nil {
			return
		}
		select {
		case x.msgs <- msg:
		case <-x.done:
		}
	}()
}

func (x *screenTest) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			x.exec(c)
		}
		return
	case tea.QuitMsg:
		x.quit = true
		return
	}
	_, cmd := x.u.Update(msg)
	x.exec(cmd)
	x.screen() // it is drawn after each message
}

// until lets the program run until something is so.
func (x *screenTest) until(what string, ok func() bool) {
	x.t.Helper()
	limit := time.NewTimer(6 * time.Second)
	defer limit.Stop()
	for !ok() {
		select {
		case m := <-x.msgs:
			x.update(m)
		case <-limit.C:
			x.t.Fatalf("no %s; the screen is\n%s", what, x.screen())
		}
	}
}

// sees lets the program run until the screen shows a text.
func (x *screenTest) sees(text string) {
	x.t.Helper()
	x.until(fmt.Sprintf("%q on the screen", text), func() bool { return strings.Contains(x.screen(), text) })
}

// idle lets the program run until nothing goes on.
func (x *screenTest) idle() {
	x.t.Helper()
	x.until("end of the work", func() bool {
		s := x.h.Agent().State()
		return s.Doing == agent.DoingNothing && reflect.DeepEqual(s, x.u.state) && len(x.u.jobs) == 0 && !x.u.loading &&
			len(x.u.outbox) == 0 && len(x.h.queue.Ready()) == 0 && (s.Held || s.Queue == 0) && !x.u.cancelled
	})
}

func (x *screenTest) lacks(text string) {
	x.t.Helper()
	if s := x.screen(); strings.Contains(s, text) {
		x.t.Errorf("the screen has %q:\n%s", text, s)
	}
}

func (x *screenTest) size(w, h int) { x.update(tea.WindowSizeMsg{Width: w, Height: h}) }

// screen is what the terminal shows. It is never larger than the terminal.
func (x *screenTest) screen() string {
	lines, cursor := x.u.screen()
	if len(lines) != x.u.height {
		x.t.Errorf("%d lines on a screen of %d:\n%s", len(lines), x.u.height, strings.Join(lines, "\n"))
	}
	for i, l := range lines {
		if w := widget.Width(l); w > x.u.width {
			x.t.Errorf("a line of %d columns on a screen of %d: %q", w, x.u.width, l)
		}
		if strings.ContainsAny(l, "\x1b\x07\r\n") {
			x.t.Errorf("a control character: %q", l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	if cursor != nil && (cursor.X >= max(x.u.width, 1) || cursor.Y >= x.u.height || cursor.X < 0 || cursor.Y < 0) {
		x.t.Errorf("the cursor is at %d, %d, on a screen of %d, %d", cursor.X, cursor.Y, x.u.width, x.u.height)
	}
	return strings.Join(lines, "\n") + "\n"
}

// keys are the names of keys that are not one character.
var keys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "backspace": {Code: tea.KeyBackspace},
	"alt+up": {Code: tea.KeyUp, Mod: tea.ModAlt}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
}

// press presses keys: names, ctrl+x, or characters.
func (x *screenTest) press(names ...string) {
	for _, n := range names {
		k, ok := keys[n]
		switch {
		case ok:
		case strings.HasPrefix(n, "ctrl+"):
			k = tea.KeyPressMsg{Code: rune(n[5]), Mod: tea.ModCtrl}
		default:
			r := []rune(n)[0]
			k = tea.KeyPressMsg{Code: r, Text: n}
		}
		x.update(k)
	}
}

func (x *screenTest) typed(text string) {
	for _, r := range text {
		if r == '\n' {
			x.press("alt+enter")
			continue
		}
		x.press(string(r))
	}
}

// say types a line and sends it.
func (x *screenTest) say(text string) { x.typed(text); x.send() }

// send presses Enter; a list that offers completions is closed first.
func (x *screenTest) send() {
	if x.u.ed.Busy() {
		x.press("esc")
	}
	x.press("enter")
}

// context are the messages that the model is sent, as "role: text".
func (x *screenTest) context() []string {
	x.t.Helper()
	items, err := x.h.Agent().Session().Context(context.Background())
	if err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for _, it := range items {
		m := it.Message
		text := m.Text()
		if m.Summary != "" {
			text = "(summary)"
		}
		for _, c := range m.ToolCalls() {
			text += "<" + c.Name + ">"
		}
		out = append(out, string(m.Role)+": "+text)
	}
	return out
}

// users are the texts of the user on the path.
func (x *screenTest) users() (out []string) {
	x.t.Helper()
	path, err := x.h.Agent().Path(context.Background())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, s := range path {
		if s.Message != nil && s.Message.UserWords() {
			out = append(out, s.Message.Text())
		}
	}
	return out
}

// tell sends something past the terminal.
func (x *screenTest) tell(text string) {
	x.t.Helper()
	if _, err := x.h.Agent().Send(context.Background(), agent.Input{Text: text}); err != nil {
		x.t.Fatal(err)
	}
}

// wait lets the agent do what it was told.
func (h *fakeHost) wait() {
	h.t.Helper()
	if err := h.Agent().Wait(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

// fill has a conversation that is long enough to be summarized.
func (x *screenTest) fill(turns int) {
	x.t.Helper()
	for i := range turns {
		x.h.model.Add(modeltest.Text(fmt.Sprintf("Answer %d. ", i) + strings.Repeat("The tide turns at the lighthouse. ", 120)))
		x.tell(fmt.Sprintf("question %d", i))
		x.h.wait()
	}
	x.idle()
}

// small makes the window small.
func small(h *fakeHost, _ *Config) {
	h.cfg = func(c *agent.Config) {
		c.Engine.Policy = compact.Policy{Window: 16_000, Keep: compact.Tokens(2_000)}
	}
}

// slow is a summarizer that waits until it is let go.
type slow struct {
	begun chan struct{}
	open  chan error
}

func newSlow() *slow { return &slow{begun: make(chan struct{}, 100), open: make(chan error)} }

func (s *slow) Name() string { return "slow" }
func (s *slow) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	s.begun <- struct{}{}
	select {
	case err := <-s.open:
		if err != nil {
			return summary.Output{}, err
		}
	case <-ctx.Done():
		return summary.Output{}, ctx.Err()
	}
	out, err := summary.Deterministic{}.Summarize(ctx, in)
	out.Summarizer = s.Name()
	return out, err
}

// begins lets the program run until a summary is being made.
func (x *screenTest) begins(s *slow) {
	x.t.Helper()
	x.until("the summary", func() bool { return len(s.begun) > 0 })
	<-s.begun
}

// fake is a tool.
type fake struct {
	name   string
	effect tool.Effect
	do     func(ctx context.Context, c tool.Call) (tool.Result, error)
}

func (f *fake) Spec() model.Tool {
	return model.Tool{Name: f.name, Description: "A tool.", Parameters: []byte(`{"type":"object"}`)}
}
func (f *fake) Effect(json.RawMessage) (tool.Effect, error) { return f.effect, nil }
func (f *fake) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	return f.do(ctx, c)
}

// gate is a tool that waits until it is let go.
func gate(name string) (*fake, chan struct{}) {
	open := make(chan struct{})
	return &fake{name: name, effect: tool.Effect{Kind: tool.Read, Line: name + " for the gate"}, do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		select {
		case <-open:
			return tool.Text("line one\nline two\nline three"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}}, open
}

// golden compares the screen at several sizes with a file.
func (x *screenTest) golden(name string, sizes ...[2]int) {
	x.t.Helper()
	if len(sizes) == 0 {
		sizes = [][2]int{{80, 24}, {200, 50}, {40, 10}}
	}
	var b strings.Builder
	for _, s := range sizes {
		x.size(s[0], s[1])
		fmt.Fprintf(&b, "== %dx%d\n%s", s[0], s[1], x.screen())
	}
	x.size(80, 24)
	compareGolden(x.t, name, b.String())
}

func compareGolden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s has changed; look at it, then go test -update:\n%s", path, got)
	}
}
