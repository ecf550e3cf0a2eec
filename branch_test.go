package clew_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// work says what was asked for, reads one file and changes another.
func work(name string) []*message.Message {
	return []*message.Message{
		message.User("please try the way of "+name, start),
		message.Assistant(start, message.TextBlock("I change "+name+".go."),
			message.ToolCallBlock("r"+name, "read", []byte(`{"path":"docs/`+name+`.md"}`)),
			message.ToolCallBlock("w"+name, "write", []byte(`{"path":"`+name+`.go","content":"package x"}`))),
		message.ToolResult("r"+name, "read", "notes on "+name, false, start),
		message.ToolResult("w"+name, "write", "ok", false, start),
		message.Assistant(start, message.TextBlock("It does not work: the parser of "+name+" fails at line 42.")),
	}
}

func branchTo(t *testing.T, s *clew.Session, target string, opt clew.BranchOptions) *clew.Branched {
	t.Helper()
	b, err := s.Branch(context.Background(), target, opt)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBranch(t *testing.T) {
	path := tempFile(t)
	cfg := fixed(small(200_000))
	s, err := clew.Open(context.Background(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	first := add(t, s, message.User("make it fast", start), message.Assistant(start, message.TextBlock("I will try.")))
	left := add(t, s, work("alpha")...)

	// To an answer, with a summary.
	b := branchTo(t, s, first[1], clew.BranchOptions{Summarize: true, Label: "after alpha"})
	if b.From != left[len(left)-1] || b.Ancestor != first[1] || b.Left != 5 || b.Text != "" || b.Summary == nil || len(b.Entries) != 2 {
		t.Fatalf("%+v", b)
	}
	if !slices.Equal(b.ModifiedFiles, []string{"alpha.go"}) || !slices.Equal(b.ReadFiles, []string{"docs/alpha.md"}) {
		t.Error(b.ModifiedFiles, b.ReadFiles)
	}
	p := prepare(t, s)
	got := shown(p.Messages)
	if len(p.Messages) != 3 || p.Messages[2].Role != message.RoleBranchSummary || !strings.Contains(got, "please try the way of alpha") || strings.Contains(got, "notes on alpha") {
		t.Errorf("the new branch has %s", got)
	}
	e, err := s.Log().Store().Get(context.Background(), b.Entries[0])
	if err != nil || e.ParentID != first[1] {
		t.Error(e.ParentID, err)
	}
	if view, _ := e.BranchSummary(); view.FromID != b.From || !strings.Contains(string(view.Details), `"modifiedFiles":["alpha.go"]`) || !strings.Contains(string(view.Details), `"readFiles":["docs/alpha.md"]`) {
		t.Errorf("fromId is %s, details %s", view.FromID, view.Details)
	}

	// A navigation survives a restart.
	second := add(t, s, work("beta")...)
	b = branchTo(t, s, left[1], clew.BranchOptions{})
	if b.Summary != nil || s.Leaf() == second[4] {
		t.Errorf("%+v", b)
	}
	before := contextOf(t, s.Log().Store())
	s.Close()
	if s, err = clew.Open(context.Background(), path, cfg); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if contextOf(t, s.Log().Store()) != before || !strings.Contains(before, "way of alpha") || strings.Contains(before, "beta") {
		t.Error("the place was forgotten")
	}

	// To a message of the user: before it, and its text is given back. From there to
	// before the first.
	b = branchTo(t, s, second[0], clew.BranchOptions{})
	if b.Text != "please try the way of beta" || strings.Contains(contextOf(t, s.Log().Store()), "the way of beta") {
		t.Errorf("%+v", b)
	}
	b = branchTo(t, s, first[0], clew.BranchOptions{Summarize: true})
	if b.Text != "make it fast" || b.Summary == nil {
		t.Errorf("%+v", b)
	}
	if p := prepare(t, s); len(p.Messages) != 1 || p.Messages[0].Role != message.RoleBranchSummary || !strings.Contains(p.Messages[0].Summary, "alpha.go") {
		t.Errorf("files are not cumulative over branches: %s", shown(p.Messages))
	}
	b = branchTo(t, s, s.Leaf(), clew.BranchOptions{Summarize: true})
	if len(b.Entries) > 0 || b.Why == "" {
		t.Errorf("a move to where it stands: %+v", b)
	}
	if _, err := s.Branch(context.Background(), "nowhere", clew.BranchOptions{}); !errors.Is(err, clew.ErrNotFound) {
		t.Error(err)
	}
}

// TestBranchRespectsEdits: what was taken out by somebody does not come back by a
// summary; what a pass took out does.
func TestBranchRespectsEdits(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, small(200_000))
	at := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
	ids := add(t, s,
		message.User("the key is hunter2hunter2", start), message.Assistant(start, message.TextBlock("noted")),
		message.User("the port is 48123", start), message.Assistant(start, message.TextBlock("We decided to keep port 48123.")))
	_, err := s.Log().Append(ctx,
		session.NewContextEdit(session.ContextEdit{TargetID: ids[0], Content: []byte(`"[removed]"`)}),
		session.NewContextEdit(session.ContextEdit{TargetID: ids[2], Content: []byte(`"[shortened]"`), Details: []byte(`{"clew":{"rung":"offload","freed":1}}`)}))
	if err != nil {
		t.Fatal(err)
	}
	b := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true, DryRun: true})
	if text := b.Summary.Summary; strings.Contains(text, "hunter2") || !strings.Contains(text, "the port is 48123") {
		t.Error(text)
	}
	if len(b.Entries) > 0 || strings.Contains(logged(t, s.Log().Store()), "branch_summary") {
		t.Error("a dry run wrote something")
	}
}

