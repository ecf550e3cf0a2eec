package summary_test

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// Whatever the user, the agent, a tool and an earlier summary say, the document
// fits, holds the user's words and is read back.
func FuzzDeterministic(f *testing.F) {
	for _, s := range nasty {
		f.Add("do it", "I fixed "+s, s, s, int64(300))
		f.Add(s, s, "--- FAIL: "+s, "", int64(100))
	}
	f.Fuzz(func(t *testing.T, user, answer, result, previous string, budget int64) {
		if budget < 1 || budget > 1<<40 || !utf8.ValidString(user) || !utf8.ValidString(answer) {
			return
		}
		conv := testchat.New()
		conv.User(user)
		conv.Bash("go test ./...", result).Failed()
		conv.Say(answer)
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: budget, Previous: previous, ClipLast: true})
		if out.Tokens > budget {
			t.Fatalf("%d tokens of %d:\n%s", out.Tokens, budget, out.Text)
		}
		if doc, ok := summary.Parse(out.Text); out.Text != "" && (!ok || !reflect.DeepEqual(doc, out.Document)) {
			t.Fatalf("read back differently:\n%s\n%+v\n%+v", out.Text, doc, out.Document)
		}
		q := out.Document.Quotes
		if !out.Coverage.LastClipped && lastUser(conv.Items()) != "" && (len(q) == 0 || q[len(q)-1].Text != user) {
			t.Fatalf("%q is not quoted:\n%s", user, out.Text)
		}
	})
}
