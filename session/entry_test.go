package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func TestParseEntry(t *testing.T) {
	for _, c := range []struct{ raw, typ, id, parent string }{
		{`{"type":"message","id":"a","parentId":"b"}`, "message", "a", "b"},
		{` {"id":"a","type":"x"} `, "x", "a", ""},
		{`{"type":"message","id":"a","parentId":null}`, "message", "a", ""},
		{`{"type":7,"id":null,"parentId":false}`, "", "", ""},
		{`{"type":"a","type":"b","id":"1","id":"2"}`, "b", "2", ""},
		{`{"t\u0079pe":"m","\u0069d":"\u0061"}`, "m", "a", ""},
		{`{}`, "", "", ""},
	} {
		e := parse(t, c.raw)
		if string(e.Type) != c.typ || e.ID != c.id || e.ParentID != c.parent || string(e.Raw()) != strings.TrimSpace(c.raw) {
			t.Errorf("%s: %q %q %q %s", c.raw, e.Type, e.ID, e.ParentID, e.Raw())
		}
	}
	for _, raw := range []string{``, `null`, `123`, `"x"`, `[]`, `{`, `{"a":1}{"b":2}`, `{"a":1} x`, "\xef\xbb\xbf{}", `{"a":` + strings.Repeat("[", 20_000)} {
		if e, err := session.ParseEntry([]byte(raw)); err == nil {
			t.Errorf("%.40q gives %s", raw, e.Raw())
		}
	}
}

// An entry is one line, whatever the white space it was made with.
func TestEntryIsOneLine(t *testing.T) {
	e := parse(t, "{\n  \"type\": \"custom\",\r\n\t\"id\": \"a\",\n\"s\":\"a\\nb\xff\"\n}\n")
	if got := string(e.Raw()); strings.Contains(got, "\n") || !strings.Contains(got, "a\\nb\xff") {
		t.Errorf("%q", got)
	}
	m, err := message.Parse([]byte("{\"role\":\"user\",\n\"content\":\"\xff\"}"))
	if err != nil {
		t.Fatal(err)
	}
	e = appendAll(t, testLog(t), session.Message(m))[0]
	if got := string(e.Raw()); strings.Contains(got, "\n") || !strings.Contains(got, "\xff") {
		t.Errorf("%q", got)
	}
}