// TestBranchIsSummarizedOnce: the same range for the same question asks no
// summarizer again.
func TestBranchIsSummarizedOnce(t *testing.T) {
	cfg := small(200_000)
	asked := 0
	cfg.Policy.Summarizer = summarizerFunc(func(context.Context, summary.Input) error { asked++; return nil })
	s := newSession(t, cfg)
	at := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
	left := add(t, s, work("alpha")...)
	leaf := left[len(left)-1]
	one := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true})
	branchTo(t, s, leaf, clew.BranchOptions{})
	two := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true})
	if asked != 1 || two.CachedFrom == "" || two.CachedFrom != one.Entries[0] {
		t.Errorf("asked %d times, cached %v", asked, (two.CachedFrom != ""))
	}
	if two.Summary.Summary != one.Summary.Summary {
		t.Error("another text")
	}
	if err := s.Navigate(context.Background(), leaf, ""); err != nil {
		t.Fatal(err)
	}
	before := asked
	var in summary.Input
	cfg.Policy.Summarizer = summarizerFunc(func(_ context.Context, i summary.Input) error { in = i; return nil })
	if other, err := clew.OpenStore(context.Background(), s.Log().Store(), cfg); err != nil {
		t.Fatal(err)
	} else if branchTo(t, other, at[1], clew.BranchOptions{Summarize: true, DryRun: true, Instructions: "say yes", ReplaceInstructions: true}); in.Instructions != "say yes" || !in.OnlyInstructions {
		t.Errorf("%q %v", in.Instructions, in.OnlyInstructions)
	}
	cfg.Policy.Strategy = summary.Research
	if other, err := clew.OpenStore(context.Background(), s.Log().Store(), cfg); err != nil {
		t.Fatal(err)
	} else if branchTo(t, other, at[1], clew.BranchOptions{Summarize: true, DryRun: true}); in.Profile != summary.Research {
		t.Errorf("another strategy was answered with an old summary, or not asked for: %v", in.Profile)
	}
	three := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true, Instructions: "the parser"})
	if (three.CachedFrom != "") || asked == before {
		t.Error("another question was answered with an old summary")
	}
}

