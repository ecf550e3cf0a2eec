package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Subject is one empty session, as a kind of store keeps it.
type Subject struct {
	// Open opens the empty session. It is called once.
	Open func(t *testing.T) session.Store
	// Reopen opens the session again after the store before was closed. It is
	// nil for a store that keeps nothing beyond its Close.
	Reopen func(t *testing.T) session.Store
}

// Run runs the suite. begin is called for each test and makes a new session.
func Run(t *testing.T, begin func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s Subject)
	}{
		{"Empty", testEmpty},
		{"AppendAndGet", testAppendAndGet},
		{"BatchKeepsItsOrder", testBatch},
		{"TreeOfSeveralRoots", testTree},
		{"DanglingParentIsARoot", testDangling},
		{"CyclesEnd", testCycles},
		{"BytesSurvive", testBytes},
		{"IfLast", testIfLast},
		{"DuplicateIDs", testDuplicates},
		{"BadEntries", testBadEntries},
		{"EmptyBatch", testEmptyBatch},
		{"Cancel", testCancel},
		{"NoSync", testNoSync},
		{"Close", testClose},
		{"AllMayStopAndMayAppend", testAll},
		{"Reopen", testReopen},
		{"LogContext", testLog},
		{"ConcurrentAppends", testConcurrentAppends},
		{"ConcurrentTurnsByIfLast", testConcurrentIfLast},
		{"ConcurrentReads", testConcurrentReads},
		{"ConcurrentLog", testConcurrentLog},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, begin(t)) })
	}
}

