package jsonl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// One program writes at a time; the error names who does.
func TestLock(t *testing.T) {
	p := write(t, lines(head3, msg("a", "")))
	f, err := jsonl.Open(ctx, p, jsonl.Options{Program: "first"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tryOpen(p)
	checkError(t, err, p, fmt.Sprintf("first, process %d on ", os.Getpid()))
	if !errors.Is(err, jsonl.ErrLocked) {
		t.Errorf("error %v", err)
	}
	// The second attempt has left the lock alone.
	if _, err = tryOpen(p); !errors.Is(err, jsonl.ErrLocked) {
		t.Errorf("error %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, p)
	open(t, p).Close()
	// What a dead holder leaves is no obstacle, whatever it says.
	for _, left := range []string{"", "not JSON", `{"program":"dead","pid":1}`} {
		if err := os.WriteFile(p+".lock", []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		f := open(t, p)
		if _, err := tryOpen(p); !errors.Is(err, jsonl.ErrLocked) || strings.Contains(err.Error(), "dead") {
			t.Errorf("error %v", err)
		}
		f.Close()
		onlyFile(t, p)
	}
	// An attempt that fails for another reason gives the lock back.
	bad := write(t, "no session")
	if _, err := tryOpen(bad); !errors.Is(err, session.ErrNotSession) {
		t.Errorf("error %v", err)
	}
	onlyFile(t, bad)
}

// Of many that open the same session at once, one at a time gets it.
func TestLockRace(t *testing.T) {
	p := write(t, lines(head3))
	var mu sync.Mutex
	holders, most, got := 0, 0, 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := 0; n < 25; {
				f, err := tryOpen(p)
				if errors.Is(err, jsonl.ErrLocked) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				n++
				mu.Lock()
				holders++
				got++
				most = max(most, holders)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				holders--
				mu.Unlock()
				f.Close()
			}
		})
	}
	wg.Wait()
	if most != 1 || got != 200 {
		t.Errorf("%d held the lock at once; %d got it", most, got)
	}
	onlyFile(t, p)
}

// Of many that create the same session at once, one does.
func TestCreateRace(t *testing.T) {
	for range 20 {
		p := filepath.Join(t.TempDir(), "s.jsonl")
		var wg sync.WaitGroup
		var mu sync.Mutex
		var made []string
		for n := range 6 {
			wg.Go(func() {
				h := testHeader
				h.ID = fmt.Sprint("s", n)
				f, err := jsonl.Create(ctx, p, h, jsonl.Options{})
				if err != nil {
					if !errors.Is(err, os.ErrExist) && !errors.Is(err, jsonl.ErrLocked) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				made = append(made, f.Header().ID)
				mu.Unlock()
				if f.Header().ID != h.ID {
					t.Errorf("created %s and got %s", h.ID, f.Header().ID)
				}
				f.Close()
			})
		}
		wg.Wait()
		if len(made) != 1 || look(t, p).Header().ID != made[0] {
			t.Errorf("created by %v", made)
		}
		onlyFile(t, p)
	}
}

// What another program appends between our appends is found and left where it
// is.
func TestForeignEntries(t *testing.T) {
	p := write(t, strings.TrimSuffix(lines(head3, msg("a", "")), "\n"))
	f := open(t, p)
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) string {
		t.Helper()
		e, err := log.Append(ctx, user(text))
		if err != nil {
			t.Fatal(err)
		}
		return e[0].ID
	}
	one := put("one")
	appendRaw(t, p, lines(msg("p1", one), msg("p2", "p1")))
	if err := f.Append(ctx, []*session.Entry{entryOf(t, msg("z", one))}, session.AppendOptions{IfLast: one}); !errors.Is(err, session.ErrConflict) {
		t.Errorf("error %v", err)
	}
	two := put("two")
	appendRaw(t, p, lines("", msg("p3", "p2"), "null"))
	if n, err := f.Refresh(ctx); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := f.Refresh(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	if got := leaf(t, f); got != "p3" {
		t.Errorf("the newest entry is %s", got)
	}
	appendRaw(t, p, msg("p4", "p3")) // without a line break
	three := put("three")
	sound(t, strings.Replace(read(t, p), "\n\n", "\n", 1))
	for _, s := range []session.Store{f, look(t, p)} {
		if got, want := ids(t, s), strings.Join([]string{"a", one, "p1", "p2", two, "p3", "p4", three}, " "); got != want {
			t.Errorf("entries %q, want %q", got, want)
		}
		if got := shows(t, s, three); got != "a one two three" {
			t.Errorf("ours: %q", got)
		}
		if got := shows(t, s, "p4"); got != "a one p1 p2 p3 p4" {
			t.Errorf("theirs: %q", got)
		}
	}
}

// A line that another program is still writing is waited for; one that is never
// finished is moved aside.
func TestUnfinishedLines(t *testing.T) {
	theirs := msg("p1", "a") + "\n"
	for _, c := range []struct {
		name  string
		parts []string
		pause time.Duration
		there bool // before it is opened
	}{
		{"finished soon", []string{theirs[:40], theirs[40:]}, 30 * time.Millisecond, false},
		{"in many parts", []string{theirs[:20], theirs[20:40], theirs[40:60], theirs[60:80], theirs[80:100], theirs[100:]}, 40 * time.Millisecond, false},
		{"unfinished when it is opened", []string{theirs[:40], theirs[40:]}, 30 * time.Millisecond, true},
		{"all but the line break", []string{theirs[:len(theirs)-1], "\n"}, 30 * time.Millisecond, false},
		{"two lines", []string{theirs + msg("p2", "p1")[:30], msg("p2", "p1")[30:] + "\n"}, 30 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := write(t, lines(head3, msg("a", "")))
			if c.there {
				appendRaw(t, p, c.parts[0])
			}
			f := open(t, p)
			jsonl.Patient(f)
			log, err := session.NewLog(ctx, f, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !c.there {
				appendRaw(t, p, c.parts[0])
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				slowly := time.NewTicker(c.pause)
				defer slowly.Stop()
				for _, part := range c.parts[1:] {
					<-slowly.C
					appendRaw(t, p, part)
				}
			})
			e, err := log.Append(ctx, user("ours"))
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "all but the line break" {
				// A whole record needs no waiting. Its late line break is a blank line.
				if got := ids(t, look(t, p)); got != "a p1 "+e[0].ID {
					t.Errorf("entries %q", got)
				}
				return
			}
			sound(t, read(t, p))
			want := "a p1 " + e[0].ID
			if c.name == "two lines" {
				want = "a p1 p2 " + e[0].ID
			}
			if got := ids(t, look(t, p)); got != want {
				t.Errorf("entries %q, want %q", got, want)
			}
			if got := ids(t, f); got != want {
				t.Errorf("entries %q, want %q", got, want)
			}
			if _, err := os.Stat(p + ".cut"); err == nil {
				t.Errorf("something was cut off: %q", read(t, p+".cut"))
			}
		})
	}
	t.Run("never finished", func(t *testing.T) {
		t.Parallel()
		p := write(t, lines(head3, msg("a", "")))
		f := open(t, p)
		for n := range 3 {
			appendRaw(t, p, theirs[:40+n])
			say(t, f, "ours")
			sound(t, read(t, p))
		}
		if got, want := read(t, p+".cut"), theirs[:40]+"\n"+theirs[:41]+"\n"+theirs[:42]+"\n"; got != want {
			t.Errorf("cut off was %q, want %q", got, want)
		}
		if len(strings.Fields(ids(t, f))) != 4 || codes(t, f) != "" {
			t.Errorf("entries %q, problems %q", ids(t, f), codes(t, f))
		}
	})
	t.Run("cancelled while waiting", func(t *testing.T) {
		t.Parallel()
		p := write(t, lines(head3, msg("a", ""))+theirs[:40])
		f := open(t, p)
		short, cancel := withTimeout(20 * time.Millisecond)
		defer cancel()
		before := read(t, p)
		if err := f.Append(short, []*session.Entry{entryOf(t, msg("b", "a"))}, session.AppendOptions{}); !errors.Is(err, short.Err()) || err == nil {
			t.Errorf("error %v", err)
		}
		if read(t, p) != before {
			t.Error("the file was changed")
		}
	})
}

// A reader sees what a writer does to the end of the file.
func TestReaderFollowsWriter(t *testing.T) {
	p := write(t, lines(head3, msg("a", ""))+msg("torn", "a")[:50])
	r := look(t, p)
	if got := ids(t, r); got != "a" || !strings.Contains(codes(t, r), "torn-tail") {
		t.Errorf("entries %q, problems %q", got, codes(t, r))
	}
	w := open(t, p)
	one := say(t, w, "one") // cuts the torn end off
	if n, err := r.Refresh(ctx); n != 1 || err != nil {
		t.Error(n, err)
	}
	if got := ids(t, r); got != "a "+one || codes(t, r) != "" {
		t.Errorf("entries %q, problems %q", got, codes(t, r))
	}
	appendRaw(t, p, msg("p", one)[:50])
	if n, err := r.Refresh(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	appendRaw(t, p, msg("p", one)[50:]+"\n"+passStart("q", "p", 2)+"\n"+edit("x", "q", "p", "P")+"\n")
	if n, err := r.Refresh(ctx); n != 1 || err != nil {
		t.Error(n, err)
	}
	if got := shows(t, r, leaf(t, r)); got != "a one p" {
		t.Errorf("a part of a pass counts: %q", got)
	}
	appendRaw(t, p, edit("y", "x", "a", "A")+"\n")
	if n, err := r.Refresh(ctx); n != 3 || err != nil {
		t.Error(n, err)
	}
	if got := shows(t, r, leaf(t, r)); got != "A one P" {
		t.Errorf("the context is %q", got)
	}
	// Behind a sound end as well.
	appendRaw(t, p, lines(passStart("q2", "y", 2), edit("x2", "q2", "p", "PP")))
	if n, err := r.Refresh(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	if got := shows(t, r, leaf(t, r)); got != "A one P" {
		t.Errorf("a part of a pass counts: %q", got)
	}
	appendRaw(t, p, lines(edit("y2", "x2", "a", "AA")))
	if n, err := r.Refresh(ctx); n != 3 || err != nil {
		t.Error(n, err)
	}
	if got := shows(t, r, leaf(t, r)); got != "AA one PP" {
		t.Errorf("the context is %q", got)
	}
}

// Who looks at a session while passes are applied and undone sees the context
// before or after, never a mix. (I9)
func TestReaderSeesWholePasses(t *testing.T) {
	p := write(t, lines(head3, msg("a", ""), msg("b", "a"), msg("c", "b")))
	f := open(t, p)
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const readers = 2
	var looked atomic.Int32 // readers that have seen the file once
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			r, err := jsonl.Open(ctx, p, jsonl.Options{ReadOnly: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			for looks := 0; ; looks++ {
				select {
				case <-done:
					return
				default:
				}
				if looks == 1 {
					looked.Add(1)
				}
				if _, err := r.Refresh(ctx); err != nil {
					t.Error(err)
					return
				}
				if got := shows(t, r, leaf(t, r)); got != "a b c" && got != "sum A B C" {
					t.Errorf("the context is %q", got)
					return
				}
			}
		})
	}
	// However late the readers get their turn, passes are made while they look.
	for i := 0; (i < 30 || looked.Load() < readers) && !t.Failed(); i++ {
		last, err := f.Last(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var drafts []session.Draft
		for _, id := range []string{"a", "b", "c"} {
			drafts = append(drafts, session.NewContextEdit(session.ContextEdit{TargetID: id, Content: []byte(`"` + strings.ToUpper(id) + `"`)}))
		}
		drafts = append(drafts, session.NewCompaction(session.Compaction{Summary: "sum", FirstKeptEntryID: "a"}))
		if _, err := log.AppendPass(ctx, last.ID, session.PassInfo{}, drafts...); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Undo(ctx, session.UndoOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

// A file that is deleted, replaced, shortened or rewritten under us is noticed,
// and nothing is written to whatever has its name now.
func TestDefect101_FileReplaced(t *testing.T) {
	whole := lines(head3, msg("a", ""), msg("b", "a"))
	for _, c := range []struct {
		name string
		do   func(t *testing.T, p string)
		now  string // what has the name afterwards
	}{
		{"deleted", func(t *testing.T, p string) { must(t, os.Remove(p)) }, ""},
		{"replaced", func(t *testing.T, p string) {
			must(t, os.WriteFile(p+".other", []byte(whole), 0o600))
			must(t, os.Rename(p+".other", p))
		}, whole},
		{"moved away", func(t *testing.T, p string) { must(t, os.Rename(p, p+".away")) }, ""},
		{"shortened", func(t *testing.T, p string) { must(t, os.Truncate(p, int64(len(lines(head3, msg("a", "")))))) }, lines(head3, msg("a", ""))},
		{"emptied", func(t *testing.T, p string) { must(t, os.Truncate(p, 0)) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && c.name != "shortened" && c.name != "emptied" {
				t.Skip("an open file can't be replaced")
			}
			p := write(t, whole)
			f := open(t, p)
			shows(t, f, "b")
			c.do(t, p)
			for range 2 {
				err := f.Append(ctx, []*session.Entry{entryOf(t, msg("c", "b"))}, session.AppendOptions{})
				checkError(t, err, p, "")
				if !errors.Is(err, jsonl.ErrReplaced) {
					t.Errorf("error %v", err)
				}
				if _, err := f.Refresh(ctx); !errors.Is(err, jsonl.ErrReplaced) {
					t.Errorf("error %v", err)
				}
			}
			if c.now == "" && c.name != "emptied" {
				if _, err := os.Stat(p); !errors.Is(err, os.ErrNotExist) {
					t.Error("the file was made again")
				}
			} else if got := read(t, p); got != c.now {
				t.Errorf("the file is %q", got)
			}
			must(t, f.Close())
		})
	}
	// pi turns an old file into version 3 in place as soon as it opens it.
	t.Run("rewritten", func(t *testing.T) {
		p := write(t, lines(head1, old("a")))
		f := open(t, p)
		was := leaf(t, f)
		must(t, os.WriteFile(p, []byte(whole), 0o600))
		for range 2 {
			err := f.Append(ctx, []*session.Entry{entryOf(t, msg("c", was))}, session.AppendOptions{})
			if !errors.Is(err, jsonl.ErrReplaced) || !strings.Contains(err.Error(), "version 3") {
				t.Errorf("error %v", err)
			}
		}
		if read(t, p) != whole {
			t.Error("the file was changed")
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A thousand entries each from us and from a program that knows no lock: none is
// lost, none is joined to another.
func TestDefect102_TwoWriters(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	p := write(t, lines(head3, msg("a", "")))
	f := open(t, p)
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		raw, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer raw.Close()
		parent := "a"
		for i := range n {
			id := fmt.Sprint("p", i)
			if _, err := raw.WriteString(msg(id, parent) + "\n"); err != nil {
				t.Error(err)
				return
			}
			parent = id
		}
	})
	want := map[string]bool{"a": true}
	for i := range n {
		want[fmt.Sprint("p", i)] = true
		var drafts []session.Draft
		for range 1 + i%3 {
			drafts = append(drafts, user(strings.Repeat("x", i)))
		}
		entries, err := log.AppendNoSync(ctx, drafts...)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			want[e.ID] = true
		}
	}
	wg.Wait()
	sound(t, read(t, p))
	if _, err := f.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	for _, s := range []session.Store{f, look(t, p)} {
		got := strings.Fields(ids(t, s))
		for _, id := range got {
			if !want[id] {
				t.Errorf("%s came from nowhere", id)
			}
		}
		if len(got) != len(want) || codes(t, s) != "" {
			t.Errorf("%d entries, want %d; problems %s", len(got), len(want), codes(t, s))
		}
		// Each has its own branch.
		if got := len(strings.Fields(path(t, s, fmt.Sprint("p", n-1)))); got != n+1 {
			t.Errorf("their path has %d entries, want %d", got, n+1)
		}
		if got := len(strings.Fields(path(t, s, log.Leaf()))); got != len(want)-n {
			t.Errorf("our path has %d entries, want %d", got, len(want)-n)
		}
	}
}