// TestBranchFails: an error of the summarizer, a cancelled context, a hook that stops
// it: the session stands where it stood.
func TestBranchFails(t *testing.T) {
	ctx := context.Background()
	boom := errors.New("boom")
	var decision clew.Decision
	var told []string
	cfg := small(200_000)
	fail := true
	cfg.Policy.Summarizer = summarizerFunc(func(context.Context, summary.Input) error {
		if fail {
			return boom
		}
		return nil
	})
	cfg.Hooks = []clew.Hooks{
		{BeforeBranch: func(_ context.Context, e clew.BeforeBranchEvent) (clew.Decision, error) {
			if len(e.Messages()) == 0 {
				t.Error("the hook sees nothing of what is left")
			}
			return decision, nil
		}},
		{BeforeBranch: func(context.Context, clew.BeforeBranchEvent) (clew.Decision, error) { panic("hook") }},
		{AfterBranch: func(_ context.Context, b clew.Branched) error { told = append(told, b.Leaf); return nil }},
	}
	s := newSession(t, cfg)
	at := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
	add(t, s, work("alpha")...)
	leaf, before := s.Leaf(), logged(t, s.Log().Store())
	stays := func(what string) {
		t.Helper()
		if s.Leaf() != leaf || logged(t, s.Log().Store()) != before || len(told) > 0 {
			t.Errorf("%s: the session has changed", what)
		}
	}
	if _, err := s.Branch(ctx, at[1], clew.BranchOptions{Summarize: true}); !errors.Is(err, boom) {
		t.Error(err)
	}
	stays("a summarizer that fails")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Branch(gone, at[1], clew.BranchOptions{Summarize: true}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stays("a cancelled context")
	decision = clew.Decision{Cancel: true, Why: "not now"}
	if b := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true}); !strings.Contains(b.Why, "not now") || b.Leaf != leaf {
		t.Errorf("%+v", b)
	}
	stays("a hook that stops it")
	decision, fail = clew.Decision{Summary: "The hook's own words.", Label: "by hook"}, false
	b := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true})
	if !strings.Contains(b.Summary.Summary, "The hook's own words.") || !slices.Equal(b.ModifiedFiles, []string{"alpha.go"}) || len(told) != 1 || len(b.Warnings) != 1 {
		t.Errorf("%+v %v", b, told)
	}
	// Without a wish for a summary there is none, whatever the hook says.
	if b := branchTo(t, s, leaf, clew.BranchOptions{}); b.Summary != nil {
		t.Errorf("%+v", b)
	}
}

// TestBranchCountsWhatWasCompacted: a message is left behind whether the model still saw it
// or it stood in a summary by then.
func TestBranchCountsWhatWasCompacted(t *testing.T) {
	s := newSession(t, small(16_000))
	r := rand.New(rand.NewPCG(1, 1))
	begin := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
	said, passes := 0, 0
	for k := 0; passes < 3; k++ {
		if k == 100 {
			t.Fatal("no three compactions")
		}
		said += len(add(t, s, turn(r, k)...))
		if p := prepare(t, s); p.Plan.Cut != nil {
			passes++
		}
	}
	b := branchTo(t, s, begin[1], clew.BranchOptions{DryRun: true})
	shown, err := s.Log().Context(context.Background())
	if err != nil || b.Left != said || len(shown.Items) >= said {
		t.Errorf("%d messages are left behind, %d were said, and the model sees %d, %v", b.Left, said, len(shown.Items), err)
	}
	// The summary of a branch is a message of the one that it was told to.
	branchTo(t, s, begin[1], clew.BranchOptions{Summarize: true})
	said = len(add(t, s, work("gamma")...))
	if b := branchTo(t, s, begin[1], clew.BranchOptions{DryRun: true}); b.Left != said+1 {
		t.Errorf("%d messages are left behind, not %d and a summary", b.Left, said)
	}
}

// TestBranchesOverRandomTrees moves about at random with and without summaries and
// passes between, and compares with what the tree says.
func TestBranchesOverRandomTrees(t *testing.T) {
	ctx := context.Background()
	summaries, moves, changed := 0, 0, 0
	seeds := 8
	if testing.Short() {
		seeds = 3
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := newSession(t, small(16_000))
		var all []string
		for k := range 30 {
			name := string(rune('a'+k%26)) + "x"
			all = append(all, add(t, s, work(name)...)...)
			if r.IntN(3) == 0 {
				all = append(all, add(t, s, turn(r, k)...)...)
			}
			prepare(t, s)
			if r.IntN(2) == 0 {
				continue
			}
			target := all[r.IntN(len(all))]
			want, _, err := branch.Place(ctx, s.Log().Store(), target)
			if err != nil {
				t.Fatal(err)
			}
			from := s.Leaf()
			settled := func() {
				if _, err := s.CloseOpenCalls(ctx); err != nil {
					t.Fatal(err)
				}
			}
			b := branchTo(t, s, target, clew.BranchOptions{Summarize: r.IntN(2) == 0})
			moves++
			if b.Summary == nil {
				if got := contextOf(t, s.Log().Store()); b.Leaf != from && got != contextOfLeaf(t, s, want) {
					t.Errorf("seed %d: the context is not that of the target", seed)
				}
				settled()
				continue
			}
			summaries++
			c, err := s.Log().Context(ctx)
			if err != nil {
				t.Fatal(err)
			}
			last := c.Items[len(c.Items)-1]
			if last.Message.Role != message.RoleBranchSummary || last.Message.Summary != b.Summary.Summary {
				t.Errorf("seed %d: the new branch does not end with the summary", seed)
			}
			// Every file that was changed on what is left is named.
			rng, err := branch.Collect(ctx, s.Log().Store(), from, target)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range rng.Entries {
				if e.Type != session.TypeMessage {
					continue
				}
				m, err := e.Message()
				if err != nil || m.Role != message.RoleToolResult || m.ToolName != "write" || m.IsError {
					continue
				}
				name := strings.TrimPrefix(m.ToolCallID, "w") + ".go"
				if changed++; !slices.Contains(b.ModifiedFiles, name) {
					t.Errorf("seed %d: %s was changed and is not among %v", seed, name, b.ModifiedFiles)
				}
			}
			settled()
			prepare(t, s)
		}
	}
	t.Logf("%d moves, %d summaries, %d files changed on what was left", moves, summaries, changed)
	if summaries < 4*seeds || changed < 12*seeds {
		t.Error("too few")
	}
}

