package clew_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/wire"
)

func TestFileIsKept(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	s, err := clew.Open(ctx, path, fixed(small(8_000)))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for k := range 12 {
		add(t, s, turn(r, k)...)
		prepare(t, s)
	}
	want := shown(prepare(t, s).Messages)
	if !strings.Contains(want, "compactionSummary") {
		t.Fatal("no pass was made")
	}
	if _, err := clew.Open(ctx, path, small(8_000)); err == nil {
		t.Error("a session was opened twice for writing")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := s.Prepare(ctx); !errors.Is(err, clew.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	s, err = clew.Open(ctx, path, small(8_000))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before, _ := os.ReadFile(path)
	if got := shown(prepare(t, s).Messages); got != want {
		t.Error("the context is another one after opening")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a Prepare that had nothing to do wrote something")
	}
	if _, err := clew.Open(ctx, path+"x/y", clew.Config{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
}

func TestTriggerAtTheLimit(t *testing.T) {
	for _, tc := range []struct {
		used int64
		act  bool
	}{{7_500, false}, {7_501, true}} { // a window of 10,000, a quarter of it reserved
		s := grown(t, small(10_000), 3)
		m := message.Assistant(start, message.TextBlock("done"))
		m.Usage = &message.Usage{Input: tc.used - 1, Output: 1}
		add(t, s, message.User("go on", start), m)
		x, err := s.Explain(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		p := prepare(t, s)
		if p.Plan.Act != tc.act || (len(p.Entries) > 0) != tc.act || x.Plan.Act != tc.act {
			t.Errorf("at %d tokens: prepare %v (%s), explain %v", tc.used, p.Plan.Act, p.Plan.Why, x.Plan.Act)
		}
		if !tc.act && p.Reading.Tokens != tc.used {
			t.Errorf("the reading is %d", p.Reading.Tokens)
		}
	}
}

func TestPendingCalls(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{})
	add(t, s, message.User("look", start), message.Assistant(start, message.ToolCallBlock("c1", "ls", []byte("{}"))))
	_, err := s.Prepare(ctx)
	var pending *clew.PendingError
	if !errors.Is(err, clew.ErrPending) || !errors.As(err, &pending) || pending.Calls[0].ID != "c1" || pending.Calls[0].Name != "ls" {
		t.Fatalf("prepare: %v", err)
	}
	if _, err := s.Compact(ctx, clew.CompactOptions{}); !errors.Is(err, clew.ErrPending) {
		t.Errorf("compact: %v", err)
	}
	if x, err := s.Explain(ctx); err != nil || len(x.Pending) != 1 || !errors.Is(x.Err, clew.ErrPending) {
		t.Errorf("explain: %v %+v", err, x)
	}
	if n, err := s.CloseOpenCalls(ctx); n != 1 || err != nil {
		t.Errorf("settle: %d, %v", n, err)
	}
	if p := prepare(t, s); len(p.Messages) != 3 || !p.Messages[2].IsError {
		t.Errorf("settled to %s", shown(p.Messages))
	}
}

// CompactOptions.CloseOpenCalls closes calls for a pass that is made, and for no other.
func TestCompactClosesOpenCalls(t *testing.T) {
	ctx := context.Background()
	for _, turns := range []int{1, 14} {
		s := grown(t, small(8_000), turns)
		add(t, s, message.User("look", start), message.Assistant(start, message.ToolCallBlock("c1", "ls", []byte("{}"))))
		leaf := s.Leaf()
		opt := clew.CompactOptions{CloseOpenCalls: true, DryRun: true}
		if r, err := s.Compact(ctx, opt); err != nil || r.Plan.Act != (turns > 1) || s.Leaf() != leaf {
			t.Fatalf("%d turns, to see: %v, %+v", turns, err, r)
		}
		opt.DryRun = false
		r, err := s.Compact(ctx, opt)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := s.Context(ctx)
		if err != nil {
			t.Fatal(err)
		}
		asked := len(compact.Pending(calls))
		if turns == 1 && (r.Plan.Act || r.Closed != 0 || s.Leaf() != leaf || asked != 1) {
			t.Errorf("without a pass: %d closed, %d open, at %s", r.Closed, asked, s.Leaf())
		}
		if turns > 1 && (!r.Plan.Act || r.Closed != 1 || len(r.Entries) == 0 || asked != 0) {
			t.Errorf("with a pass: %s, %d closed, %d open", r.Plan.Why, r.Closed, asked)
		}
	}
}

// TestBodyIsWhole: a prepared context gives a body that can be posted as it is, in the
// form of each provider, and the same bytes again.
func TestBodyIsWhole(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{})
	add(t, s, message.System("Be brief.", start), message.User("look", start))
	if err := s.SetModel(ctx, "p", "large"); err != nil {
		t.Fatal(err)
	}
	p := prepare(t, s)
	for _, tc := range []struct {
		profile wire.Profile
		start   string
	}{
		{wire.Anthropic, `{"model":"large","max_tokens":64,"system":`},
		{wire.OpenAIChat, `{"model":"large","max_completion_tokens":64,"messages":`},
		{wire.OpenAIResponses, `{"model":"large","max_output_tokens":64,"store":false,"instructions":"Be brief.","input":`},
		{wire.Gemini, `{"generationConfig":{"maxOutputTokens":64},"systemInstruction":`},
	} {
		body, err := p.Body(tc.profile, 64)
		if err != nil || !json.Valid(body) || !strings.HasPrefix(string(body), tc.start) || !strings.Contains(string(body), `"look"`) {
			t.Errorf("%s: %v, %s", tc.profile.Name, err, body)
		}
		if again, err := p.Body(tc.profile, 64); err != nil || string(again) != string(body) {
			t.Errorf("%s: then %v, %s", tc.profile.Name, err, again)
		}
	}
}

func TestModelWithASmallerWindow(t *testing.T) {
	ctx := context.Background()
	s := grown(t, clew.Config{Models: map[string]clew.Override{
		"tiny":       {Window: 6_000, Reserve: compact.Percent(10)},
		"maker/tiny": {Window: 7_000},
	}}, 8)
	if p := prepare(t, s); p.Plan.Act || p.Plan.Budget.Window != compact.DefaultWindow {
		t.Fatalf("at first: %+v", p.Plan)
	}
	if err := s.SetModel(ctx, "maker", "tiny"); err != nil {
		t.Fatal(err)
	}
	p := prepare(t, s)
	if !p.Plan.Act || p.Plan.Budget.Window != 7_000 || p.Reading.Guarded() > p.Plan.Budget.Limit {
		t.Errorf("maker/tiny: %+v", p.Plan)
	}
	if err := s.SetModel(ctx, "other", "tiny"); err != nil {
		t.Fatal(err)
	}
	if p = prepare(t, s); p.Plan.Budget.Window != 6_000 || p.Plan.Budget.Reserve != 600 {
		t.Errorf("tiny: %+v", p.Plan.Budget)
	}
	// A model that is named in the settings counts whatever the path says.
	s = grown(t, clew.Config{Model: "tiny", Models: map[string]clew.Override{"tiny": {Window: 6_000}}}, 1)
	if err := s.SetModel(ctx, "p", "large"); err != nil {
		t.Fatal(err)
	}
	if p := prepare(t, s); p.Plan.Budget.Window != 6_000 {
		t.Errorf("configured: %+v", p.Plan.Budget)
	}
}

func TestManualCompact(t *testing.T) {
	ctx := context.Background()
	var instructions string
	cfg := small(64_000)
	cfg.Policy.Summarizer = summarizerFunc(func(_ context.Context, in summary.Input) error {
		instructions = in.Instructions
		return nil
	})
	s := grown(t, cfg, 8)
	before := logged(t, s.Log().Store())
	opt := clew.CompactOptions{Keep: compact.Tokens(1_000), Instructions: "keep the schema", DryRun: true}
	r, err := s.Compact(ctx, opt)
	if err != nil || !r.Plan.Act || len(r.Entries) != 0 || logged(t, s.Log().Store()) != before {
		t.Fatalf("dry run: %v %+v", err, r)
	}
	if instructions != "keep the schema" {
		t.Errorf("instructions %q", instructions)
	}
	opt.DryRun = false
	want := shown(prepare(t, s).Messages)
	r, err = s.Compact(ctx, opt)
	if err != nil || !r.Plan.Act || len(r.Entries) == 0 || r.Plan.Reason != compact.Manual {
		t.Fatalf("compact: %v %+v", err, r)
	}
	after := prepare(t, s)
	if after.Reading.Tokens >= r.Plan.Before.Tokens || shown(after.Messages) == want {
		t.Errorf("%d tokens after, %d before", after.Reading.Tokens, r.Plan.Before.Tokens)
	}
	if !strings.HasPrefix(logged(t, s.Log().Store()), before) {
		t.Error("I4: the log was changed")
	}
	if u, err := s.Undo(ctx, session.UndoOptions{}); err != nil || u.Redo || shown(prepare(t, s).Messages) != want {
		t.Errorf("I7: undo: %v", err)
	}
	if u, err := s.Undo(ctx, session.UndoOptions{}); err != nil || !u.Redo || shown(prepare(t, s).Messages) != shown(after.Messages) {
		t.Errorf("redo: %v", err)
	}
	if _, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(-1)}); err == nil {
		t.Error("a negative tail was taken")
	}
	empty := newSession(t, clew.Config{})
	if r, err := empty.Compact(ctx, clew.CompactOptions{}); err != nil || r.Plan.Act || r.Plan.Why == "" {
		t.Errorf("nothing to compact: %v %+v", err, r)
	}
	if _, err := empty.Undo(ctx, session.UndoOptions{}); !errors.Is(err, clew.ErrNothingToUndo) {
		t.Errorf("nothing to undo: %v", err)
	}
	if p := prepare(t, empty); len(p.Messages) != 0 {
		t.Errorf("an empty session has %d messages", len(p.Messages))
	}
}

func TestPinsAndRecall(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, small(8_000))
	first := add(t, s, message.User("the token is FROBNICATE-77", start), message.Assistant(start, message.TextBlock("noted: use port 8377")))
	if err := s.Pin(ctx, first[1]); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	passes := 0
	for k := range 25 {
		add(t, s, turn(r, k)...)
		if p := prepare(t, s); p.Plan.Act {
			passes++
			if !strings.Contains(shown(p.Messages), "noted: use port 8377") {
				t.Fatal("the pinned answer is gone")
			}
		}
	}
	if passes < 2 {
		t.Fatalf("only %d passes", passes)
	}
	x, err := s.Explain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if f := x.Fates[1]; f.Entry != first[1] || !f.Pinned || f.Fate != compact.FateQuoted {
		t.Errorf("fate %+v", f)
	}
	if path, err := s.Log().Path(ctx); err != nil || len(path) != len(x.Fates) {
		t.Errorf("%d fates for %d entries", len(x.Fates), len(path))
	}
	if m, err := s.Recall(ctx, first[0]); err != nil || m.Text() != "the token is FROBNICATE-77" {
		t.Errorf("recall: %v %v", m, err)
	}
	for _, op := range []func() error{
		func() error { _, err := s.Recall(ctx, "nowhere"); return err },
		func() error { return s.Pin(ctx, "nowhere") },
		func() error { return s.Navigate(ctx, "nowhere", "") },
	} {
		if err := op(); !errors.Is(err, clew.ErrNotFound) {
			t.Errorf("an id that is not there: %v", err)
		}
	}
	if err := s.Unpin(ctx, first[1]); err != nil {
		t.Fatal(err)
	}
	if x, _ := s.Explain(ctx); x.Fates[1].Pinned {
		t.Error("still pinned")
	}
	if err := s.Navigate(ctx, first[0], "look"); err != nil {
		t.Fatal(err)
	}
	if p := prepare(t, s); len(p.Messages) != 1 || p.Messages[0].Text() != "the token is FROBNICATE-77" {
		t.Errorf("after navigating: %s", shown(p.Messages))
	}
}

