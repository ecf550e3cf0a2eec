package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// The projection, written a second time as simply as can be: maps, encoding/json
// and the rules of the format in their order. It shares no code with Project.

type object map[string]json.RawMessage

func (o object) str(key string) (s string) {
	var v any
	if json.Unmarshal(o[key], &v) == nil {
		s, _ = v.(string)
	}
	return s
}

func (o object) obj(key string) (v object) {
	_ = json.Unmarshal(o[key], &v)
	return v
}

// record is what the rules need to know of an entry.
type record struct {
	typ, parent, kept, target string
	omit                      bool   // of an edit
	content                   string // of an edit: the new text; "" leaves the target as it is
	system                    bool
	shows                     []shown // what it contributes
}

// shown is a message: its role and what it says.
type shown struct{ role, says string }

// naiveLog reads a version 3 file in which every line is sound.
func naiveLog(t testing.TB, data []byte) (order []string, byID map[string]*record) {
	t.Helper()
	byID = map[string]*record{}
	for i, line := range bytes.Split(data, []byte("\n")) {
		var o object
		if len(bytes.TrimSpace(line)) == 0 || i == 0 {
			continue
		}
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if id := o.str("id"); id != "" && o.str("type") != "session" {
			order = append(order, id)
			byID[id] = naiveRecord(o) // the last record has the id
		}
	}
	return order, byID
}

func naiveRecord(o object) *record {
	r := &record{typ: o.str("type"), parent: o.str("parentId")}
	show := func(role, says string) { r.shows = append(r.shows, shown{role, says}) }
	switch r.typ {
	case "message":
		m := o.obj("message")
		if role := m.str("role"); role != "" {
			r.system = role == "system"
			show(role, text(m["content"]))
		}
	case "custom_message":
		show("custom", text(o["content"]))
	case "branch_summary":
		if sum := o.str("summary"); sum != "" {
			show("branchSummary", sum)
		}
	case "compaction":
		r.kept = o.str("firstKeptEntryId")
		if sys := o.obj("systemMessage"); sys.str("role") != "" {
			show(sys.str("role"), text(sys["content"]))
		}
		show("compactionSummary", o.str("summary"))
	case "context_edit":
		r.target = o.str("targetId")
		r.omit = string(o["replacement"]) == "null"
		if c := o.obj("replacement")["content"]; c != nil && string(c) != "null" {
			r.content = "=" + text(c)
		}
	}
	return r
}

func naivePath(byID map[string]*record, leaf string) (path []string) {
	seen := map[string]bool{}
	for id := leaf; id != "" && byID[id] != nil && !seen[id]; id = byID[id].parent {
		seen[id] = true
		path = append(path, id)
	}
	slices.Reverse(path)
	return path
}

