// Package storetest is the one suite that every session.Store passes.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Subject {
//			s := mystore.New(t.TempDir())
//			return storetest.Subject{
//				Open:   func(t *testing.T) session.Store { return s.Create(t) },
//				Reopen: func(t *testing.T) session.Store { return s.Open(t) },
//			}
//		})
//	}
//
// It takes a few seconds under the race detector, which it is meant to be run with.
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
	Open func(t *testing.T) session.Store // opens the empty session; called once
	// Reopen opens the session again after the store before was closed; nil where nothing is kept beyond Close.
	Reopen func(t *testing.T) session.Store
}

// Run runs the suite. begin is called for each test and makes a new session.
func Run(t *testing.T, begin func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		test func(s *subject)
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
		t.Run(c.name, func(t *testing.T) {
			s := &subject{T: t, sub: begin(t)}
			s.Store = s.sub.Open(t)
			t.Cleanup(func() { _ = s.Close() })
			c.test(s)
		})
	}
}

type subject struct {
	*testing.T
	session.Store
	sub Subject
}

// again closes the store and opens the session anew, where it is kept.
func (s *subject) again() {
	s.Helper()
	if s.sub.Reopen != nil {
		s.check(s.Close())
		s.Store = s.sub.Reopen(s.T)
	}
}

func (s *subject) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *subject) parse(raw string) *session.Entry {
	s.Helper()
	e, err := session.ParseEntry([]byte(raw))
	s.check(err)
	return e
}

// entry makes a record by hand, so that the suite does not lean on drafts.
func (s *subject) entry(id, parent, rest string) *session.Entry {
	s.Helper()
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return s.parse(`{"type":"message","id":"` + id + `","parentId":` + p +
		`,"timestamp":"2025-01-02T03:04:05.678Z","message":{"role":"user","content":"` + rest + `"}}`)
}

func (s *subject) add(batch ...*session.Entry) {
	s.Helper()
	s.check(s.Append(s.Context(), batch, session.AppendOptions{}))
}

func (s *subject) all() (raws []string) {
	s.Helper()
	for e, err := range s.All(s.Context()) {
		s.check(err)
		raws = append(raws, string(e.Raw()))
	}
	return raws
}

