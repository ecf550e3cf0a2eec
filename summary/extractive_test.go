package summary

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

type runes struct{}

func (runes) Name() string                       { return "runes" }
func (runes) Text(s string) int64                { return int64(utf8.RuneCountInString(s)+2) / 3 }
func (c runes) Message(m *message.Message) int64 { return c.Text(string(m.JSON())) }

// Every statement of a document stands in the conversation, but for the words of
// phrases and the marks of cuts.
func TestStatementsStandInTheConversation(t *testing.T) {
	t.Parallel()
	things := []string{
		"the session store in session/store.go", "parseEntry()", "用户登录", "http://example.org/a/b", "--no-verify", "`MAX_TOKENS`", "1507f8b2",
		"a very long explanation of how the reader and the writer of the log agree on what an entry is", "l’élève", "файл настроек",
	}
	says := []string{
		"Please look at %s and then at %s.", "You must never change %s, only %s.", "I fixed %s because %s was wrong.", "The root cause is %s, not %s.",
		"Next I will update %s and test %s.", "Fehler in %s und %s.", "决定用 %s 而不是 %s。",
	}
	checked, seeds := 0, 25
	if testing.Short() {
		seeds = 6
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 41))
		say := func() string {
			return fmt.Sprintf(says[r.IntN(len(says))], things[r.IntN(len(things))], things[r.IntN(len(things))])
		}
		conv := testchat.New()
		conv.User(say())
		for range 40 {
			file := fmt.Sprintf("dir%d/file_%d.go", r.IntN(3), r.IntN(9))
			switch r.IntN(8) {
			case 0:
				conv.User(say() + " " + say() + "\n- " + say())
			case 1:
				conv.Say(say() + "\n\n```go\nfunc Load" + fmt.Sprint("X", r.IntN(9)) + "(id string) error { return parseEntry(id) }\n```\n" + say())
			case 2:
				conv.SayCall(say(), "edit", testchat.Args("path", "/w/p/"+file, "oldText", say(), "newText", say()), "ok")
			case 3:
				conv.Bash("cd /w/p && go test ./dir1 2>&1 | tail", "--- FAIL: TestOne (0.1s)\n    x_test.go:12: "+say()+"\nFAIL")
			case 4:
				conv.Bash("git commit -m x", "[main 1507f8b] "+say())
			case 5:
				conv.Call("read", testchat.Args("path", file), "12\t"+say()+"\n13\tconst readSession = "+fmt.Sprint(r.IntN(1e6)))
			case 6:
				conv.Bash("cat > "+file+" <<'EOF'\n"+say()+"\nEOF", "")
			default:
				conv.Call("deploy", testchat.Args("note", say()), "Error: "+say()).Failed()
			}
		}
		items := conv.Items()
		out, err := Deterministic{}.Summarize(context.Background(), Input{Items: items, Cwd: "/w/p", Budget: int64(500 + r.IntN(4000)), Counter: runes{}})
		if err != nil {
			t.Fatal(err)
		}
		source := flatSource(t, items)
		d := out.Document
		for _, lines := range [][]Line{d.Goal, d.Constraints, d.Done, d.InProgress, d.Blocked, d.Decisions, d.Next, d.Context} {
			for _, l := range lines {
				for _, part := range append(statementParts(l.Text), statementParts(l.From)...) {
					checked++
					if !strings.Contains(source, part) {
						t.Fatalf("seed %d: %q of %q is nowhere in the conversation:\n%s", seed, part, l.Text, out.Text)
					}
				}
			}
		}
		for _, q := range d.Quotes {
			for _, part := range q.texts() {
				if !strings.Contains(source, flatten(part)) {
					t.Fatalf("seed %d: a quote that nobody said: %q", seed, part)
				}
			}
		}
	}
	if checked < 40*seeds {
		t.Errorf("only %d statements", checked)
	}
}

func flatten(s string) string { return strings.Join(strings.Fields(s), " ") }

// flatSource is all that was said and called, on one line.
func flatSource(t *testing.T, items []session.Item) string {
	var b strings.Builder
	for _, it := range items {
		b.WriteString(it.Message.Text() + "\n")
		for _, c := range it.Message.ToolCalls() {
			var args map[string]string
			if err := json.Unmarshal(c.Arguments, &args); err != nil {
				t.Fatal(err)
			}
			for _, v := range args {
				b.WriteString(v + "\n")
			}
			b.WriteString(c.Name + "\n")
		}
	}
	return flatten(b.String())
}

// statementParts takes our own words and marks away from a line and returns what
// is left.
func statementParts(s string) []string {
	parts := []string{s}
	split := func(sep string) {
		var out []string
		for _, p := range parts {
			out = append(out, strings.Split(p, sep)...)
		}
		parts = out
	}
	parts[0], _, _ = strings.Cut(s, " +") // other files
	for _, l := range languages {
		for _, own := range []string{l.first, l.current, l.latest, l.changed, l.command, l.failed, l.commit, l.since, "`" + l.passes, "`" + l.fails, "`" + l.refused} {
			if strings.HasPrefix(s, own) || strings.Contains(own, "`") || own == l.failed || own == l.since {
				split(own)
			}
		}
	}
	for _, mark := range []string{"…", " · ", " | ", ": ", ", ", "`", ". ", "。", " ("} {
		split(mark)
	}
	var out []string
	for _, p := range parts {
		if p = strings.Trim(strings.TrimPrefix(p, commandMark), ":;. )"); p != "" && p != "$" && p != codeSource {
			out = append(out, p)
		}
	}
	return out
}