// naiveContext returns one line for each message: entry, role, the edit that
// changed it, and what it says.
func naiveContext(byID map[string]*record, path []string) (lines []string) {
	// 1. The latest compaction first, then from its first kept entry up to it
	// without system messages, then the rest.
	active := path
	compaction := ""
	for i := len(path) - 1; i >= 0; i-- {
		if byID[path[i]].typ != "compaction" {
			continue
		}
		compaction = path[i]
		active = []string{compaction}
		kept := slices.Index(path, byID[compaction].kept)
		for k := kept; k >= 0 && k < i; k++ {
			if !byID[path[k]].system {
				active = append(active, path[k])
			}
		}
		active = append(active, path[i+1:]...)
		break
	}
	// 2. The last edit of each target among them.
	edit := map[string]string{}
	for _, id := range active {
		if byID[id].typ == "context_edit" {
			edit[byID[id].target] = id
		}
	}
	// 3. What each contributes. Any entry can be taken out; what four roles say
	// can be replaced.
	for _, id := range active {
		e := edit[id]
		if e != "" && byID[e].omit || byID[id].typ == "compaction" && id != compaction {
			continue
		}
		for _, s := range byID[id].shows {
			by := ""
			if e != "" && byID[e].content != "" && slices.Contains([]string{"user", "assistant", "toolResult", "custom"}, s.role) {
				by, s.says = e, byID[e].content[1:]
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %q", id, s.role, by, s.says))
		}
	}
	return lines
}

// text gives the text blocks of a content, and the types of the others.
func text(content json.RawMessage) string {
	var s string
	if len(content) > 0 && content[0] == '"' && json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []json.RawMessage
	_ = json.Unmarshal(content, &blocks)
	var parts []string
	for _, b := range blocks {
		var o object
		_ = json.Unmarshal(b, &o)
		if o.str("type") == "text" {
			parts = append(parts, o.str("text"))
		} else {
			parts = append(parts, "["+o.str("type")+"]")
		}
	}
	return strings.Join(parts, "|")
}

// contextLines writes a projected context in the same form.
func contextLines(c *session.Context) (lines []string) {
	for _, it := range c.Items {
		m := it.Message
		says := m.Summary
		if m.Role != message.RoleBranchSummary && m.Role != message.RoleCompactionSummary {
			var parts []string
			for _, b := range m.Content {
				if b.Type == message.BlockText {
					// encoding/json turns what is not UTF-8 into U+FFFD.
					parts = append(parts, strings.ToValidUTF8(b.Text, "\uFFFD"))
				} else {
					parts = append(parts, "["+string(b.Type)+"]")
				}
			}
			says = strings.Join(parts, "|")
		}
		by := ""
		if it.Edit != nil {
			by = it.Edit.ID
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %q", it.Entry.ID, m.Role, by, says))
	}
	return lines
}

// memoryOf loads a sound version 3 file into a Memory.
func memoryOf(t testing.TB, data []byte) *session.Memory {
	t.Helper()
	var entries []*session.Entry
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 || i == 0 {
			continue
		}
		e, err := session.ParseEntry(line)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if e.ID != "" && e.Type != "session" {
			entries = append(entries, e)
		}
	}
	return session.NewMemory(session.Header{ID: "x"}, entries...)
}

// sessions is how many generated sessions a property is tried on.
func sessions() uint64 {
	if testing.Short() {
		return 25
	}
	return 70
}

// Project and the naive projection agree on every path of generated sessions,
// and ContextAt, which reads only what it needs, gives what Project gives of the
// whole path.
func TestProjectAgreesWithNaive(t *testing.T) {
	ctx := context.Background()
	var stats sessiongen.Stats
	contexts := 0
	for seed := range sessions() {
		s := sessiongen.Generate(seed, sessiongen.Options{UserBytes: 200, AnswerBytes: 200, ResultBytes: 200})
		stats.Merge(s.Stats)
		order, byID := naiveLog(t, s.Bytes())
		store := memoryOf(t, s.Bytes())
		for _, leaf := range order {
			contexts++
			path, err := session.Path(ctx, store, leaf)
			if err != nil {
				t.Fatal(err)
			}
			naive := naivePath(byID, leaf)
			if got := ids(path); !slices.Equal(got, naive) {
				t.Fatalf("seed %d leaf %s: path\n%v\nwant\n%v", seed, leaf, got, naive)
			}
			want := naiveContext(byID, naive)
			whole := session.Project(path)
			if got := contextLines(whole); !slices.Equal(got, want) {
				t.Fatalf("seed %d leaf %s: context\n%s\nwant\n%s", seed, leaf, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			part, err := session.ContextAt(ctx, store, leaf)
			if err != nil {
				t.Fatal(err)
			}
			if !sameContext(part, whole) {
				t.Fatalf("seed %d leaf %s: ContextAt differs from Project(Path)", seed, leaf)
			}
			checkContext(t, whole)
		}
	}
	t.Logf("%d contexts of %s", contexts, stats.Shares())
	if short := stats.Below(map[sessiongen.Feature]float64{
		sessiongen.TwoCompactions: 0.3, sessiongen.ParallelCalls: 0.8, sessiongen.MissingResults: 0.3,
		sessiongen.EditsOnKept: 0.2, sessiongen.Omissions: 0.5, sessiongen.Replacements: 0.5, sessiongen.Branches: 0.6,
		sessiongen.SeveralRoots: 0.2, sessiongen.Images: 0.5, sessiongen.CJK: 0.8, sessiongen.LabelFirstKept: 0.15,
		sessiongen.RetainNone: 0.1, sessiongen.DanglingFirstKept: 0.1, sessiongen.NestedCompaction: 0.15,
		sessiongen.EditsOnFixed: 0.03, sessiongen.BranchSummaries: 0.5, sessiongen.MalformedRecords: 0.1,
		sessiongen.DuplicateIDs: 0.01, sessiongen.Cycles: 0.01,
	}); len(short) > 0 && !testing.Short() {
		t.Errorf("too few cases: %s", strings.Join(short, "; "))
	}
}

func ids(entries []*session.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}

// sameContext compares what two contexts show and how they come about.
func sameContext(a, b *session.Context) bool {
	if !slices.Equal(ids(a.Active), ids(b.Active)) || a.Boundary != b.Boundary || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		x, y := &a.Items[i], &b.Items[i]
		if x.Entry.ID != y.Entry.ID || x.At != y.At || (x.Edit == nil) != (y.Edit == nil) ||
			x.Edit != nil && x.Edit.ID != y.Edit.ID || !bytes.Equal(x.Message.JSON(), y.Message.JSON()) {
			return false
		}
	}
	return (a.Compaction == nil) == (b.Compaction == nil) && (a.Compaction == nil || a.Compaction.ID == b.Compaction.ID)
}

// checkContext holds a context against what the fields promise.
func checkContext(t testing.TB, c *session.Context) {
	t.Helper()
	at := 0
	for _, it := range c.Items {
		if it.At < at || it.At >= len(c.Active) || c.Active[it.At] != it.Entry {
			t.Fatalf("item of %s says it stands at %d", it.Entry.ID, it.At)
		}
		at = it.At
	}
	if c.Boundary < 0 || c.Boundary > len(c.Active) {
		t.Fatalf("boundary %d of %d", c.Boundary, len(c.Active))
	}
	for i, e := range c.Active {
		if i >= c.Boundary && (e.Type == session.TypeContextEdit || e == c.Compaction) {
			t.Fatalf("%s stands behind the boundary %d, at %d", e.ID, c.Boundary, i)
		}
	}
	if c.Compaction != nil && c.Active[0] != c.Compaction {
		t.Fatal("the compaction does not stand first")
	}
}
