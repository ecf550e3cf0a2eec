package lost_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/lost"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// log is a conversation in the making.
type log struct{ items []session.Item }

func (l *log) add(m *message.Message) {
	id := fmt.Sprintf("%07xa", len(l.items))
	store := session.NewMemory(session.Header{ID: "s"})
	log, err := session.NewLog(context.Background(), store, session.Options{NewID: func() string { return id }})
	if err == nil {
		var made []*session.Entry
		made, err = log.Append(context.Background(), session.Message(m))
		l.items = append(l.items, session.Item{Message: m, Entry: made[0]})
	}
	if err != nil {
		panic(err)
	}
}

func (l *log) user(s string) { l.add(message.User(s, time.Time{})) }

// call is a call with its result.
func (l *log) call(tool, arguments, result string, failed bool) {
	id := fmt.Sprintf("call_%d", len(l.items))
	l.add(&message.Message{Role: message.RoleAssistant, Content: []message.Block{{Type: message.BlockToolCall, ID: id, Name: tool, Arguments: []byte(arguments)}}})
	l.add(&message.Message{Role: message.RoleToolResult, ToolCallID: id, ToolName: tool, IsError: failed, Content: []message.Block{message.TextBlock(result)}})
}

// work is a conversation with something of everything.
func work() *log {
	l := &log{}
	l.user("Mend the clock in clock.go. Never touch the file calendar.go, it belongs to another team.")
	l.call("Read", `{"file_path":"/work/clock.go"}`, "func tickInterval() time.Duration { return defaultTick }", false)
	l.call("Edit", `{"file_path":"/work/clock.go","old_string":"defaultTick","new_string":"fastTick"}`, "ok", false)
	l.call("Write", `{"file_path":"/work/clock_test.go","content":"package clock"}`, "ok", false)
	l.call("Bash", `{"command":"go test ./..."}`, "--- FAIL: TestTick (0.00s)\nFAIL\nexit status 1", true)
	l.call("Bash", `{"command":"git status"}`, "clean", false)
	l.user("The offsets come from `zone_offsets.csv`, by the way.")
	return l
}

// TestFind: each kind of thing that a summary lacks is given, with the place where it stands,
// and what the summary says in the same words is not.
func TestFind(t *testing.T) {
	l := work()
	in := lost.Input{Dropped: l.items, Summary: "We worked on a clock.", Cwd: "/work", Recall: "clew recall FILE ID"}
	got := lost.Find(in)
	handle := func(i int) string { return " [#" + l.items[i].Entry.ID[:7] + "]\n" }
	for what, want := range map[string]string{
		"a rule":          "## The user's rules\n- Never touch the file calendar.go, it belongs to another team." + handle(0),
		"a request":       "- The offsets come from `zone_offsets.csv`, by the way." + handle(11),
		"a failing check": "- `go test ./...`: exit code 1: TestTick" + handle(8),
		"a command":       "- `git status`: ok" + handle(10),
		"files":           "- created clock_test.go",
		"a line":          "func tickInterval() time.Duration { return defaultTick }",
		"how to read on":  "clew recall FILE ID reads it whole.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing: no %q in\n%s", what, want, got)
		}
	}
	in.Summary = got
	if again := lost.Find(in); strings.Contains(again, "Never touch") || strings.Contains(again, "zone_offsets") {
		t.Errorf("what is known is given again:\n%s", again)
	}
}

// TestFindNothing: where nothing is missing there is no text at all.
func TestFindNothing(t *testing.T) {
	l := &log{}
	if got := lost.Find(lost.Input{Dropped: l.items}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	l.user("Please mend the old clock on the wall.")
	if got := lost.Find(lost.Input{Dropped: l.items, Summary: "The user said: please mend the old clock on the wall."}); got != "" {
		t.Errorf("of what is known: %q", got)
	}
}

// TestFindMasksSecrets: what goes to a model again holds no password in plain sight.
func TestFindMasksSecrets(t *testing.T) {
	l := work()
	l.call("Bash", `{"command":"deploy"}`, "the deploy_token is sk-ant-api03-Zk3vQ9bWm2xR7tYc5nLh8dPf1sGj4aUe for now", false)
	if got := lost.Find(lost.Input{Dropped: l.items}); strings.Contains(got, "Zk3vQ9bWm2xR7t") || !strings.Contains(got, "[redacted:") {
		t.Errorf("%s", got)
	}
}

// TestFindFits: whatever was said, the text is within its size, whole characters, and the
// same each time.
func TestFindFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"always", "never", "読む", "main.go", "fooBar_baz", "the", "clock", "must", "exit", "😀", "a/b/c.txt", "\n", "```", "## x", "- "}
	sentence := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return b.String()
	}
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	for range rounds {
		l := &log{}
		for range rng.IntN(40) {
			switch rng.IntN(3) {
			case 0:
				l.user(sentence(rng.IntN(200)))
			case 1:
				l.call("Bash", fmt.Sprintf(`{"command":%q}`, sentence(5)), sentence(300), rng.IntN(2) == 0)
			default:
				l.call("Edit", fmt.Sprintf(`{"file_path":"/w/f%d.go","new_string":%q}`, rng.IntN(9), "x"), "ok", false)
			}
		}
		in := lost.Input{Dropped: l.items, Summary: sentence(rng.IntN(50)), Max: 300 + rng.IntN(5000)}
		got := lost.Find(in)
		if n := utf8.RuneCountInString(got); n > in.Max || !utf8.ValidString(got) {
			t.Fatalf("%d characters, and %d fit:\n%s", n, in.Max, got)
		}
		if again := lost.Find(in); again != got {
			t.Fatalf("another text the second time:\n%s\n%s", got, again)
		}
	}
}