// Every view gives what its draft was made of, and nothing for other types.
func TestDraftsReadBack(t *testing.T) {
	usage := &message.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 1, TotalCount: 10, Cost: 0.5}
	system := message.System("prompt", testTime)
	compaction := session.Compaction{
		Summary: "s\n\u2028", FirstKeptEntryID: "k", TokensBefore: 1 << 40, Details: json.RawMessage(`{"a":1}`),
		Usage: usage, FromHook: true, SystemMessage: system,
	}
	branch := session.BranchSummary{FromID: "root", Summary: "s", Details: json.RawMessage(`[1]`), Usage: usage, FromHook: true}
	log := testLog(t)
	got := appendAll(
		t, log,
		user("hi"),
		session.NewCompaction(compaction),
		session.NewBranchSummary(branch),
		session.NewContextEdit(session.ContextEdit{TargetID: "e1", Omit: true}),
		session.NewContextEdit(session.ContextEdit{TargetID: "e1", Content: json.RawMessage(`"new"`), Details: json.RawMessage(`{}`)}),
		session.NewCustom("ext", json.RawMessage(`{"x":1}`)),
		session.NewCustomMessage("ext", []message.Block{message.TextBlock("hello")}, true, json.RawMessage(`2`)),
		session.NewLabel("e1", "mark"),
		session.NewLabel("e1", ""),
		session.NewSessionInfo("name"),
		session.NewModelChange(session.Model{Provider: "p", ID: "m"}),
		session.NewThinkingLevel("high"),
		session.NewUsage("title", session.Model{Provider: "p", ID: "m"}, *usage),
	)
	parent := ""
	for _, e := range got {
		if e.ParentID != parent || !e.Time().Equal(testTime.Truncate(time.Millisecond)) {
			t.Errorf("%s hangs under %q, want %q; time %v", e.ID, e.ParentID, parent, e.Time())
		}
		again := parse(t, string(e.Raw()))
		if again.ID != e.ID || again.ParentID != e.ParentID || again.Type != e.Type {
			t.Errorf("%s reads back as %+v", e.Raw(), again)
		}
		parent = e.ID
	}
	check := func(i int, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("entry %d: %+v, want %+v", i, got, want)
		}
	}
	m, err := got[0].Message()
	if err != nil || m.Text() != "hi" || m.Role != message.RoleUser {
		t.Errorf("%+v %v", m, err)
	}
	c, _ := got[1].Compaction()
	if c.SystemMessage == nil || c.SystemMessage.Text() != "prompt" {
		t.Errorf("system message %+v", c.SystemMessage)
	}
	c.SystemMessage = compaction.SystemMessage
	check(1, c, compaction)
	b, _ := got[2].BranchSummary()
	check(2, b, branch)
	x, _ := got[3].ContextEdit()
	check(3, x, session.ContextEdit{TargetID: "e1", Omit: true})
	x, _ = got[4].ContextEdit()
	check(4, x, session.ContextEdit{TargetID: "e1", Content: json.RawMessage(`"new"`), Details: json.RawMessage(`{}`)})
	cu, _ := got[5].Custom()
	check(5, cu, session.Custom{CustomType: "ext", Data: json.RawMessage(`{"x":1}`)})
	cm, _ := got[6].CustomMessage()
	if cm.Role != message.RoleCustom || cm.Text() != "hello" || !cm.Display || cm.CustomType != "ext" || string(cm.Details) != "2" {
		t.Errorf("%+v", cm)
	}
	l, _ := got[7].Label()
	check(7, l, session.Label{TargetID: "e1", Label: "mark"})
	l, _ = got[8].Label()
	check(8, l, session.Label{TargetID: "e1"})
	name, _ := got[9].SessionName()
	check(9, name, "name")
	mc, _ := got[10].ModelChange()
	check(10, mc, session.Model{Provider: "p", ID: "m"})
	level, _ := got[11].ThinkingLevel()
	check(11, level, "high")
	for i, e := range got {
		if u := e.UsageReport(); (u != nil) != (i == 1 || i == 2 || i == 12) || u != nil && *u != *usage {
			t.Errorf("usage of %s: %+v", e.Raw(), u)
		}
	}
	for i, e := range got {
		_, isC := e.Compaction()
		_, isB := e.BranchSummary()
		_, isX := e.ContextEdit()
		_, isCu := e.Custom()
		_, isCm := e.CustomMessage()
		_, isL := e.Label()
		_, isN := e.SessionName()
		_, isM := e.ModelChange()
		_, isT := e.ThinkingLevel()
		_, err := e.Message()
		views := 0
		for _, is := range []bool{isC, isB, isX, isCu, isCm, isL, isN, isM, isT, err == nil} {
			if is {
				views++
			}
		}
		if views != 1 && e.Type != session.TypeUsage {
			t.Errorf("entry %d, a %s, has %d views", i, e.Type, views)
		}
	}
	// Again gives the same fields under another identity.
	for _, e := range got {
		copied := appendAll(t, log, session.Again(e))[0]
		if copied.ID == e.ID || copied.Type != e.Type {
			t.Errorf("%s copied as %s", e.Raw(), copied.Raw())
		}
		strip := func(e *session.Entry) (fields string) {
			var o object
			_ = json.Unmarshal(e.Raw(), &o)
			delete(o, "id")
			delete(o, "parentId")
			b, _ := json.Marshal(o)
			return string(b)
		}
		if strip(copied) != strip(e) {
			t.Errorf("%s copied as %s", e.Raw(), copied.Raw())
		}
	}
}

// JSON that is none does not reach the log.
func TestDraftsOfBadJSON(t *testing.T) {
	log := testLog(t)
	for _, d := range []session.Draft{
		session.NewCustom("ext", json.RawMessage(`{"a":`)),
		session.NewCustom("ext", json.RawMessage("\"line\nbreak\"")),
		session.NewCustom("ext", json.RawMessage(`1}{`)),
		session.NewContextEdit(session.ContextEdit{TargetID: "a", Content: json.RawMessage(`new text`)}),
		session.NewCompaction(session.Compaction{Details: json.RawMessage(`,`)}),
	} {
		if _, err := log.Append(context.Background(), user("good"), d); !errors.Is(err, session.ErrBadEntry) {
			t.Errorf("error %v", err)
		}
	}
	if log.Leaf() != "" {
		t.Error("something was written")
	}
}

func TestUnderAndIdentity(t *testing.T) {
	log := testLog(t)
	got := appendAll(t, log, user("a"), user("b").Under(""), user("c"), user("d").Under("e1"))
	for i, want := range []string{"", "", "e2", "e1"} {
		if got[i].ParentID != want {
			t.Errorf("%s hangs under %q, want %q", got[i].ID, got[i].ParentID, want)
		}
	}
	e := parse(t, `{"type":"message","x":1}`).WithIdentity("new", "p")
	if again := parse(t, string(e.Raw())); again.ID != "new" || again.ParentID != "p" || e.ID != "new" || e.ParentID != "p" {
		t.Errorf("%s", e.Raw())
	}
	if err := session.CheckAppend(e); err != nil {
		t.Error(err)
	}
	moved := e.Attached("q")
	if string(moved.Raw()) != string(e.Raw()) || moved.ParentID != "q" {
		t.Errorf("%s under %q", moved.Raw(), moved.ParentID)
	}
}

