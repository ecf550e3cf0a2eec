package jsonl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// generated makes small sessions, so that there can be many of them.
func generated(seed uint64, o sessiongen.Options) sessiongen.Session {
	o.UserBytes, o.AnswerBytes, o.ResultBytes = 150, 150, 200
	return sessiongen.Generate(seed, o)
}

// rounds is how many generated sessions a property is tried on.
func rounds(n int) uint64 {
	switch {
	case testing.Short():
		n /= 4
	case underRace:
		n /= 2
	}
	return uint64(n)
}

// full compares contexts: what they show, byte for byte, and how it comes about.
func full(c *session.Context) string {
	var b strings.Builder
	for _, e := range c.Active {
		fmt.Fprintf(&b, "%s ", e.ID)
	}
	fmt.Fprintf(&b, "| %d\n", c.Boundary)
	for _, it := range c.Items {
		fmt.Fprintf(&b, "%s at %d %s\n", it.Entry.ID, it.At, it.Message.JSON())
	}
	return b.String()
}

// shown is what the model sees of a context: the messages.
func shown(c *session.Context) string {
	var b strings.Builder
	for _, it := range c.Items {
		b.Write(it.Message.JSON())
		b.WriteByte('\n')
	}
	return b.String()
}

func contextOf(t testing.TB, s session.Store, leaf string) *session.Context {
	t.Helper()
	c, err := session.ContextAt(ctx, s, leaf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Opened from the tail, each entry gives the same context as when the whole file
// was read, and as in a Memory that holds the same records.
func TestTailOpenGivesTheSameContext(t *testing.T) {
	t.Parallel()
	var stats sessiongen.Stats
	contexts := 0
	for seed := range rounds(20) {
		s := generated(seed, sessiongen.Options{})
		stats.Merge(s.Stats)
		p := write(t, string(s.Bytes()))
		whole := look(t, p)
		var mem []*session.Entry
		for e, err := range whole.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			mem = append(mem, e)
		}
		memory := session.NewMemory(whole.Header(), mem...)
		tail := look(t, p)
		for i, e := range slices.Backward(mem) {
			if i%4 == 3 {
				tail.Close()
				tail = look(t, p)
			}
			want := full(contextOf(t, memory, e.ID))
			if got := full(contextOf(t, tail, e.ID)); got != want {
				t.Fatalf("seed %d leaf %s, from the tail:\n%s\nwant\n%s", seed, e.ID, got, want)
			}
			path, err := session.Path(ctx, whole, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := full(session.Project(path)); got != want {
				t.Fatalf("seed %d leaf %s, from the whole path:\n%s\nwant\n%s", seed, e.ID, got, want)
			}
			contexts++
		}
		whole.Close()
		tail.Close()
	}
	t.Logf("%d contexts of %s", contexts, stats.Shares())
	if short := stats.Below(map[sessiongen.Feature]float64{
		sessiongen.TwoCompactions: 0.3, sessiongen.Branches: 0.6, sessiongen.SeveralRoots: 0.15, sessiongen.DanglingFirstKept: 0.1,
		sessiongen.EditsOnKept: 0.15,
	}); len(short) > 0 && !testing.Short() && !underRace {
		t.Errorf("too few cases: %s", strings.Join(short, "; "))
	}
}

// player does random things to a session, in a file and in a Memory alike, and
// knows what each must lead to.
type player struct {
	t      testing.TB
	rng    *rand.Rand
	path   string
	fs     vfs.FS
	file   *jsonl.File
	log    *session.Log // on the file
	mirror *session.Log // on a Memory, with the same ids
	ids    [2]int
	did    map[string]int
	// before is the context as it was before the pass at the end, after as it
	// was after it; "" when something came since.
	before, after string
	undone        bool
}

func newPlayer(t testing.TB, seed uint64, s sessiongen.Session) *player {
	t.Helper()
	p := &player{t: t, rng: rand.New(rand.NewPCG(seed, 7)), path: write(t, string(s.Bytes())), did: map[string]int{}}
	p.reopen()
	var mem []*session.Entry
	for e, err := range p.file.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		mem = append(mem, e)
	}
	p.mirror = p.newLog(session.NewMemory(p.file.Header(), mem...), 1)
	return p
}

func (p *player) newLog(s session.Store, which int) *session.Log {
	log, err := session.NewLog(ctx, s, session.Options{
		Clock: func() time.Time { return testHeader.Timestamp },
		NewID: func() string { p.ids[which]++; return fmt.Sprintf("%016x", p.ids[which]) },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return log
}

func (p *player) reopen() {
	if p.file != nil {
		p.file.Close()
	}
	f, err := jsonl.Open(ctx, p.path, jsonl.Options{FS: p.fs})
	if err != nil {
		p.t.Fatal(err)
	}
	p.file = f
	p.log = p.newLog(f, 0)
}

// both does the same to both logs.
func (p *player) both(do func(log *session.Log) error) error {
	err := do(p.log)
	if mirrored := do(p.mirror); (err == nil) != (mirrored == nil) {
		p.t.Fatalf("the file says %v, the memory %v", err, mirrored)
	}
	return err
}

func (p *player) now() string { return shown(contextOf(p.t, p.log.Store(), p.log.Leaf())) }

// step does one thing.
func (p *player) step() {
	t := p.t
	c := contextOf(t, p.log.Store(), p.log.Leaf())
	target := ""
	if len(c.Active) > 0 {
		target = c.Active[p.rng.IntN(len(c.Active))].ID
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	appendBoth := func(drafts ...session.Draft) {
		t.Helper()
		must(p.both(func(log *session.Log) error { _, err := log.Append(ctx, drafts...); return err }))
	}
	what := ""
	switch n := p.rng.IntN(100); {
	case n < 25:
		what = "message"
		appendBoth(user(fmt.Sprint("said ", p.rng.Uint32())))
		p.before, p.after, p.undone = "", "", false
	case n < 35:
		what = "batch"
		appendBoth(user("one"), session.Message(message.Assistant(testHeader.Timestamp, message.TextBlock("two"))), session.NewLabel(target, "here"))
		p.before, p.after, p.undone = "", "", false
	case n < 40:
		what = "label"
		appendBoth(session.NewLabel(target, "x")) // changes no context: an undo still undoes
	case n < 65:
		what = "pass"
		p.before = shown(c)
		drafts := p.pass(c, target)
		last, err := p.file.Last(ctx)
		must(err)
		must(p.both(func(log *session.Log) error {
			_, err := log.AppendPass(ctx, last.ID, session.PassInfo{Reason: "manual"}, drafts...)
			return err
		}))
		p.after, p.undone = p.now(), false
	case n < 85:
		what = "undo"
		was := p.now()
		var u session.Undone
		err := p.both(func(log *session.Log) (err error) {
			u, err = log.Undo(ctx, session.UndoOptions{})
			return err
		})
		var later *session.LaterError
		switch {
		case errors.As(err, &later), errors.Is(err, session.ErrNothingToUndo):
			if p.now() != was {
				t.Fatal("an undo that was refused changed the context")
			}
			what = "refused undo"
		case err != nil:
			t.Fatal(err)
		case p.after == "": // of a pass from before
			p.undone = u.Redo
		case p.undone != u.Redo:
			t.Fatalf("redo is %v", u.Redo)
		default:
			want := p.before
			if p.undone {
				want = p.after
			}
			if got := p.now(); got != want {
				t.Fatalf("after undo (redo %v) the context is\n%s\nwant\n%s", u.Redo, got, want)
			}
			p.undone = !p.undone
			what = "checked undo"
		}
	case n < 92:
		what = "navigate"
		to := target
		if p.rng.IntN(4) == 0 {
			to = ""
		}
		must(p.both(func(log *session.Log) error { return log.Navigate(ctx, to, "test") }))
		p.before, p.after, p.undone = "", "", false
	default:
		what = "reopen"
		p.reopen()
	}
	p.did[what]++
}

// pass drafts a random pass.
func (p *player) pass(c *session.Context, target string) (drafts []session.Draft) {
	for _, e := range c.Active {
		if p.rng.IntN(3) == 0 {
			d := session.ContextEdit{TargetID: e.ID, Omit: p.rng.IntN(2) == 0}
			if !d.Omit {
				d.Content = json.RawMessage(`"edited ` + fmt.Sprint(p.rng.Uint32()) + `"`)
			}
			drafts = append(drafts, session.NewContextEdit(d))
		}
	}
	if len(drafts) == 0 || p.rng.IntN(3) > 0 {
		kept := target
		if p.rng.IntN(5) == 0 {
			kept = ""
		}
		drafts = append(drafts, session.NewCompaction(session.Compaction{Summary: fmt.Sprint("sum ", p.rng.Uint32()), FirstKeptEntryID: kept}))
	}
	return drafts
}

// Whatever happens to a sound session, its old bytes stay a prefix of the file
// (I4), the file and the memory give the same context, before and after opening
// it again (I6), and undo gives exactly the old context (I7).
func TestRandomSessions(t *testing.T) {
	t.Parallel()
	did := map[string]int{}
	var stats sessiongen.Stats
	for seed := range rounds(30) {
		s := generated(seed, sessiongen.Options{Entries: 25, WellFormed: seed%2 == 0})
		stats.Merge(s.Stats)
		p := newPlayer(t, seed, s)
		data := s.Bytes()
		for range 40 {
			p.step()
			now := []byte(read(t, p.path))
			if !bytes.HasPrefix(now, data) {
				t.Fatalf("seed %d: old bytes were changed", seed)
			}
			data = now
			leaf := p.log.Leaf()
			if leaf != p.mirror.Leaf() {
				t.Fatalf("seed %d: the leaf is %s in the file, %s in memory", seed, leaf, p.mirror.Leaf())
			}
			want := full(contextOf(t, p.mirror.Store(), leaf))
			if got := full(contextOf(t, p.file, leaf)); got != want {
				t.Fatalf("seed %d: the file gives\n%s\nmemory\n%s", seed, got, want)
			}
			anew := look(t, p.path)
			if got := full(contextOf(t, anew, lastID(t, anew))); got != want {
				t.Fatalf("seed %d: opened anew, the file gives\n%s\nmemory\n%s", seed, got, want)
			}
			anew.Close()
		}
		p.file.Close()
		for k, n := range p.did {
			did[k] += n
		}
	}
	t.Logf("steps: %v; sessions: %s", did, stats.Shares())
	for _, what := range []string{"message", "batch", "label", "pass", "checked undo", "refused undo", "navigate", "reopen"} {
		if did[what] < 20 && !testing.Short() && !underRace {
			t.Errorf("only %d times: %s", did[what], what)
		}
	}
}

func lastID(t testing.TB, s session.Store) string { return leaf(t, s) }

// The same steps with the same clock and ids give the same bytes (I6).
func TestSameStepsSameBytes(t *testing.T) {
	t.Parallel()
	for seed := range rounds(4) {
		s := generated(seed, sessiongen.Options{Entries: 20})
		var files [2]string
		for i := range files {
			p := newPlayer(t, seed, s)
			for range 40 {
				p.step()
			}
			p.file.Close()
			files[i] = read(t, p.path)
		}
		if files[0] != files[1] {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// Damage of every kind leaves all undamaged records readable, changes nothing
// when it is read, and does not hinder the next append.
func TestDamagedSessions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	kinds := map[string]int{}
	refused := map[string]int{}
	var wg sync.WaitGroup
	room := make(chan struct{}, 16) // much of the time is spent waiting for the disk
	for seed := range rounds(200) {
		s := generated(seed%20, sessiongen.Options{Entries: 25, PiSafe: true})
		kind := sessiongen.DamageKinds()[seed%uint64(len(sessiongen.DamageKinds()))]
		data, harm, ok := sessiongen.DamageAs(kind, seed, s.Bytes())
		if !ok {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			defer recovered()
			opened := damagedSession(failer{t, harm.String() + ": "}, s, data)
			mu.Lock()
			defer mu.Unlock()
			kinds[kind]++
			if !opened {
				refused[kind]++
			}
		})
	}
	wg.Wait()
	t.Logf("kinds %v, refused %v", kinds, refused)
	for kind := range refused {
		if kind != "no header" && kind != "bit flip" && kind != "zeroed tail" {
			t.Errorf("refused for %s", kind)
		}
	}
	if len(kinds) < len(sessiongen.DamageKinds())-1 {
		t.Errorf("only %d kinds of damage", len(kinds))
	}
}

func damagedSession(t testing.TB, s sessiongen.Session, data []byte) (opened bool) {
	t.Helper()
	p := write(t, string(data))
	f, err := tryOpen(p)
	if err != nil {
		if !errors.Is(err, session.ErrNotSession) {
			t.Errorf("error %v", err)
		}
		if header, _, _ := bytes.Cut(data, []byte("\n")); bytes.HasPrefix(s.Bytes(), append(header, '\n')) {
			t.Errorf("refused though the header is sound: %v", err)
		}
		if read(t, p) != string(data) {
			t.Error("the file was changed")
		}
		return false
	}
	defer func() { f.Close() }()
	found := map[string]bool{}
	for e, err := range f.All(ctx) {
		must(t, err)
		found[string(e.Raw())] = true
		_, err := session.ContextAt(ctx, f, e.ID)
		must(t, err)
		_, _, err = session.Settings(ctx, f, e.ID)
		must(t, err)
	}
	for _, raw := range undamaged(s, data) {
		if !found[raw] {
			t.Errorf("the record %.100s is not found", raw)
		}
	}
	f.Problems()
	if read(t, p) != string(data) {
		t.Error("reading has changed the file")
	}
	before := texts(contextOf(t, f, leaf(t, f)))
	jsonl.Impatient(f)
	id := say(t, f, "on")
	f.Close()
	f = open(t, p)
	if got := texts(contextOf(t, f, id)); !slices.Equal(got, append(before, "on")) {
		t.Errorf("the context after an append is %.300q, was %.300q", got, before)
	}
	for e, err := range f.All(ctx) {
		must(t, err)
		delete(found, string(e.Raw()))
	}
	if len(found) > 0 {
		t.Errorf("an append has hidden %d records", len(found))
	}
	return true
}

func texts(c *session.Context) (list []string) {
	for _, it := range c.Items {
		list = append(list, it.Message.Text()+it.Message.Summary)
	}
	return list
}

// undamaged lists the records of a session that stand whole in a damaged file:
// as a line of their own, or at the beginning or the end of one.
func undamaged(s sessiongen.Session, damaged []byte) (raws []string) {
	in := map[string]bool{}
	for line := range bytes.Lines(damaged) {
		in[string(bytes.TrimSpace(line))] = true
	}
	was := s.Bytes()
	for _, e := range s.Entries {
		raw := string(bytes.TrimSpace(was[e.Start:e.End]))
		if in[raw] && e.ID != "" && e.Type != "session" {
			raws = append(raws, raw)
		}
	}
	return raws
}

// reads counts the bytes that are read from files.
type reads struct {
	vfs.OS
	bytes int64
}

func (r *reads) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := r.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &readFile{f, r}, nil
}

type readFile struct {
	vfs.File
	reads *reads
}

func (f *readFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.reads.bytes += int64(n)
	return n, err
}

// Opening for work reads from the end as far back as the context needs: with a
// hundred times the history it reads no more. (98)
func TestDefect098_OpeningReadsTheTail(t *testing.T) {
	t.Parallel()
	cost := func(history int) (n int64, c string) {
		p := longSession(t, history)
		r := &reads{}
		f, err := jsonl.Open(ctx, p, jsonl.Options{FS: r})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c = shown(contextOf(t, f, leaf(t, f)))
		say(t, f, "on")
		contextOf(t, f, leaf(t, f))
		return r.bytes, c
	}
	short, shortContext := cost(200)
	long, longContext := cost(20_000)
	if shortContext != longContext {
		t.Fatal("the contexts differ")
	}
	t.Logf("%d bytes read with 200 entries before, %d with 20000", short, long)
	if long > short+short/10 {
		t.Errorf("%d bytes were read with 100 times the history, %d with 1", long, short)
	}
}

// longSession makes a session with a history and then always the same context.
func longSession(t testing.TB, history int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(head3 + "\n")
	parent := ""
	add := func(id, raw string) {
		b.WriteString(raw + "\n")
		parent = id
	}
	for n := range history {
		id := fmt.Sprintf("h%015d", n)
		add(id, strings.Replace(msg(id, parent), `"text":"`, `"text":"`+strings.Repeat("history ", 20), 1))
	}
	for n := range 300 {
		id := fmt.Sprintf("c%015d", n)
		add(id, strings.Replace(msg(id, parent), `"text":"`, `"text":"`+strings.Repeat("context ", 40), 1))
	}
	add("sum", compaction("sum", parent, fmt.Sprintf("c%015d", 100)))
	for n := range 50 {
		id := fmt.Sprintf("d%015d", n)
		add(id, msg(id, parent))
	}
	p := t.TempDir() + "/s.jsonl"
	if err := os.WriteFile(p, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}
