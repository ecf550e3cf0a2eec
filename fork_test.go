package clew_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

func fork(t *testing.T, from string, opt clew.ForkOptions) *clew.Forked {
	t.Helper()
	f, err := clew.Fork(context.Background(), from, t.TempDir(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func openFile(t *testing.T, path string) *jsonl.File {
	t.Helper()
	f, err := jsonl.Open(context.Background(), path, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// soundFork fails unless a fork opens as it was written, its tree is whole, and what
// was copied has its bytes.
func soundFork(t *testing.T, src session.Store, f *clew.Forked, sameBytes bool) *jsonl.File {
	t.Helper()
	ctx := context.Background()
	got := openFile(t, f.Path)
	problems, err := got.Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Severity == session.SevError && p.Code != "bad-message" || p.Code == "part-pass" || p.Code == "torn-tail" || p.Code == "root" {
			t.Errorf("the fork at %s has a problem: %s, %s", f.At, p.Code, p.What)
		}
	}
	var entries []*session.Entry
	for e, err := range got.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if len(entries) != f.Entries+f.Added {
		t.Fatalf("the fork at %s has %d entries, want %d and %d", f.At, len(entries), f.Entries, f.Added)
	}
	path, err := session.Path(ctx, src, f.At)
	if err != nil {
		t.Fatal(err)
	}
	if len(path) != f.Entries {
		t.Fatalf("the fork at %s has %d entries of a path of %d", f.At, f.Entries, len(path))
	}
	parent := ""
	for i, e := range entries {
		if e.ParentID != parent {
			t.Errorf("the fork at %s: entry %d hangs under %q, want %q", f.At, i, e.ParentID, parent)
		}
		if parent = e.ID; i < len(path) && (e.ID != path[i].ID || sameBytes && !bytes.Equal(e.Raw(), path[i].Raw())) {
			t.Errorf("the fork at %s: entry %d is\n%s\nand was\n%s", f.At, i, e.Raw(), path[i].Raw())
		}
	}
	if parent != f.Leaf {
		t.Errorf("the fork at %s stands at %s, and says %s", f.At, parent, f.Leaf)
	}
	return got
}

// tags are the labels of the entries of a path, and the name of the session.
func tags(t *testing.T, s session.Store, of map[string]bool) string {
	t.Helper()
	labels, name := map[string]string{}, ""
	for e, err := range s.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := e.Label(); ok && of[l.TargetID] {
			labels[l.TargetID] = l.Label
		}
		if n, ok := e.SessionName(); ok {
			name = n
		}
	}
	for id, l := range labels {
		if l == "" {
			delete(labels, id)
		}
	}
	return fmt.Sprint(labels, " name ", name)
}

func TestFork(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	cfg := fixed(small(200_000))
	cfg.Cwd = "/src/app"
	s, err := clew.Open(ctx, path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // it stays open for writing meanwhile
	first := add(t, s, message.User("make it fast", start), message.Assistant(start, message.TextBlock("I will try.")))
	alpha := add(t, s, work("alpha")...)
	branchTo(t, s, first[1], clew.BranchOptions{Summarize: true, Label: "after alpha"})
	beta := add(t, s, work("beta")...)
	before := read(t, path)

	// A clone: the path alone, as it is.
	opt := clew.ForkOptions{Clock: cfg.Clock, NewID: cfg.NewID}
	f := fork(t, path, opt)
	got := soundFork(t, s.Log().Store(), f, true)
	if f.At != beta[4] || f.Leaf != beta[4] || f.Text != "" || f.Added != 0 || f.Entries != 2+2+5 {
		t.Errorf("%+v", f)
	}
	if contextOf(t, got) != contextOf(t, s.Log().Store()) {
		t.Error("the context is another one")
	}
	h := got.Header()
	if h.ParentSession != path || h.Cwd != "/src/app" || h.ID != f.ID || h.ID == openFile(t, path).Header().ID || h.Timestamp.IsZero() || h.Version != session.Version {
		t.Errorf("header %s", h.Raw())
	}
	if !strings.Contains(filepath.Base(f.Path), f.ID) {
		t.Errorf("it is called %s", f.Path)
	}
	if data := read(t, f.Path); strings.Contains(data, "notes on alpha") {
		t.Error("another branch is in it")
	}

	// At an answer of another branch; at what the user typed, which is said again.
	if f := fork(t, path, clew.ForkOptions{At: alpha[4]}); f.At != alpha[4] || f.Text != "" || f.Entries != 7 {
		t.Errorf("%+v", f)
	} else if got := soundFork(t, s.Log().Store(), f, true); !strings.Contains(contextOf(t, got), "way of alpha") {
		t.Error("it has another path")
	}
	f = fork(t, path, clew.ForkOptions{At: beta[0]})
	got = soundFork(t, s.Log().Store(), f, true)
	if f.Text != "please try the way of beta" || strings.Contains(contextOf(t, got), "the way of beta") {
		t.Errorf("%+v", f)
	}
	// It goes on by itself, with the model's window and all.
	again, err := clew.Open(ctx, f.Path, small(200_000))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	add(t, again, work("gamma")...)
	if p := prepare(t, again); !strings.Contains(shown(p.Messages), "way of gamma") {
		t.Error("it does not go on")
	}
	if read(t, path) != before {
		t.Error("the source was changed")
	}
}

// TestForkBeside: without a name the new file lies beside the old one.
func TestForkBeside(t *testing.T) {
	path := tempFile(t)
	if err := os.WriteFile(path, sessiongen.Generate(1, sessiongen.Options{WellFormed: true}).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{path: true}
	for range 3 {
		f, err := clew.Fork(context.Background(), path, "", clew.ForkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(f.Path) != filepath.Dir(path) || seen[f.Path] {
			t.Error(f.Path)
		}
		seen[f.Path] = true
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 4 {
		t.Errorf("%v", list)
	}
}

// pi 89: one header per file, when forked before the first answer, and before the
// first message.
func TestDefect089_ForkHasOneHeader(t *testing.T) {
	path := tempFile(t)
	s, err := clew.Open(context.Background(), path, fixed(small(200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check := func(f *clew.Forked, entries int) {
		t.Helper()
		if f.Entries != entries || strings.Count(read(t, f.Path), `"type":"session"`) != 1 {
			t.Errorf("%d entries in\n%s", f.Entries, read(t, f.Path))
		}
		soundFork(t, s.Log().Store(), f, true)
	}
	check(fork(t, path, clew.ForkOptions{}), 0)
	first := add(t, s, message.User("hello", start))
	check(fork(t, path, clew.ForkOptions{}), 1)
	f := fork(t, path, clew.ForkOptions{At: first[0]})
	check(f, 0)
	if f.Text != "hello" || f.At != "" || openFile(t, f.Path).Header().ParentSession != path {
		t.Errorf("%+v", f)
	}
}

// pi 90: the source keeps its bytes, and nothing of the path is missing.
// pi 94: the fork has an id of its own.
func TestDefect090_ForkLeavesItsSource(t *testing.T) {
	path := tempFile(t)
	for seed := range uint64(10) {
		s := sessiongen.Generate(seed, sessiongen.Options{WellFormed: true})
		if err := os.WriteFile(path, s.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		src := openFile(t, path)
		f := fork(t, path, clew.ForkOptions{})
		got := soundFork(t, src, f, true)
		if !bytes.Equal([]byte(read(t, path)), s.Bytes()) {
			t.Fatal("the source was changed")
		}
		if f.ID == src.Header().ID || got.Header().ID != f.ID || got.Header().ParentSession != path {
			t.Errorf("header %s", got.Header().Raw())
		}
	}
}

// pi 91: labels between all entries break no chain, and no label of an entry that is
// there is lost, wherever it was given or taken away.
// pi 92: a boundary that is a label stays the boundary.
func TestDefect091_ForkWithLabels(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	s, err := clew.Open(ctx, path, fixed(small(200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	label := func(target, text string) string {
		t.Helper()
		e, err := s.Log().Append(ctx, session.NewLabel(target, text))
		if err != nil {
			t.Fatal(err)
		}
		return e[0].ID
	}
	var at, boundary string
	var all []string
	for k := range 6 {
		ids := add(t, s, turn(rand.New(rand.NewPCG(uint64(k), 1)), k)...)
		all = append(all, ids...)
		for i, id := range ids[1:] {
			if mark := label(id, fmt.Sprint("label ", k, i)); k == 3 && i == 0 {
				boundary = mark
			}
		}
		at = s.Leaf()
	}
	label(all[3], "") // taken away on the path
	if _, err := s.Log().Append(ctx, session.NewCompaction(session.Compaction{Summary: "what was before", FirstKeptEntryID: boundary})); err != nil {
		t.Fatal(err)
	}
	compacted := s.Leaf()
	if err := s.Navigate(ctx, all[2], ""); err != nil {
		t.Fatal(err)
	}
	label(all[0], "given elsewhere")
	label(all[1], "changed elsewhere")
	label(all[2], "")
	label(all[3], "given again")
	label("", "of nothing")
	if _, err := s.Log().Append(ctx, session.NewSessionInfo("named elsewhere")); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{at, compacted} {
		f := fork(t, path, clew.ForkOptions{At: target})
		got := soundFork(t, s.Log().Store(), f, true)
		of := map[string]bool{}
		for _, id := range all {
			of[id] = true
		}
		if a, b := tags(t, got, of), tags(t, s.Log().Store(), of); a != b || !strings.Contains(a, "named elsewhere") || strings.Contains(a, "label 02") {
			t.Errorf("labels %s\nwant   %s", a, b)
		}
		want, err := session.ContextAt(ctx, s.Log().Store(), target)
		if err != nil {
			t.Fatal(err)
		}
		have, err := session.ContextAt(ctx, got, f.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		if len(have.Items) != len(want.Items) || shownItems(have) != shownItems(want) {
			t.Errorf("at %s the context has %d messages, want %d", target, len(have.Items), len(want.Items))
		}
		if target == compacted && (len(have.Items) < 3 || have.Items[0].Message.Summary != "what was before") {
			t.Error("the boundary is lost")
		}
	}
}

func shownItems(c *session.Context) string {
	var msgs []*message.Message
	for _, it := range c.Items {
		msgs = append(msgs, it.Message)
	}
	return shown(msgs)
}

// pi W16: a fork of an old version is of the new one, and has all of it.
// Over random sessions of all versions, sound, wild and damaged ones: at every place
// the fork has the context of the source, a whole tree, and the same bytes.
func TestForkOverRandomSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	path := tempFile(t)
	forks, damaged, edits, compactions, old := 0, 0, 0, 0, 0
	for seed := range uint64(16) {
		opts := sessiongen.Options{Version: []int{3, 3, 1, 2}[seed%4], WellFormed: seed%8 < 4}
		opts.Odds.Branch, opts.Odds.Label, opts.Odds.Name = 0.15, 0.1, 0.05
		opts.Odds.Cycle, opts.Odds.Root = 0.01, 0.02
		data := sessiongen.Generate(seed, opts).Bytes()
		harmed := !opts.WellFormed && seed%3 == 0
		if harmed {
			data, _ = sessiongen.Damage(seed, data)
			damaged++
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
		if err != nil {
			continue // no session any more
		}
		var all []string
		for e, err := range src.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if e.ID != "" {
				all = append(all, e.ID)
			}
		}
		if src.Version() < 3 {
			old++
		}
		r := rand.New(rand.NewPCG(seed, 9))
		for n := range 6 {
			opt := clew.ForkOptions{}
			want, err := src.Last(ctx)
			if err != nil {
				t.Fatal(err)
			}
			leaf := ""
			if want != nil {
				leaf = want.ID
			}
			if n > 0 {
				opt.At = all[r.IntN(len(all))]
				if leaf, _, err = branch.Place(ctx, src, opt.At); err != nil {
					t.Fatal(err)
				}
			}
			f, err := clew.Fork(ctx, path, t.TempDir(), opt)
			if err != nil {
				t.Fatalf("seed %d at %s: %v", seed, opt.At, err)
			}
			if f.At != leaf {
				t.Fatalf("seed %d: forked at %s, want %s", seed, f.At, leaf)
			}
			got := soundFork(t, src, f, opts.WellFormed)
			a, err := session.ContextAt(ctx, got, f.Leaf)
			if err != nil {
				t.Fatal(err)
			}
			b, err := session.ContextAt(ctx, src, leaf)
			if err != nil {
				t.Fatal(err)
			}
			if shownItems(a) != shownItems(b) {
				t.Errorf("seed %d at %s: another context", seed, opt.At)
			}
			m, level, _ := session.Settings(ctx, got, f.Leaf)
			if wm, wl, _ := session.Settings(ctx, src, leaf); m != wm || level != wl {
				t.Errorf("seed %d at %s: model %v %s, want %v %s", seed, opt.At, m, level, wm, wl)
			}
			of := map[string]bool{}
			for e, err := range got.All(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				of[e.ID] = true
				if e.Type == session.TypeContextEdit {
					edits++
				}
			}
			if x, y := tags(t, got, of), tags(t, src, of); x != y {
				t.Errorf("seed %d at %s: labels\n%s\nwant\n%s", seed, opt.At, x, y)
			}
			if a.Compaction != nil {
				compactions++
			}
			forks++
		}
		if read(t, path) != string(data) {
			t.Fatal("the source was changed")
		}
		src.Close()
	}
	t.Logf("%d forks, of %d damaged and %d old files; %d after a compaction, %d edits in them", forks, damaged, old, compactions, edits)
	if forks < 80 || damaged < 2 || old < 5 || compactions < 25 || edits < 25 {
		t.Error("too few")
	}
}

// TestForkOfALife forks, at many entries, sessions that clew has compacted, undone,
// branched and pinned. What was asked for inside a pass ends before it; everywhere
// else the fork has the context of the source, and opens as it was written.
func TestForkOfALife(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	forks, inPass, added, copies, passes := 0, 0, 0, 0, 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		path := tempFile(t)
		s, err := clew.Open(ctx, path, fixed(small(9_000)))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for k := range 14 {
			ids = append(ids, add(t, s, turn(r, k)...)...)
			prepare(t, s)
			switch r.IntN(4) {
			case 0:
				if _, err := s.Compact(ctx, clew.CompactOptions{}); err != nil {
					t.Fatal(err)
				}
				if ids = append(ids, add(t, s, turn(r, k+100)...)...); r.IntN(2) == 0 {
					break
				}
				if _, err := s.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil && !errors.Is(err, clew.ErrNothingToUndo) {
					t.Fatal(err)
				}
			case 1:
				branchTo(t, s, ids[r.IntN(len(ids))], clew.BranchOptions{Summarize: r.IntN(2) == 0})
				if _, err := s.CloseOpenCalls(ctx); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := s.Pin(ctx, ids[r.IntN(len(ids))]); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Out of the middle of a pass, where no more than an edit hangs under it.
		for e, err := range s.Log().Store().All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := e.Pass(); ok && p.Lines > 1 {
				if _, err := s.Log().Append(ctx, session.NewContextEdit(session.ContextEdit{TargetID: ids[0], Omit: true}).Under(e.ID)); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		src := s.Log().Store()
		for e, err := range src.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Group(); !ok && (!session.GroupEntry(e) && r.IntN(9) > 0 || r.IntN(2) == 0) {
				continue
			}
			leaf, _, err := branch.Place(ctx, src, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			f := fork(t, path, clew.ForkOptions{At: e.ID})
			got := soundFork(t, src, f, true)
			if f.Before != "" {
				inPass++
				if p, err := src.Get(ctx, f.Before); err != nil || p.ParentID != f.At || !session.PassEntry(e) && e.ID != f.Before {
					t.Errorf("seed %d: the fork at %s, a %s, ends before %s", seed, e.ID, e.Type, f.Before)
				}
				leaf = f.At
			}
			if f.At != leaf {
				t.Fatalf("seed %d: forked at %s, want %s", seed, f.At, leaf)
			}
			if a, b := contextOf(t, got), contextOfLeaf(t, s, leaf); a != b {
				t.Errorf("seed %d: the fork at %s has another context", seed, e.ID)
			}
			if f.Added > 0 {
				added++
			}
			if e.CopyOf() != "" {
				copies++
			}
			if _, ok := e.Pass(); ok {
				passes++
			}
			forks++
			if forks%4 > 0 {
				continue
			}
			// It goes on: settled, with an undo where there is one, and after it.
			n, err := clew.Open(ctx, f.Path, small(9_000))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.CloseOpenCalls(ctx); err != nil {
				t.Fatal(err)
			}
			add(t, n, turn(r, 500)...)
			prepare(t, n)
			if _, err := n.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil && !errors.Is(err, clew.ErrNothingToUndo) {
				t.Fatal(err)
			}
			n.Close()
			problems, err := openFile(t, f.Path).Verify(ctx)
			for _, p := range problems {
				if p.Severity == session.SevError || p.Code == "part-pass" {
					t.Errorf("seed %d: the fork at %s, gone on with, has %s: %s", seed, e.ID, p.Code, p.What)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
	}
	t.Logf("%d forks, %d inside a pass, %d with something added, %d at copies; %d passes", forks, inPass, added, copies, passes)
	if inPass < 8 || added < 5 || copies < 5 || passes < 6 {
		t.Error("too few")
	}
}

const forkedFile = "testdata/pi/clew-forked.jsonl"

// A fork is opened by pi with the same entries in its context: the file of this test
// has pi's answers beside it, which the conformance tests compare with clew's. It
// was made in the middle of what an undo has appended again, of a session with
// passes. This test makes sure that clew still writes it byte for byte.
//
// After a change of what clew writes: UPDATE=1 go test . -run Forked,
// then sh scripts/pi/node.sh answers.mjs --out testdata/pi testdata/pi/clew-forked.jsonl
func TestForkedFileIsTheOnePiWasAskedAbout(t *testing.T) {
	const source, at = "testdata/pi/clew-written.jsonl", "0000000000000026"
	cfg := fixed(clew.Config{})
	f := fork(t, source, clew.ForkOptions{At: at, Clock: cfg.Clock, NewID: cfg.NewID})
	src := openFile(t, source)
	got := soundFork(t, src, f, true)
	if f.At != at || f.Added != 1 {
		t.Errorf("%+v", f)
	}
	a, err := session.ContextAt(context.Background(), got, f.Leaf)
	if err != nil {
		t.Fatal(err)
	}
	b, err := session.ContextAt(context.Background(), src, at)
	if err != nil {
		t.Fatal(err)
	}
	if shownItems(a) != shownItems(b) || len(a.Items) < 20 {
		t.Errorf("%d messages, and %d in the source", len(a.Items), len(b.Items))
	}
	parent := string(jsonx.Quote(got.Header().ParentSession))
	data := strings.Replace(read(t, f.Path), parent, `"/home/dev/clew-written.jsonl"`, 1)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(forkedFile, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, forkedFile); data != want {
		t.Errorf("clew writes another file than the one pi was asked about; see the comment of this test\n%s", data)
	}
	if _, err := os.Stat(strings.TrimSuffix(forkedFile, ".jsonl") + ".golden.json"); err != nil {
		t.Error(err)
	}
}

// pi 93: a turn that is under way in the source is not under way in the fork.
func TestForkClosesOpenCalls(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	s, err := clew.Open(ctx, path, fixed(small(200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := add(t, s, work("alpha")...)
	f := fork(t, path, clew.ForkOptions{At: ids[1], CloseOpenCalls: true})
	soundFork(t, s.Log().Store(), f, true)
	if f.Closed != 2 || f.Added != 2 || f.Leaf == f.At {
		t.Errorf("%+v", f)
	}
	n, err := clew.Open(ctx, f.Path, small(200_000))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if p := prepare(t, n); strings.Count(shown(p.Messages), "was interrupted") != 2 || strings.Contains(shown(p.Messages), "notes on alpha") {
		t.Error(shown(p.Messages))
	}
	if f := fork(t, path, clew.ForkOptions{CloseOpenCalls: true}); f.Closed != 0 || f.Added != 0 {
		t.Errorf("%+v", f)
	}
	// Left alone, the calls wait.
	n2, err := clew.Open(ctx, fork(t, path, clew.ForkOptions{At: ids[2]}).Path, small(200_000))
	if err != nil {
		t.Fatal(err)
	}
	defer n2.Close()
	if _, err := n2.Prepare(ctx); !errors.Is(err, clew.ErrPending) {
		t.Error(err)
	}
}

// TestForkTakesItsOutput: large output goes along with the entries that refer to it,
// and no other.
func TestForkTakesItsOutput(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	s, err := clew.Open(ctx, path, fixed(small(200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first := add(t, s, outputs("the needle")...)
	branchTo(t, s, first[1], clew.BranchOptions{})
	other := add(t, s, message.ToolResult("c1", "read", large(1100<<10, "elsewhere"), false, start))
	f := fork(t, path, clew.ForkOptions{At: first[2]})
	if f.Output != 1 {
		t.Errorf("%+v", f)
	}
	src := openFile(t, path)
	check := func(f *clew.Forked, lost int) {
		t.Helper()
		if problems, err := clew.VerifySpilled(ctx, openFile(t, f.Path), f.Path); err != nil || len(problems) != lost {
			t.Error(problems, err)
		}
	}
	check(f, 0)
	n, err := clew.Open(ctx, f.Path, small(200_000))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if m, err := n.Recall(ctx, first[2]); err != nil || !strings.Contains(m.Text(), "the needle") {
		t.Error(err)
	}
	// What is lost in the source is lost in the fork, and no reason to fail.
	e, err := src.Get(ctx, other[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Message()
	if err != nil {
		t.Fatal(err)
	}
	at, ok := session.SpilledOf(m)
	if !ok {
		t.Fatal("the output is in the log")
	}
	id, err := blob.ParseID(at.ID)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.OpenDir(path + ".blobs")
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	f = fork(t, path, clew.ForkOptions{})
	if f.Output != 0 {
		t.Errorf("%+v", f)
	}
	check(f, 1)

	// Where it can't be written there is no session, and nothing beside it.
	dir := t.TempDir()
	to := filepath.Join(dir, "new.jsonl")
	if err := os.WriteFile(to+".blobs", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := clew.Fork(ctx, path, to, clew.ForkOptions{At: first[3]}); err == nil {
		t.Errorf("%+v", f)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left %v", list)
	}
	if _, err := s.Log().Append(ctx, session.NewLabel(first[0], "given elsewhere")); err != nil {
		t.Fatal(err)
	}
	taken := func() string { return first[0] }
	if f, err := clew.Fork(ctx, path, filepath.Join(dir, "other.jsonl"), clew.ForkOptions{At: first[3], NewID: taken}); !errors.Is(err, session.ErrDuplicateID) {
		t.Errorf("an id that is taken: %+v", f)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left %v", list)
	}
}

// pi 100: never over a file that is there, and nothing is left of what failed.
func TestForkFails(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	if err := os.WriteFile(path, sessiongen.Generate(3, sessiongen.Options{WellFormed: true}).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	other := filepath.Join(dir, "other.jsonl")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	future := filepath.Join(dir, "future.jsonl")
	if err := os.WriteFile(future, []byte(`{"type":"session","version":9,"id":"s","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for name, tc := range map[string]struct {
		ctx      context.Context
		from, to string
		at       string
		want     error
	}{
		"exists":        {ctx, path, other, "", fs.ErrExist},
		"itself":        {ctx, path, path, "", fs.ErrExist},
		"no source":     {ctx, path + "x", "", "", fs.ErrNotExist},
		"no session":    {ctx, other, "", "", session.ErrNotSession},
		"newer version": {ctx, future, "", "", session.ErrReadOnly},
		"no entry":      {ctx, path, filepath.Join(dir, "new.jsonl"), "nowhere", clew.ErrNotFound},
		"no folder":     {ctx, path, filepath.Join(dir, "no", "new.jsonl"), "", nil},
		"cancelled":     {gone, path, filepath.Join(dir, "new.jsonl"), "", context.Canceled},
	} {
		f, err := clew.Fork(tc.ctx, tc.from, tc.to, clew.ForkOptions{At: tc.at})
		var rich *clew.Error
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: %+v, %v", name, f, err)
		} else if !errors.Is(err, context.Canceled) && (!errors.As(err, &rich) || rich.Hint == "") {
			t.Errorf("%s: %v does not say what to do", name, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 || read(t, other) != "mine" {
		t.Errorf("left %v", list)
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 {
		t.Errorf("left %v", list)
	}
}

// TestForkAsksHooks: a hook can stop it; one that fails is no reason to.
func TestForkAsksHooks(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	if err := os.WriteFile(path, sessiongen.Generate(3, sessiongen.Options{WellFormed: true}).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new.jsonl")
	last, err := openFile(t, path).Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var asked clew.BeforeForkEvent
	var stop clew.Decision
	opt := clew.ForkOptions{At: last.ID, Hooks: []clew.Hooks{
		{BeforeFork: func(context.Context, clew.BeforeForkEvent) (clew.Decision, error) { panic("hook") }},
		{BeforeFork: func(_ context.Context, e clew.BeforeForkEvent) (clew.Decision, error) {
			asked = e
			return stop, nil
		}},
	}}
	stop = clew.Decision{Cancel: true, Why: "not now"}
	f, err := clew.Fork(ctx, path, to, opt)
	if err != nil || f.Path != "" || !strings.Contains(f.Why, "not now") || len(f.Warnings) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if asked.From != path || asked.To != to || asked.Entry != last.ID || asked.Session == "" {
		t.Errorf("asked %+v", asked)
	}
	if list, _ := os.ReadDir(filepath.Dir(to)); len(list) > 0 {
		t.Errorf("left %v", list)
	}
	stop = clew.Decision{}
	if f, err := clew.Fork(ctx, path, to, opt); err != nil || f.Path != to || f.Why != "" || len(f.Warnings) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestForkOfRealSessions clones each and forks it at some places.
func TestForkOfRealSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	root, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		root = filepath.Join("..", "shared", "corpus")
	}
	var files []string
	for _, p := range []string{"sessions/pi/*.jsonl", "pi-golden/*.jsonl"} {
		found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(p)))
		files = append(files, found...)
	}
	if len(files) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there are no sessions of pi", root)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	if testing.Short() {
		files = files[:min(len(files), 6)]
	}
	forks := 0
	for _, file := range files {
		src := openFile(t, file)
		var all []string
		for e, err := range src.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e.ID)
		}
		for k := range 4 {
			opt := clew.ForkOptions{}
			if k > 0 {
				opt.At = all[len(all)*k/4-1]
			}
			f := fork(t, file, opt)
			got := soundFork(t, src, f, src.Version() == session.Version)
			a, err := session.ContextAt(ctx, got, f.Leaf)
			if err != nil {
				t.Fatal(err)
			}
			b, err := session.ContextAt(ctx, src, f.At)
			if err != nil {
				t.Fatal(err)
			}
			if shownItems(a) != shownItems(b) || len(a.Items) == 0 && k == 0 {
				t.Errorf("%s at %s: another context", file, opt.At)
			}
			forks++
		}
		src.Close()
	}
	t.Logf("%d forks of %d files", forks, len(files))
}

func ExampleFork() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	must(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")
	s, err := clew.Open(ctx, path, clew.Config{})
	must(err)
	defer s.Close()
	ids, err := s.Append(ctx, readFiles(2)...)
	must(err)
	question, err := s.Append(ctx, message.User("Now make it 60 seconds.", at))
	must(err)

	// Another way to ask, in a session of its own.
	f, err := clew.Fork(ctx, path, filepath.Join(dir, "other.jsonl"), clew.ForkOptions{At: question[0]})
	must(err)
	fmt.Println(f.Entries, "entries, the last one is the answer:", f.At == ids[len(ids)-1])
	fmt.Println("to say again:", f.Text)
	// Output:
	// 6 entries, the last one is the answer: true
	// to say again: Now make it 60 seconds.
}