// A record with fields of the wrong kind is shown without them; see
// TestDefect097_ in package jsonl for whole files.
func TestMalformedFields(t *testing.T) {
	for _, raw := range []string{
		`{"type":"message","id":"a"}`,
		`{"type":"message","id":"a","message":null}`,
		`{"type":"message","id":"a","message":"text"}`,
		`{"type":"message","id":"a","message":{"content":"no role"}}`,
		`{"type":"message","id":"a","message":{"role":5}}`,
	} {
		if m, err := parse(t, raw).Message(); err == nil || !strings.Contains(err.Error(), "entry a") {
			t.Errorf("%s: %v %v", raw, m, err)
		}
	}
	c, ok := parse(t, `{"type":"compaction","summary":5,"firstKeptEntryId":null,"tokensBefore":"1","systemMessage":{}}`).Compaction()
	if !ok || !reflect.DeepEqual(c, session.Compaction{}) {
		t.Errorf("%+v", c)
	}
	for raw, want := range map[string]session.ContextEdit{
		`{"type":"context_edit"}`:                                       {},
		`{"type":"context_edit","targetId":5,"replacement":{}}`:         {},
		`{"type":"context_edit","targetId":"a","replacement":"text"}`:   {TargetID: "a"},
		`{"type":"context_edit","replacement":{"content":null}}`:        {},
		`{"type":"context_edit","replacement":null,"targetId":"b"}`:     {TargetID: "b", Omit: true},
		`{"type":"context_edit","replacement":{"x":1,"content":["c"]}}`: {Content: json.RawMessage(`["c"]`)},
	} {
		if got, _ := parse(t, raw).ContextEdit(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}

func TestParseHeader(t *testing.T) {
	h, err := session.ParseHeader([]byte(`{"type":"session","version":3,"id":"a","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/x","parentSession":"/p","extra":[1]}`))
	if err != nil || h.Version != 3 || h.ID != "a" || h.Cwd != "/x" || h.ParentSession != "/p" || h.Timestamp.UnixMilli() != 1735787045678 {
		t.Fatalf("%+v %v", h, err)
	}
	if string(h.JSON()) != string(h.Raw()) {
		t.Errorf("a version 3 header is rewritten: %s", h.JSON())
	}
	h, err = session.ParseHeader([]byte(`{"type":"session","id":"a","provider":"p"}`))
	if err != nil || h.Version != 1 {
		t.Fatalf("%+v %v", h, err)
	}
	if h, err = session.ParseHeader(h.JSON()); err != nil || h.Version != 3 || !strings.Contains(string(h.Raw()), `"provider":"p"`) {
		t.Fatalf("as version 3: %s %v", h.Raw(), err)
	}
	built := session.Header{ID: "b", Timestamp: testTime, Cwd: "/y", ParentSession: "/z"}
	if h, err = session.ParseHeader(built.JSON()); err != nil || h.Version != 3 || h.ID != "b" || h.Cwd != "/y" || h.ParentSession != "/z" || !h.Timestamp.Equal(testTime) {
		t.Fatalf("%+v %v", h, err)
	}
	for _, raw := range []string{``, `null`, `[]`, `{"type":"session"}`, `{"type":"session","id":5}`, `{"type":"message","id":"a"}`, `{"type":"session","id":"a"`} {
		if _, err := session.ParseHeader([]byte(raw)); err == nil {
			t.Errorf("%s is taken for a header", raw)
		}
	}
}

func TestSettings(t *testing.T) {
	ctx := context.Background()
	log := testLog(t)
	check := func(wantModel session.Model, wantLevel string) {
		t.Helper()
		m, level, err := session.Settings(ctx, log.Store(), log.Leaf())
		if err != nil || m != wantModel || level != wantLevel {
			t.Errorf("%v %q (%v), want %v %q", m, level, err, wantModel, wantLevel)
		}
		if m, err := session.ModelAt(ctx, log.Store(), log.Leaf()); err != nil || m != wantModel {
			t.Errorf("%v (%v), want %v", m, err, wantModel)
		}
	}
	check(session.Model{}, "off")
	appendAll(t, log, session.NewModelChange(session.Model{Provider: "p", ID: "m"}), session.NewThinkingLevel("high"), user("x"))
	check(session.Model{Provider: "p", ID: "m"}, "high")
	a := message.Assistant(testTime, message.TextBlock("y"))
	a.Provider, a.Model = "q", "n"
	appendAll(t, log, session.Message(a))
	check(session.Model{Provider: "q", ID: "n"}, "high")
	appendAll(t, log, session.NewThinkingLevel("low"), session.NewModelChange(session.Model{Provider: "p", ID: "m"}))
	check(session.Model{Provider: "p", ID: "m"}, "low")
}

// Ids do not repeat and have the form that lets a store skip a look at the
// whole log.
func TestRandomIDs(t *testing.T) {
	log, err := session.NewLog(context.Background(), session.NewMemory(session.Header{}), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 1000 {
		id := appendAll(t, log, user("x"))[0].ID
		if len(id) != 16 || strings.Trim(id, "0123456789abcdef") != "" || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
}