func TestBreaker(t *testing.T) {
	ctx := context.Background()
	cfg := small(20_000)
	cfg.Policy.Trigger, cfg.Policy.Target = compact.Tokens(5_000), compact.Tokens(4_000)
	s := grown(t, cfg, 3)
	path, err := s.Log().Path(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // two passes that freed next to nothing
		_, err := s.Log().AppendPass(ctx, "", session.PassInfo{
			Reason: string(compact.Threshold), Meter: []byte(`{"before":{"tokens":7900},"after":{"tokens":7890}}`),
		}, session.NewContextEdit(session.ContextEdit{TargetID: path[1].ID, Content: []byte(`"shorter"`)}))
		if err != nil {
			t.Fatal(err)
		}
	}
	answer := message.Assistant(start, message.TextBlock("x"))
	answer.Usage = &message.Usage{Input: 8_000, Output: 10}
	add(t, s, message.User("go on", start), answer)
	p := prepare(t, s)
	if p.Plan.Act || !p.Plan.Breaker || len(p.Messages) == 0 {
		t.Errorf("the breaker is open: %+v", p.Plan)
	}
	r, err := s.Compact(ctx, clew.CompactOptions{})
	if err != nil || !r.Plan.Act {
		t.Errorf("asked for: %v %+v", err, r)
	}
}