func (s *subject) wantAll(want ...*session.Entry) {
	s.Helper()
	var raws []string
	for _, e := range want {
		raws = append(raws, string(e.Raw()))
	}
	if got := s.all(); !slices.Equal(got, raws) {
		s.Fatalf("the log holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(raws, "\n"))
	}
}

func (s *subject) get(id string) *session.Entry {
	s.Helper()
	e, err := s.Get(s.Context(), id)
	s.check(err)
	return e
}

func (s *subject) wantLast(id string) {
	s.Helper()
	last, err := s.Last(s.Context())
	s.check(err)
	s.wantID("the newest entry", last, id)
}

func (s *subject) wantParent(e *session.Entry, parent string) {
	s.Helper()
	p, err := s.Parent(s.Context(), e)
	s.check(err)
	s.wantID("the parent of "+e.ID, p, parent)
}

func (s *subject) wantID(what string, e *session.Entry, id string) {
	s.Helper()
	got := ""
	if e != nil {
		got = e.ID
	}
	if got != id {
		s.Fatalf("%s is %q, want %q", what, got, id)
	}
}

func (s *subject) path(leaf string) string {
	s.Helper()
	entries, err := session.Path(s.Context(), s.Store, leaf)
	s.check(err)
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

func (s *subject) wantPaths(want map[string]string) {
	s.Helper()
	for leaf, ids := range want {
		if got := s.path(leaf); got != ids {
			s.Errorf("path of %q: %q, want %q", leaf, got, ids)
		}
	}
}

func (s *subject) wantError(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("error %v, want %v", err, want)
	}
}

// wantRefused shows that no method but Header and Problems works, with their error.
func (s *subject) wantRefused(ctx context.Context, e *session.Entry, want error) {
	s.Helper()
	s.wantError(s.Append(ctx, []*session.Entry{s.entry("b", "a", "x")}, session.AppendOptions{}), want)
	_, err := s.Last(ctx)
	s.wantError(err, want)
	_, err = s.Get(ctx, e.ID)
	s.wantError(err, want)
	_, err = s.Parent(ctx, e)
	s.wantError(err, want)
	_, err = s.Refresh(ctx)
	s.wantError(err, want)
	err = nil
	for _, err = range s.All(ctx) {
		if err == nil {
			s.Error("an entry of All")
		}
	}
	s.wantError(err, want)
}

func testEmpty(s *subject) {
	if s.Header().ID == "" {
		s.Error("the header has no id")
	}
	s.wantLast("")
	s.wantAll()
	for _, id := range []string{"", "nowhere"} {
		_, err := s.Get(s.Context(), id)
		s.wantError(err, session.ErrNotFound)
	}
	if n, err := s.Refresh(s.Context()); n != 0 || err != nil {
		s.Errorf("Refresh = %d, %v", n, err)
	}
	if p := s.Problems(); len(p) > 0 {
		s.Errorf("problems: %v", p)
	}
	s.check(s.Sync(s.Context()))
	s.again()
	s.wantLast("")
}

func testAppendAndGet(s *subject) {
	e := s.entry("a", "", "hello")
	s.add(e)
	for range 2 {
		got := s.get("a")
		if string(got.Raw()) != string(e.Raw()) || got.Type != session.TypeMessage || got.ParentID != "" {
			s.Errorf("got %s %q under %q", got.Raw(), got.Type, got.ParentID)
		}
		s.wantLast("a")
		s.wantParent(got, "")
		s.wantAll(e)
		s.again()
	}
}

func testBatch(s *subject) {
	s.add() // an empty one adds nothing
	var want []*session.Entry
	parent := ""
	for n := range 7 {
		var batch []*session.Entry
		for k := range n + 1 {
			e := s.entry(fmt.Sprintf("e%d-%d", n, k), parent, "x")
			batch, parent = append(batch, e), e.ID
		}
		s.add(batch...)
		s.add()
		want = append(want, batch...)
		s.wantLast(parent)
	}
	s.wantAll(want...)
	s.again()
	s.wantLast(parent)
	s.wantAll(want...)
	parent = ""
	for _, e := range want {
		s.wantParent(e, parent)
		parent = e.ID
	}
}

func testTree(s *subject) {
	parents := map[string]string{"r1": "", "a": "r1", "b": "r1", "r2": "", "c": "b", "d": "b", "e": "r2", "f": "a"}
	order := []string{"r1", "a", "b", "r2", "c", "d", "e", "f"}
	for _, id := range order {
		s.add(s.entry(id, parents[id], "x"))
	}
	for range 2 {
		for _, id := range order {
			s.wantParent(s.get(id), parents[id])
		}
		s.wantPaths(map[string]string{"f": "r1 a f", "d": "r1 b d", "e": "r2 e", "r2": "r2", "": ""})
		s.again()
	}
}

func testDangling(s *subject) {
	a, b := s.entry("a", "nowhere", "x"), s.entry("b", "a", "x")
	s.add(a, b)
	for range 2 {
		s.wantParent(a, "")
		s.wantPaths(map[string]string{"b": "a b"})
		s.again()
	}
}

func testCycles(s *subject) {
	s.add(s.entry("self", "self", "x"), s.entry("a", "c", "x"), s.entry("b", "a", "x"), s.entry("c", "b", "x"), s.entry("out", "b", "x"))
	// A path begins at the entry that would come twice.
	want := map[string]string{"self": "self", "c": "a b c", "out": "c a b out"}
	for range 2 {
		s.wantPaths(want)
		for leaf := range want {
			_, err := session.ContextAt(s.Context(), s.Store, leaf)
			s.check(err)
			_, _, err = session.Settings(s.Context(), s.Store, leaf)
			s.check(err)
		}
		s.again()
	}
}

func testBytes(s *subject) {
	var want []*session.Entry
	for i, raw := range []string{
		`{"id":"%d","type":"message","message":{"content":"key order","role":"user"},"parentId":null}`,
		`{"type":"custom","id":"%d","parentId":null,"a":1,"a":{"b":12345678901234567890},"n":-0.0,"e":1e400}`,
		`{"type":"message","id":"%d","parentId":null,"message":{"role":"user","content":"\ud83d alone \u0041 \/ ` + "\u2028\u2029 \x7f \xff\xfe" + `"}}`,
		`{ "type" : "unknown-type" , "id":"%d","x":[ ],"":{"id":"inner","parentId":"inner"} }`,
		`{"type":"message","id":"%d","parentId":null,"message":null}`,
		`{"id":"%d"}`,
		"{\n\"type\":\"custom\",\n\"id\":\"%d\"\n}\n",
	} {
		want = append(want, s.parse(strings.Replace(raw, "%d", fmt.Sprint("id", i), 1)))
	}
	s.add(want...)
	s.wantAll(want...)
	s.again()
	s.wantAll(want...)
}

func testIfLast(s *subject) {
	appendIf := func(last string, e *session.Entry) error {
		return s.Append(s.Context(), []*session.Entry{e}, session.AppendOptions{IfLast: last})
	}
	a, b, c := s.entry("a", "", "x"), s.entry("b", "a", "x"), s.entry("c", "b", "x")
	s.wantError(appendIf("a", a), session.ErrConflict)
	s.wantAll()
	s.add(a)
	s.check(appendIf("a", b))
	s.wantError(appendIf("a", c), session.ErrConflict)
	s.wantAll(a, b)
	s.again()
	s.wantError(appendIf("a", c), session.ErrConflict)
	s.check(appendIf("b", c))
	s.wantAll(a, b, c)
}

func testDuplicates(s *subject) {
	a, long := s.entry("a", "", "x"), s.entry("0123456789abcdef", "a", "x")
	s.add(a, long)
	refuse := func(batch ...*session.Entry) {
		s.Helper()
		s.wantError(s.Append(s.Context(), batch, session.AppendOptions{}), session.ErrDuplicateID)
		s.wantAll(a, long)
		s.wantLast(long.ID)
	}
	refuse(s.entry("a", "", "other"))
	refuse(s.entry(long.ID, "a", "other"))
	refuse(s.entry("new", "a", "x"), s.entry("a", "new", "other"))
	refuse(s.entry("new", "a", "x"), s.entry("new", "a", "y"))
	s.again()
	refuse(s.entry("a", "", "other"))
}

func testBadEntries(s *subject) {
	a := s.entry("a", "", "x")
	s.add(a)
	header, nameless := s.parse(`{"type":"session","id":"h","version":3}`), s.parse(`{"type":"message"}`)
	for _, bad := range []*session.Entry{nil, {}, {ID: "b"}, header, nameless, s.entry("c", "a", "x").Attached("elsewhere")} {
		err := s.Append(s.Context(), []*session.Entry{s.entry("good", "a", "x"), bad}, session.AppendOptions{})
		s.wantError(err, session.ErrBadEntry)
		s.wantAll(a)
	}
}

func testCancel(s *subject) {
	a := s.entry("a", "", "x")
	s.add(a)
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	s.wantRefused(ctx, a, context.Canceled)
	// In the middle of an All, too.
	s.add(s.entry("b", "a", "x"))
	ctx, stop := context.WithCancel(s.Context())
	defer stop()
	n := 0
	var err error
	for _, err = range s.All(ctx) {
		n++
		stop()
	}
	if n != 2 {
		s.Errorf("All gave %d times, want an entry and an error", n)
	}
	s.wantError(err, context.Canceled)
	s.again()
	if got := s.all(); len(got) != 2 {
		s.Errorf("the log holds %v", got)
	}
}

func testNoSync(s *subject) {
	a, b, c := s.entry("a", "", "x"), s.entry("b", "a", "x"), s.entry("c", "b", "x")
	for _, e := range []*session.Entry{a, b, c} {
		s.check(s.Append(s.Context(), []*session.Entry{e}, session.AppendOptions{NoSync: true}))
		s.wantLast(e.ID)
		if e != c {
			s.check(s.Sync(s.Context()))
		}
	}
	s.again()
	s.wantAll(a, b, c)
}

func testClose(s *subject) {
	a := s.entry("a", "", "x")
	s.add(a)
	header := s.Header()
	for range 2 {
		s.check(s.Close())
	}
	if s.Header().ID != header.ID {
		s.Error("the header is gone")
	}
	s.Problems()
	s.wantRefused(s.Context(), a, session.ErrClosed)
	s.wantError(s.Append(s.Context(), nil, session.AppendOptions{}), session.ErrClosed)
	s.wantError(s.Sync(s.Context()), session.ErrClosed)
	if s.sub.Reopen != nil {
		s.again()
		s.wantAll(a)
	}
}

func testAll(s *subject) {
	parent := ""
	for n := range 10 {
		e := s.entry(fmt.Sprint("e", n), parent, "x")
		s.add(e)
		parent = e.ID
	}
	for _, err := range s.All(s.Context()) {
		s.check(err)
		break
	}
	// What is appended meanwhile may or may not come; what was there comes.
	n, added := 0, 0
	for e, err := range s.All(s.Context()) {
		s.check(err)
		if strings.HasPrefix(e.ID, "e") {
			n++
		}
		s.add(s.entry(fmt.Sprint("n", added), e.ID, "x"))
		if added++; added > 20 {
			break
		}
	}
	if n != 10 {
		s.Errorf("All gave %d of 10", n)
	}
	if got := len(s.all()); got != 10+added {
		s.Errorf("%d entries, want %d", got, 10+added)
	}
}

func testReopen(s *subject) {
	if s.sub.Reopen == nil {
		s.Skip("this store keeps nothing beyond its Close")
	}
	header := s.Header()
	var want []*session.Entry
	parent := ""
	for n := range 5 {
		for k := range 40 {
			e := s.entry(fmt.Sprintf("e%d-%d", n, k), parent, strings.Repeat("text ", k*k))
			s.add(e)
			want, parent = append(want, e), e.ID
		}
		s.again()
		if h := s.Header(); h.ID != header.ID || !h.Timestamp.Equal(header.Timestamp) || h.Cwd != header.Cwd {
			s.Fatalf("header %+v, want %+v", h, header)
		}
		s.wantLast(parent)
		if e := s.get("e0-0"); string(e.Raw()) != string(want[0].Raw()) {
			s.Fatalf("got %s", e.Raw())
		}
		s.wantAll(want...)
	}
	if p := s.Problems(); len(p) > 0 {
		s.Errorf("problems: %v", p)
	}
}

func testLog(s *subject) {
	ctx := s.Context()
	log := s.log()
	at := time.UnixMilli(1_700_000_000_000)
	add := func(m *message.Message) string {
		s.Helper()
		added, err := log.Append(ctx, session.Message(m))
		s.check(err)
		return added[0].ID
	}
	add(message.User("one", at))
	add(message.Assistant(at, message.TextBlock("two")))
	kept := add(message.User("three", at))
	before := s.view(log)
	_, err := log.AppendPass(ctx, "not the last", session.PassInfo{}, session.NewCompaction(session.Compaction{Summary: "sum"}))
	s.wantError(err, session.ErrConflict)
	_, err = log.AppendPass(
		ctx, kept, session.PassInfo{Reason: "manual"},
		session.NewContextEdit(session.ContextEdit{TargetID: kept, Content: []byte(`"drei"`)}),
		session.NewCompaction(session.Compaction{Summary: "sum", FirstKeptEntryID: kept}),
	)
	s.check(err)
	after := s.view(log)
	if after != "compactionSummary:sum user:drei" {
		s.Fatalf("context after the pass: %s", after)
	}
	for _, want := range []string{before, after, before} { // undo, redo, undo
		_, err := log.Undo(ctx, session.UndoOptions{})
		s.check(err)
		if got := s.view(log); got != want {
			s.Fatalf("context %q, want %q", got, want)
		}
		s.again()
		log = s.log()
		if got := s.view(log); got != want {
			s.Fatalf("context after reopening %q, want %q", got, want)
		}
	}
	s.check(log.Navigate(ctx, "", "test"))
	s.again()
	if got := s.view(s.log()); got != "" {
		s.Fatalf("context before the first entry: %q", got)
	}
}

func (s *subject) log() *session.Log {
	s.Helper()
	log, err := session.NewLog(s.Context(), s.Store, session.Options{})
	s.check(err)
	return log
}

// view writes a context in short.
func (s *subject) view(log *session.Log) string {
	s.Helper()
	c, err := log.Context(s.Context())
	s.check(err)
	var parts []string
	for _, it := range c.Items {
		parts = append(parts, string(it.Message.Role)+":"+it.Message.Text()+it.Message.Summary)
	}
	return strings.Join(parts, " ")
}