// entry makes a record by hand, so that the suite does not lean on drafts.
func entry(t testing.TB, id, parent, rest string) *session.Entry {
	t.Helper()
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	e, err := session.ParseEntry([]byte(`{"type":"message","id":"` + id + `","parentId":` + p +
		`,"timestamp":"2025-01-02T03:04:05.678Z","message":{"role":"user","content":"` + rest + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func add(t testing.TB, s session.Store, batch ...*session.Entry) {
	t.Helper()
	if err := s.Append(context.Background(), batch, session.AppendOptions{}); err != nil {
		t.Fatalf("append: %v", err)
	}
}

// all returns the records as written, in order.
func all(t testing.TB, s session.Store) []string {
	t.Helper()
	var raws []string
	for e, err := range s.All(context.Background()) {
		if err != nil {
			t.Fatalf("all: %v", err)
		}
		raws = append(raws, string(e.Raw()))
	}
	return raws
}

func wantAll(t testing.TB, s session.Store, want ...*session.Entry) {
	t.Helper()
	var raws []string
	for _, e := range want {
		raws = append(raws, string(e.Raw()))
	}
	if got := all(t, s); !slices.Equal(got, raws) {
		t.Fatalf("the log holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(raws, "\n"))
	}
}

func wantLast(t testing.TB, s session.Store, id string) {
	t.Helper()
	last, err := s.Last(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := idOf(last); got != id {
		t.Fatalf("the newest entry is %q, want %q", got, id)
	}
}

func idOf(e *session.Entry) string {
	if e == nil {
		return ""
	}
	return e.ID
}

func wantParent(t testing.TB, s session.Store, e *session.Entry, parent string) {
	t.Helper()
	p, err := s.Parent(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	if got := idOf(p); got != parent {
		t.Fatalf("%s hangs under %q, want %q", e.ID, got, parent)
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// again closes a store and opens the session anew, where it is kept.
func again(t *testing.T, sub Subject, s session.Store) session.Store {
	t.Helper()
	if sub.Reopen == nil {
		return s
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	s = sub.Reopen(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func open(t *testing.T, sub Subject) session.Store {
	t.Helper()
	s := sub.Open(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func testEmpty(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	if s.Header().ID == "" {
		t.Error("the header has no id")
	}
	wantLast(t, s, "")
	wantAll(t, s)
	for _, id := range []string{"", "nowhere"} {
		_, err := s.Get(ctx, id)
		wantError(t, err, session.ErrNotFound)
	}
	if n, err := s.Refresh(ctx); n != 0 || err != nil {
		t.Errorf("Refresh = %d, %v", n, err)
	}
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	if err := s.Sync(ctx); err != nil {
		t.Error(err)
	}
	wantLast(t, again(t, sub, s), "")
}

func testAppendAndGet(t *testing.T, sub Subject) {
	s := open(t, sub)
	e := entry(t, "a", "", "hello")
	add(t, s, e)
	for range 2 {
		got, err := s.Get(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Raw()) != string(e.Raw()) || got.Type != session.TypeMessage || got.ParentID != "" {
			t.Errorf("got %s %q under %q", got.Raw(), got.Type, got.ParentID)
		}
		wantLast(t, s, "a")
		wantParent(t, s, got, "")
		wantAll(t, s, e)
		s = again(t, sub, s)
	}
}

func testBatch(t *testing.T, sub Subject) {
	s := open(t, sub)
	var want []*session.Entry
	parent := ""
	for n := range 7 {
		var batch []*session.Entry
		for k := range n + 1 {
			e := entry(t, fmt.Sprintf("e%d-%d", n, k), parent, "x")
			batch, parent = append(batch, e), e.ID
		}
		add(t, s, batch...)
		want = append(want, batch...)
		wantLast(t, s, parent)
	}
	wantAll(t, s, want...)
	s = again(t, sub, s)
	wantLast(t, s, parent)
	wantAll(t, s, want...)
	parent = ""
	for _, e := range want {
		wantParent(t, s, e, parent)
		parent = e.ID
	}
}

func testTree(t *testing.T, sub Subject) {
	s := open(t, sub)
	parents := map[string]string{"r1": "", "a": "r1", "b": "r1", "r2": "", "c": "b", "d": "b", "e": "r2", "f": "a"}
	order := []string{"r1", "a", "b", "r2", "c", "d", "e", "f"}
	for _, id := range order {
		add(t, s, entry(t, id, parents[id], "x"))
	}
	for range 2 {
		for _, id := range order {
			e, err := s.Get(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			wantParent(t, s, e, parents[id])
		}
		for leaf, want := range map[string]string{"f": "r1 a f", "d": "r1 b d", "e": "r2 e", "r2": "r2", "": ""} {
			if got := path(t, s, leaf); got != want {
				t.Errorf("path of %q: %q, want %q", leaf, got, want)
			}
		}
		s = again(t, sub, s)
	}
}

func path(t testing.TB, s session.Store, leaf string) string {
	t.Helper()
	entries, err := session.Path(context.Background(), s, leaf)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

func testDangling(t *testing.T, sub Subject) {
	s := open(t, sub)
	a, b := entry(t, "a", "nowhere", "x"), entry(t, "b", "a", "x")
	add(t, s, a, b)
	for range 2 {
		wantParent(t, s, a, "")
		if got := path(t, s, "b"); got != "a b" {
			t.Errorf("path %q", got)
		}
		s = again(t, sub, s)
	}
}

func testCycles(t *testing.T, sub Subject) {
	s := open(t, sub)
	add(t, s, entry(t, "self", "self", "x"), entry(t, "a", "c", "x"), entry(t, "b", "a", "x"), entry(t, "c", "b", "x"), entry(t, "out", "b", "x"))
	for range 2 {
		for leaf, want := range map[string]string{"self": "self", "c": "a b c", "out": "b c a b out"} {
			// The path begins at the entry that would come twice.
			if leaf == "out" {
				want = "c a b out"
			}
			if got := path(t, s, leaf); got != want {
				t.Errorf("path of %s: %q, want %q", leaf, got, want)
			}
			if _, err := session.ContextAt(context.Background(), s, leaf); err != nil {
				t.Error(err)
			}
			if _, _, err := session.Settings(context.Background(), s, leaf); err != nil {
				t.Error(err)
			}
		}
		s = again(t, sub, s)
	}
}

func testBytes(t *testing.T, sub Subject) {
	s := open(t, sub)
	var want []*session.Entry
	for i, raw := range []string{
		`{"id":"%d","type":"message","message":{"content":"key order","role":"user"},"parentId":null}`,
		`{"type":"custom","id":"%d","parentId":null,"a":1,"a":{"b":12345678901234567890},"n":-0.0,"e":1e400}`,
		`{"type":"message","id":"%d","parentId":null,"message":{"role":"user","content":"\ud83d alone \u0041 \/ ` + "\u2028\u2029 \x7f \xff\xfe" + `"}}`,
		`{ "type" : "unknown-type" , "id":"%d","x":[ ],"":{"id":"inner","parentId":"inner"} }`,
		`{"type":"message","id":"%d","parentId":null,"message":null}`,
		`{"id":"%d"}`,
	} {
		e, err := session.ParseEntry([]byte(strings.Replace(raw, "%d", fmt.Sprint("id", i), 1)))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	broken, err := session.ParseEntry([]byte("{\n\"type\":\"custom\",\n\"id\":\"broken\"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, broken)
	add(t, s, want...)
	wantAll(t, s, want...)
	wantAll(t, again(t, sub, s), want...)
}

func testIfLast(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	a, b, c := entry(t, "a", "", "x"), entry(t, "b", "a", "x"), entry(t, "c", "b", "x")
	wantError(t, s.Append(ctx, []*session.Entry{a}, session.AppendOptions{IfLast: "a"}), session.ErrConflict)
	wantAll(t, s)
	add(t, s, a)
	if err := s.Append(ctx, []*session.Entry{b}, session.AppendOptions{IfLast: "a"}); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Append(ctx, []*session.Entry{c}, session.AppendOptions{IfLast: "a"}), session.ErrConflict)
	wantAll(t, s, a, b)
	s = again(t, sub, s)
	wantError(t, s.Append(ctx, []*session.Entry{c}, session.AppendOptions{IfLast: "a"}), session.ErrConflict)
	if err := s.Append(ctx, []*session.Entry{c}, session.AppendOptions{IfLast: "b"}); err != nil {
		t.Fatal(err)
	}
	wantAll(t, s, a, b, c)
}

func testDuplicates(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	a := entry(t, "a", "", "x")
	long := entry(t, "0123456789abcdef", "a", "x")
	add(t, s, a, long)
	refuse := func(batch ...*session.Entry) {
		t.Helper()
		wantError(t, s.Append(ctx, batch, session.AppendOptions{}), session.ErrDuplicateID)
		wantAll(t, s, a, long)
		wantLast(t, s, long.ID)
	}
	refuse(entry(t, "a", "", "other"))
	refuse(entry(t, long.ID, "a", "other"))
	refuse(entry(t, "new", "a", "x"), entry(t, "a", "new", "other"))
	refuse(entry(t, "new", "a", "x"), entry(t, "new", "a", "y"))
	s = again(t, sub, s)
	refuse(entry(t, "a", "", "other"))
}

func testBadEntries(t *testing.T, sub Subject) {
	s := open(t, sub)
	a := entry(t, "a", "", "x")
	add(t, s, a)
	header, err := session.ParseEntry([]byte(`{"type":"session","id":"h","version":3}`))
	if err != nil {
		t.Fatal(err)
	}
	nameless, err := session.ParseEntry([]byte(`{"type":"message"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []*session.Entry{nil, {}, {ID: "b"}, header, nameless, entry(t, "c", "a", "x").Attached("elsewhere")} {
		err := s.Append(context.Background(), []*session.Entry{entry(t, "good", "a", "x"), bad}, session.AppendOptions{})
		wantError(t, err, session.ErrBadEntry)
		wantAll(t, s, a)
	}
}

func testEmptyBatch(t *testing.T, sub Subject) {
	s := open(t, sub)
	add(t, s)
	a := entry(t, "a", "", "x")
	add(t, s, a)
	add(t, s)
	wantAll(t, again(t, sub, s), a)
}

func testCancel(t *testing.T, sub Subject) {
	s := open(t, sub)
	a := entry(t, "a", "", "x")
	add(t, s, a)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantError(t, s.Append(ctx, []*session.Entry{entry(t, "b", "a", "x")}, session.AppendOptions{}), context.Canceled)
	_, err := s.Last(ctx)
	wantError(t, err, context.Canceled)
	_, err = s.Get(ctx, "a")
	wantError(t, err, context.Canceled)
	_, err = s.Parent(ctx, a)
	wantError(t, err, context.Canceled)
	_, err = s.Refresh(ctx)
	wantError(t, err, context.Canceled)
	err = nil
	for _, err = range s.All(ctx) {
		if err == nil {
			t.Error("an entry of a cancelled All")
		}
	}
	wantError(t, err, context.Canceled)
	// In the middle of an All, too.
	add(t, s, entry(t, "b", "a", "x"))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	n := 0
	for _, err = range s.All(ctx) {
		n++
		stop()
	}
	if n != 2 {
		t.Errorf("All gave %d times, want an entry and an error", n)
	}
	wantError(t, err, context.Canceled)
	if got := all(t, again(t, sub, s)); len(got) != 2 {
		t.Errorf("the log holds %v", got)
	}
}

func testNoSync(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	a, b, c := entry(t, "a", "", "x"), entry(t, "b", "a", "x"), entry(t, "c", "b", "x")
	for _, e := range []*session.Entry{a, b} {
		if err := s.Append(ctx, []*session.Entry{e}, session.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		wantLast(t, s, e.ID)
		if err := s.Sync(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(ctx, []*session.Entry{c}, session.AppendOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	wantAll(t, again(t, sub, s), a, b, c)
}

func testClose(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	a := entry(t, "a", "", "x")
	add(t, s, a)
	header := s.Header()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Header().ID != header.ID {
		t.Error("the header is gone")
	}
	s.Problems()
	wantError(t, s.Append(ctx, []*session.Entry{entry(t, "b", "a", "x")}, session.AppendOptions{}), session.ErrClosed)
	wantError(t, s.Append(ctx, nil, session.AppendOptions{}), session.ErrClosed)
	wantError(t, s.Sync(ctx), session.ErrClosed)
	_, err := s.Refresh(ctx)
	wantError(t, err, session.ErrClosed)
	_, err = s.Last(ctx)
	wantError(t, err, session.ErrClosed)
	_, err = s.Get(ctx, "a")
	wantError(t, err, session.ErrClosed)
	_, err = s.Parent(ctx, a)
	wantError(t, err, session.ErrClosed)
	err = nil
	for _, err = range s.All(ctx) {
	}
	wantError(t, err, session.ErrClosed)
	if sub.Reopen != nil {
		s = sub.Reopen(t)
		defer s.Close()
		wantAll(t, s, a)
	}
}

func testAll(t *testing.T, sub Subject) {
	s := open(t, sub)
	parent := ""
	for n := range 10 {
		e := entry(t, fmt.Sprint("e", n), parent, "x")
		add(t, s, e)
		parent = e.ID
	}
	for _, err := range s.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	// What is appended meanwhile may or may not come; what was there comes.
	n, added := 0, 0
	for e, err := range s.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.ID, "e") {
			n++
		}
		add(t, s, entry(t, fmt.Sprint("n", added), e.ID, "x"))
		if added++; added > 20 {
			break
		}
	}
	if n != 10 {
		t.Errorf("All gave %d of 10", n)
	}
	if got := len(all(t, s)); got != 10+added {
		t.Errorf("%d entries, want %d", got, 10+added)
	}
}

func testReopen(t *testing.T, sub Subject) {
	if sub.Reopen == nil {
		t.Skip("this store keeps nothing beyond its Close")
	}
	s := open(t, sub)
	header := s.Header()
	var want []*session.Entry
	parent := ""
	for n := range 5 {
		for k := range 40 {
			e := entry(t, fmt.Sprintf("e%d-%d", n, k), parent, strings.Repeat("text ", k*k))
			add(t, s, e)
			want, parent = append(want, e), e.ID
		}
		s = again(t, sub, s)
		if h := s.Header(); h.ID != header.ID || !h.Timestamp.Equal(header.Timestamp) || h.Cwd != header.Cwd {
			t.Fatalf("header %+v, want %+v", h, header)
		}
		wantLast(t, s, parent)
		if e, err := s.Get(context.Background(), "e0-0"); err != nil || string(e.Raw()) != string(want[0].Raw()) {
			t.Fatal(err)
		}
		wantAll(t, s, want...)
	}
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
}

func testLog(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	log := newLog(t, s)
	at := time.UnixMilli(1_700_000_000_000)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(log.Append(ctx, session.Message(message.User("one", at))))
	must(log.Append(ctx, session.Message(message.Assistant(at, message.TextBlock("two")))))
	kept, err := log.Append(ctx, session.Message(message.User("three", at)))
	must(nil, err)
	before := view(t, log)
	_, err = log.AppendPass(ctx, "not the last", session.PassInfo{}, session.NewCompaction(session.Compaction{Summary: "sum"}))
	wantError(t, err, session.ErrConflict)
	must(log.AppendPass(
		ctx, kept[0].ID, session.PassInfo{Reason: "manual"},
		session.NewContextEdit(session.ContextEdit{TargetID: kept[0].ID, Content: []byte(`"drei"`)}),
		session.NewCompaction(session.Compaction{Summary: "sum", FirstKeptEntryID: kept[0].ID}),
	))
	after := view(t, log)
	if after != "compactionSummary:sum user:drei" {
		t.Fatalf("context after the pass: %s", after)
	}
	for _, want := range []string{before, after, before} { // undo, redo, undo
		must(log.Undo(ctx, session.UndoOptions{}))
		if got := view(t, log); got != want {
			t.Fatalf("context %q, want %q", got, want)
		}
		s = again(t, sub, s)
		log = newLog(t, s)
		if got := view(t, log); got != want {
			t.Fatalf("context after reopening %q, want %q", got, want)
		}
	}
	if err := log.Navigate(ctx, "", "test"); err != nil {
		t.Fatal(err)
	}
	if got := view(t, newLog(t, again(t, sub, s))); got != "" {
		t.Fatalf("context before the first entry: %q", got)
	}
}

func newLog(t testing.TB, s session.Store) *session.Log {
	t.Helper()
	log, err := session.NewLog(context.Background(), s, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// view writes a context in short.
func view(t testing.TB, log *session.Log) string {
	t.Helper()
	c, err := log.Context(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, it := range c.Items {
		parts = append(parts, string(it.Message.Role)+":"+it.Message.Text()+it.Message.Summary)
	}
	return strings.Join(parts, " ")
}