func TestFixedPartTooLarge(t *testing.T) {
	cfg := small(2_000)
	cfg.System = strings.Repeat("You are careful. ", 1_000)
	var reason compact.Reason
	cfg.Hooks = []clew.Hooks{{CompactFailed: func(_ context.Context, e clew.Event) error {
		reason = e.Reason
		return nil
	}}}
	s := grown(t, cfg, 2)
	before := logged(t, s.Log().Store())
	_, err := s.Prepare(context.Background())
	var fixed *clew.FixedPartError
	if !errors.As(err, &fixed) || fixed.System < 2_000 || reason != compact.Threshold {
		t.Errorf("%v %+v, told %q", err, fixed, reason)
	}
	if logged(t, s.Log().Store()) != before {
		t.Error("something was written")
	}
	x, err := s.Explain(context.Background())
	if err != nil || !errors.As(x.Err, &fixed) || len(x.Fates) == 0 {
		t.Errorf("explain: %v %+v", err, x)
	}
}

func TestBadMessages(t *testing.T) {
	s := newSession(t, clew.Config{})
	good := message.User("hello", start)
	for _, m := range []*message.Message{
		nil, {}, {Role: "robot"}, {Role: message.RoleCompactionSummary, Summary: "x"}, {Role: message.RoleToolResult},
	} {
		if ids, err := s.Append(context.Background(), good, m); !errors.Is(err, clew.ErrBadMessage) || ids != nil {
			t.Errorf("%+v: %v, %v", m, ids, err)
		}
		if _, _, err := clew.Fit(context.Background(), []*message.Message{good, good, m}, clew.Config{}); !errors.Is(err, clew.ErrBadMessage) &&
			(m == nil || m.Role != message.RoleCompactionSummary) {
			t.Errorf("fit %+v: %v", m, err)
		}
	}
	if s.Leaf() != "" {
		t.Error("part of a batch was written")
	}
	m := message.User("first", start)
	add(t, s, m)
	m.Content[0].Text = "changed"
	if p := prepare(t, s); p.Messages[0].Text() != "first" {
		t.Error("the log has the caller's message, not a copy")
	}
}