func contextOfLeaf(t *testing.T, s *clew.Session, leaf string) string {
	t.Helper()
	c, err := session.ContextAt(context.Background(), s.Log().Store(), leaf)
	if err != nil {
		t.Fatal(err)
	}
	var msgs []*message.Message
	for _, it := range c.Items {
		msgs = append(msgs, it.Message)
	}
	return shown(msgs)
}

// TestPiFilesAccumulate: with preset pi too, the files of a branch that was left are in the lists of a compaction
// after it, those of branches in that branch are, and all of them still after a hook has given a summary.
func TestPiFilesAccumulate(t *testing.T) {
	ctx := t.Context()
	policy, err := compact.Preset(compact.PresetPi)
	if err != nil {
		t.Fatal(err)
	}
	give := ""
	hook := clew.Hooks{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
		return clew.Decision{Summary: give}, nil
	}}
	s := newSession(t, clew.Config{Policy: policy, Hooks: []clew.Hooks{hook}})
	first := add(t, s, message.User("make it fast", start), message.Assistant(start, message.TextBlock("I will try.")))
	add(t, s, work("alpha")...)
	branchTo(t, s, first[1], clew.BranchOptions{Summarize: true})
	add(t, s, work("beta")...)
	branchTo(t, s, first[1], clew.BranchOptions{Summarize: true})
	for i, name := range []string{"gamma", "delta", "epsilon"} {
		give = []string{"", "By a hook.", ""}[i]
		add(t, s, work(name)...)
		r, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(1)})
		if err != nil || len(r.Entries) == 0 {
			t.Fatalf("%s: %v", r.Plan.Why, err)
		}
		e, err := s.Log().Store().Get(ctx, r.Entries[len(r.Entries)-1])
		if err != nil {
			t.Fatal(err)
		}
		c, ok := e.Compaction()
		d := storedDetails(t, c.Details)
		want := []string{"alpha.go", "beta.go", "delta.go", "epsilon.go", "gamma.go"}
		for _, late := range []string{"epsilon", "delta"}[:2-i] {
			want = slices.DeleteFunc(want, func(f string) bool { return f == late+".go" })
		}
		if !ok || c.FromHook != (give != "") || !slices.Equal(d.ModifiedFiles, want) || len(d.ReadFiles) != len(want) {
			t.Errorf("%s: modified %q, want %q; read %q", name, d.ModifiedFiles, want, d.ReadFiles)
		}
	}
}

// A model is called for the summary of a branch as often as for one of a pass.
func TestBranchTries(t *testing.T) {
	cfg := small(200_000)
	cfg.Policy.Tries = 3
	asked := 0
	cfg.Policy.Summarizer = summarizerFunc(func(_ context.Context, in summary.Input) error {
		asked = in.Tries
		return nil
	})
	s := newSession(t, cfg)
	first := add(t, s, message.User("make it fast", start), message.Assistant(start, message.TextBlock("I will try.")))
	add(t, s, work("alpha")...)
	if branchTo(t, s, first[1], clew.BranchOptions{Summarize: true}); asked != 3 {
		t.Errorf("%d tries, not 3", asked)
	}
}
