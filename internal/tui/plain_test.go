package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/model/modeltest"
)

// paper is what a program has printed.
type paper struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// plainTest is a program that prints lines.
type plainTest struct {
	t    testing.TB
	h    *fakeHost
	in   io.WriteCloser
	out  *paper
	at   int // what was looked at
	done chan error
}

func newPlain(t testing.TB, change func(h *fakeHost, c *Config)) *plainTest {
	t.Helper()
	clock := newHand()
	h := &fakeHost{t: t, dir: t.TempDir(), queue: agent.NewEventQueue(), model: modeltest.New(), clock: clock}
	h.model.Now = clock.Now
	r, w := io.Pipe()
	x := &plainTest{t: t, h: h, in: w, out: &paper{}, done: make(chan error, 1)}
	c := Config{Host: h, Events: h.queue, In: r, Out: x.out, ScreenReader: true, Environ: []string{}, Clock: clock.Now, Silent: true}
	if change != nil {
		change(h, &c)
	}
	if err := h.New(context.Background()); err != nil {
		t.Fatal(err)
	}
	go func() { x.done <- Run(context.Background(), c) }()
	t.Cleanup(func() {
		if all := x.out.String(); t.Failed() {
			t.Logf("after\n%s\nit has printed\n%s", all[max(x.at-300, 0):x.at], all[x.at:])
		}
		w.Close()
		if err := <-x.done; err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *plainTest) types(line string) {
	x.t.Helper()
	if _, err := io.WriteString(x.in, line+"\n"); err != nil {
		x.t.Fatal(err)
	}
}

// reads waits until a text was printed, after what was read before.
func (x *plainTest) reads(text string) {
	x.t.Helper()
	waittest.Until(x.t, fmt.Sprintf("%q to be printed", text), func() bool {
		k := strings.Index(x.out.String()[x.at:], text)
		if k >= 0 {
			x.at += k + len(text)
		}
		return k >= 0
	})
}

func TestPlainConversation(t *testing.T) {
	x := newPlain(t, withTools(ask("bash")))
	x.reads("/help lists commands")
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("It is \x1b[31mpushed."))
	x.types("push it")
	x.reads("You: push it")
	x.reads("Question: allow bash?")
	x.reads("git push --force")
	x.types("y")
	x.reads("too early")
	x.h.clock.add(time.Second)
	x.types("use a branch") // a message, not an answer
	x.reads("It waits")
	x.reads("Answer with")
	x.h.clock.add(time.Second)
	x.types("y")
	x.reads("Tool git push --force: ok")
	x.reads("You: use a branch")
	x.reads("clew: It is pushed.")
	x.reads("Done.")
	if strings.ContainsAny(x.out.String(), "\x1b") {
		t.Error("an escape sequence was printed")
	}
	if strings.ContainsAny(x.out.String(), "─│█") {
		t.Errorf("something was drawn:\n%s", x.out)
	}
}

func TestPlainDenies(t *testing.T) {
	x := newPlain(t, withTools(ask("bash")))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("All right."))
	x.types("push it")
	x.reads("Answer with")
	x.h.clock.add(time.Second)
	x.types("n make a branch")
	x.reads("denied")
	x.reads("clew: All right.")
	last := x.h.model.Requests()[1].Messages
	if got := last[len(last)-1].Text(); !strings.Contains(got, "make a branch") {
		t.Errorf("the model was told %q", got)
	}
}

func TestPlainCommands(t *testing.T) {
	x := newPlain(t, small)
	for range 6 {
		x.h.model.Add(modeltest.Text(strings.Repeat("The tide turns. ", 260)))
		x.types("a question")
		x.reads("Done.")
	}
	x.types("/compact")
	x.reads("## Goal")
	x.reads("Answer with y: apply it.")
	x.types("y")
	x.reads("Compacted: ")
	x.reads("The summary: a question")
	x.h.wait()
	x.types("/undo")
	x.reads("the context is as it was before")
	x.types("/context")
	x.reads("of 16k tokens")
	if s := x.out.String(); strings.ContainsAny(s, "█░") {
		t.Errorf("bars are read out:\n%s", s)
	}
	x.types("/name")
	x.reads("name of the session")
	x.types("tides")
	x.reads("now called tides")
	x.types("/tree")
	x.reads("Type a number")
	x.types("2")
	x.reads("go there?")
	x.types("n")
	x.reads("What stood here: a question")
	x.types("/nonsense")
	x.reads("there is no command /nonsense")
	x.types("/help")
	x.reads("Tidy up")
	x.types("/cancel")
	x.reads("nothing is running")
	x.types("/new")
	x.reads("a new session")
	x.types("/undo")
	x.reads("nothing to take back")
	x.types("/tree")
	x.reads("nothing was said yet")
	x.types("/quit")
	if err := <-x.done; err != nil {
		t.Error(err)
	}
	x.done <- nil
}

// TestPlainPreview: a preview is not called a compaction, and cells without a text are not read out.
func TestPlainPreview(t *testing.T) {
	x := newPlain(t, small)
	say := func() {
		x.h.model.Add(modeltest.Text(strings.Repeat("The tide turns. ", 260)))
		x.types("a question")
		x.reads("Done.")
	}
	say()
	say()
	x.types("/compact")
	x.reads("Answer with y")
	x.types("n")
	say() // its events come after those of the preview
	if strings.Contains(x.out.String(), "Compacting ") {
		t.Error("a preview is told as a compaction")
	}
	x.types("/model")
	x.reads("scripted/other, window not known, ready\n")
	x.types("")
}