func TestSeveralGoroutines(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, small(8_000))
	first := add(t, s, message.User("begin", start))
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for k := range 12 {
				var err error
				switch r.IntN(7) {
				case 0, 1, 2:
					_, err = s.Append(ctx, turn(r, 100*g+k)...)
				case 3:
					_, err = s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(500)})
				case 4:
					_, err = s.Explain(ctx)
				case 5:
					_, err = s.Recall(ctx, first[0])
				case 6:
					err = s.SetPrompt(ctx, strings.Repeat("Be brief. ", k), nil)
				}
				if err == nil {
					var p *clew.Prepared
					if p, err = s.Prepare(ctx); err == nil {
						_ = shown(p.Messages)
						p.Messages[0] = nil // the slice is the caller's
					}
				}
				if err != nil {
					t.Errorf("goroutine %d: %v", g, err)
				}
			}
		})
	}
	wg.Wait()
	prepare(t, s)
}

func TestBusy(t *testing.T) {
	ctx := context.Background()
	for _, failBusy := range []bool{true, false} {
		entered, leave := make(chan bool), make(chan bool)
		var once sync.Once
		cfg := small(8_000)
		cfg.FailBusy = failBusy
		cfg.Policy.Summarizer = summarizerFunc(func(context.Context, summary.Input) error {
			once.Do(func() { entered <- true; <-leave })
			return nil
		})
		s := grown(t, cfg, 8)
		done := make(chan error)
		go func() {
			_, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(500)})
			done <- err
		}()
		select {
		case <-entered:
		case err := <-done:
			t.Fatal("nothing was summarized: ", err)
		}
		if failBusy {
			if _, err := s.Append(ctx, message.User("hi", start)); !errors.Is(err, clew.ErrBusy) {
				t.Errorf("while busy: %v", err)
			}
		} else {
			short, cancel := context.WithCancel(ctx)
			waited := make(chan error)
			go func() { _, err := s.Append(short, message.User("hi", start)); waited <- err }()
			cancel()
			if err := <-waited; !errors.Is(err, context.Canceled) {
				t.Errorf("waiting was cancelled: %v", err)
			}
			go func() { _, err := s.Append(ctx, message.User("hi", start)); waited <- err }()
			defer func() {
				if err := <-waited; err != nil {
					t.Errorf("after waiting: %v", err)
				}
			}()
		}
		leave <- true
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestDeterminism(t *testing.T) {
	run := func() string {
		s := newSession(t, small(8_000))
		r := rand.New(rand.NewPCG(4, 4))
		out := ""
		for k := range 15 {
			add(t, s, turn(r, k)...)
			p := prepare(t, s)
			out += shown(p.Messages) + fmt.Sprint(p.Reading, p.Plan.Why, p.Plan.Stages)
		}
		return out + logged(t, s.Log().Store())
	}
	if first, second := run(), run(); first != second {
		t.Error("I6: the same session, clock and ids gave other bytes")
	}
}
