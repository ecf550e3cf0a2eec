package compact

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Decisions are tested as text: testdata/*.txt hold a sketch of a path, a
// command and the expected answer. `UPDATE=1 go test ./compact` writes the
// answers anew.
//
// A sketch has a line an entry: a name, what it is, its cost in words (the test's
// counter counts words), and for calls and results the ids of the calls:
//
//	u 5            a user message            x 5           a custom message
//	a 5 c1 c2      an answer with two calls  r c1 5        the result of c1
//	b 5            a shell command           s 5           a system message
//	t 5 c1         an answer with signed reasoning and a call
//	aborted 5      an answer that was aborted
//	label, model   entries not in the context
//	k NAME 5       a compaction that keeps from NAME on; k - keeps nothing
//	edit NAME      takes NAME out
//	inj 5          a user message that a program injected
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for i, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
				head, want, found := strings.Cut(block, "\n----\n")
				if !found {
					if i > 0 {
						out.WriteString("\n\n")
					}
					out.WriteString(block)
					continue
				}
				got := answer(t, head)
				if got != want && os.Getenv("UPDATE") == "" {
					t.Errorf("%s\n---- got\n%s\n---- want\n%s", head, got, want)
				}
				if i > 0 {
					out.WriteString("\n\n")
				}
				out.WriteString(head + "\n----\n" + got)
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(out.String()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func answer(t *testing.T, block string) string {
	lines := strings.Split(block, "\n")
	var sketch []string
	var command string
	for _, l := range lines {
		if strings.HasPrefix(l, "#") {
			continue
		}
		if strings.HasPrefix(l, ">") {
			command = strings.TrimSpace(l[1:])
			continue
		}
		sketch = append(sketch, l)
	}
	path := build(t, sketch)
	c := session.Project(path)
	words := strings.Fields(command)
	switch words[0] {
	case "units":
		var b strings.Builder
		for _, u := range unitsOf(c.Items, countWords) {
			names := make([]string, 0, u.To-u.From)
			for _, it := range c.Items[u.From:u.To] {
				names = append(names, it.Entry.ID)
			}
			fmt.Fprintf(&b, "%s: %d\n", strings.Join(names, " "), u.Tokens)
		}
		return strings.TrimRight(b.String(), "\n")
	case "pending":
		var ids []string
		for _, call := range Pending(c.Items) {
			ids = append(ids, call.ID)
		}
		return "pending: " + cmp.Or(strings.Join(ids, " "), "none")
	case "thinking":
		p := &Snapshot{Context: c, stale: staleThinking(path, c)}
		names := func(items []int) string {
			var out []string
			for _, i := range items {
				out = append(out, c.Items[i].Entry.ID)
			}
			return cmp.Or(strings.Join(out, " "), "none")
		}
		return "stale: " + names(p.stale) + "; to go: " + names(p.loose())
	case "cut":
		tail, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cut := findCut(c, unitsOf(c.Items, countWords), tail)
		s := fmt.Sprintf("kept from %s: %d messages, %d tokens; %d summarized", cut.FirstKept, cut.Kept, cut.Tokens, cut.Summarized)
		if cut.SplitTurn {
			s += "; inside the turn of " + cut.TurnStart
		}
		return s
	}
	t.Fatalf("unknown command %q", command)
	return ""
}

func countWords(m *message.Message) int64 {
	n := len(strings.Fields(m.Summary)) + len(strings.Fields(m.Command+" "+m.Output))
	for _, b := range m.Content {
		n += len(strings.Fields(b.Text))
	}
	return int64(n)
}

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// build makes entries of a sketch. Entries are named e1, e2, ... unless a line
// begins with a name and a colon.
func build(t *testing.T, sketch []string) []*session.Entry {
	t.Helper()
	var path []*session.Entry
	for i, line := range sketch {
		name := fmt.Sprintf("e%d", i+1)
		if n, rest, ok := strings.Cut(line, ": "); ok {
			name, line = n, rest
		}
		w := strings.Fields(line)
		arg := func(i int) string {
			if i < len(w) {
				return w[i]
			}
			return ""
		}
		text := func(n string) string {
			k, err := strconv.Atoi(n)
			if err != nil {
				t.Fatalf("sketch line %q: %v", line, err)
			}
			return strings.TrimSpace(strings.Repeat("word ", k))
		}
		var d session.Draft
		switch w[0] {
		case "u":
			d = session.Message(message.User(text(arg(1)), testTime))
		case "inj":
			m := message.User(text(arg(1)), testTime)
			m.Origin = message.OriginInjected
			d = session.Message(m)
		case "s":
			d = session.Message(message.System(text(arg(1)), testTime))
		case "a", "aborted", "cut", "t":
			blocks := []message.Block{message.TextBlock(text(arg(1)))}
			if w[0] == "t" || w[0] == "aborted" {
				blocks = append([]message.Block{message.ThinkingBlock("hm", "sig")}, blocks...)
			}
			for _, id := range w[2:] {
				blocks = append(blocks, message.ToolCallBlock(id, "read", []byte(`{"path":"`+id+`.go"}`)))
			}
			m := message.Assistant(testTime, blocks...)
			switch w[0] {
			case "aborted":
				m.StopReason = message.StopAborted
			case "cut":
				m.StopReason = message.StopLength
			}
			d = session.Message(m)
		case "r":
			d = session.Message(message.ToolResult(arg(1), "read", text(arg(2)), false, testTime))
		case "b":
			d = session.Message(&message.Message{Role: message.RoleBashExecution, Command: text(arg(1))})
		case "x":
			d = session.NewCustomMessage("test", []message.Block{message.TextBlock(text(arg(1)))}, true, nil)
		case "label":
			d = session.NewLabel("e1", "here")
		case "model":
			d = session.NewModelChange(session.Model{Provider: "p", ID: "m"})
		case "k":
			kept := arg(1)
			if kept == "-" {
				kept = name
			}
			d = session.NewCompaction(session.Compaction{Summary: text(arg(2)), FirstKeptEntryID: kept})
		case "edit":
			d = session.NewContextEdit(session.ContextEdit{TargetID: arg(1), Omit: true})
		default:
			t.Fatalf("sketch line %q", line)
		}
		e := session.Preview(nil, d)[0]
		parent := ""
		if len(path) > 0 {
			parent = path[len(path)-1].ID
		}
		path = append(path, e.WithIdentity(name, parent))
	}
	return path
}

// TestUnitsFollowThePairs: calls and results share a unit as they are paired, and
// what belongs to no call joins the unit before it.
func TestUnitsFollowThePairs(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	call := func(id string) *message.Message {
		return message.Assistant(at, message.ToolCallBlock(id, "bash", []byte(`{}`)))
	}
	result := func(id string) *message.Message { return message.ToolResult(id, "bash", "x", false, at) }
	user := message.User("go on", at)
	for _, c := range []struct {
		name string
		msgs []*message.Message
		want []int // where units end
	}{
		{"in order", []*message.Message{user, call("a"), result("a"), user}, []int{1, 3, 4}},
		{"late", []*message.Message{user, call("a"), user, result("a"), user}, []int{1, 4, 5}},
		{"early", []*message.Message{user, result("a"), user, call("a"), user}, []int{1, 4, 5}},
		{"orphan", []*message.Message{user, user, result("x"), user}, []int{1, 3, 4}},
		{"twice", []*message.Message{call("a"), result("a"), user, result("a"), user}, []int{2, 4, 5}},
		{"of an older answer", []*message.Message{call("a"), call("a"), result("a"), result("a"), user}, []int{4, 5}},
	} {
		var items []session.Item
		for _, m := range c.msgs {
			items = append(items, session.Item{Message: m})
		}
		var got []int
		for _, u := range unitsOf(items, func(*message.Message) int64 { return 1 }) {
			got = append(got, u.To)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: units end at %v, want %v", c.name, got, c.want)
		}
	}
}