// TestPlainAsksAgain: a question of the agent is printed again after something else was open.
func TestPlainAsksAgain(t *testing.T) {
	x := newPlain(t, withTools(ask("bash")))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("All right."))
	x.types("push it")
	x.reads("Answer with y")
	x.types("/tree")
	x.reads("Type a number")
	x.types("")
	x.reads("Nothing was taken.")
	x.reads("Question: allow bash?")
	x.reads("Answer with y")
	x.h.clock.add(time.Second)
	x.types("n")
	x.reads("denied")
	x.reads("clew: All right.")
}

// piped runs a conversation on input that ends.
func piped(t *testing.T, input string) (*fakeHost, *paper) {
	t.Helper()
	clock := newHand()
	h := &fakeHost{t: t, dir: t.TempDir(), queue: agent.NewEventQueue(), model: modeltest.New(modeltest.Text("Here I am.")), clock: clock}
	if err := h.New(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	var out paper
	if err := Run(context.Background(), Config{Host: h, Events: h.queue, In: strings.NewReader(input), Out: &out, Environ: []string{"TERM=dumb"}, Clock: clock.Now}); err != nil {
		t.Fatal(err)
	}
	return h, &out
}

// TestPlainEndOfInput: what was asked is answered before the program ends.
func TestPlainEndOfInput(t *testing.T) {
	_, out := piped(t, "hello\n")
	if !strings.Contains(out.String(), "clew: Here I am.") {
		t.Errorf("it has printed\n%s", out.String())
	}
}

// TestPlainQuits: what was typed after /quit is not sent.
func TestPlainQuits(t *testing.T) {
	h, _ := piped(t, "/quit\nhello\n")
	h.wait()
	if n, waits := len(h.model.Requests()), h.Agent().Queue(); n > 0 || len(waits) > 0 {
		t.Errorf("%d requests were made, and %v waits", n, waits)
	}
}

// TestPlainTornText: a text that the end of the input cuts off is not applied.
func TestPlainTornText(t *testing.T) {
	x := newPlain(t, small)
	for range 6 {
		x.h.model.Add(modeltest.Text(strings.Repeat("The tide turns. ", 260)))
		x.types("a question")
		x.reads("Done.")
	}
	x.types("/compact")
	x.reads("Answer with y: apply it.")
	x.types("e")
	x.types("half a")
	x.in.Close()
	if err := <-x.done; err != nil {
		t.Error(err)
	}
	x.done <- nil
	if !strings.HasSuffix(x.out.String(), "Nothing was changed.\n") {
		t.Error("half a summary was applied")
	}
}

func TestRunNeedsATerminal(t *testing.T) {
	h := &fakeHost{t: t, dir: t.TempDir(), queue: agent.NewEventQueue(), model: modeltest.New(), clock: newHand()}
	err := Run(context.Background(), Config{Host: h, Events: h.queue, In: strings.NewReader(""), Out: io.Discard, Environ: []string{}})
	if err == nil || !strings.Contains(err.Error(), "--print") {
		t.Errorf("the error is %v", err)
	}
	if err := Run(context.Background(), Config{}); err == nil {
		t.Error("an empty Config is no error")
	}
}

func TestNoColor(t *testing.T) {
	h := &fakeHost{}
	c, err := Config{Host: h, Events: agent.NewEventQueue(), In: strings.NewReader(""), Out: io.Discard, Environ: []string{"NO_COLOR=1"}, Theme: widget.ModeDark}.withDefaults()
	if err != nil || c.Theme != widget.ModeNone {
		t.Errorf("theme %s, %v", c.Theme, err)
	}
	c, err = Config{Host: h, Events: agent.NewEventQueue(), In: strings.NewReader(""), Out: io.Discard, Environ: []string{"TERM=dumb"}}.withDefaults()
	if err != nil || !c.ScreenReader {
		t.Errorf("TERM=dumb: %v, %v", c.ScreenReader, err)
	}
}

// TestTaskEndsWithTheProgram: no work goes on when the program has ended.
func TestTaskEndsWithTheProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &tasks{ctx: ctx}
	begun, ended := make(chan bool), make(chan bool, 1)
	run := k.cmd(func(ctx context.Context) tea.Msg { close(begun); <-ctx.Done(); ended <- true; return nil })
	go run()
	<-begun
	cancel()
	k.wait()
	if len(ended) != 1 {
		t.Error("the task goes on")
	}
	if k.cmd(func(context.Context) tea.Msg { return "ran" })() != nil {
		t.Error("a task has begun after the end")
	}
}

// TestPlainReadsAFile: what is typed may come from a file.
func TestPlainReadsAFile(t *testing.T) {
	for _, text := range []string{"", "/nonsense\n/quit\n", "/nonsense"} {
		path := filepath.Join(t.TempDir(), "lines")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		clock, out := newHand(), &paper{}
		h := &fakeHost{t: t, dir: t.TempDir(), queue: agent.NewEventQueue(), model: modeltest.New(), clock: clock}
		if err := h.New(context.Background()); err != nil {
			t.Fatal(err)
		}
		err = Run(context.Background(), Config{Host: h, Events: h.queue, In: in, Out: out, ScreenReader: true, Environ: []string{}, Clock: clock.Now, Silent: true})
		if cerr := h.Close(); err != nil || cerr != nil {
			t.Errorf("%q: %v, %v", text, err, cerr)
		}
		if text != "" && !strings.Contains(out.String(), "there is no command /nonsense") {
			t.Errorf("%q: it prints\n%s", text, out)
		}
	}
}
