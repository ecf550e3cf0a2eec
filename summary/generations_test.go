package summary_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// previous makes the item that stands for an earlier compaction: with the ledger
// in its details, or with nothing but the text.
func previous(t testing.TB, out summary.Output, facts *ledger.Ledger) session.Item {
	t.Helper()
	m := &message.Message{Role: message.RoleCompactionSummary, Summary: out.Text}
	if facts != nil {
		own, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		m.Details = json.RawMessage(`{"clew":{"ledger":` + string(own) + `}}`)
	}
	return session.Item{Message: m}
}

// Ten compactions one after the other: what the user wants kept to, the last
// request and the open todos are there in the end, the size is bounded, and what
// was secret in the beginning is nowhere.
func TestTenGenerations(t *testing.T) {
	t.Parallel()
	secret := "ghp_" + "9fK2mQ7xT4vB1nR8" + "wZ3cY6pL5sD0"
	for _, withDetails := range []bool{true, false} {
		for seed := range cases(2) {
			r := rand.New(rand.NewPCG(seed, 31))
			budget := []int64{1500, 4000}[seed%2]
			name := fmt.Sprintf("seed %d, details %v", seed, withDetails)
			rules := []string{"Always run the linter before a commit.", "You must never change the wire format.", "不要修改数据库结构。", "No new dependencies."}
			var before *session.Item
			var out summary.Output
			for generation := range 10 {
				conv := testchat.New()
				conv.Tag = fmt.Sprintf("%02d", generation)
				if generation == 0 {
					conv.User("Build the importer in import/run.go with " + secret + ". " + strings.Join(rules, " "))
					conv.Bash("curl -H 'Authorization: Bearer "+secret+"' https://example.org/x", "token="+secret)
				}
				if generation == 3 {
					conv.Call("TodoWrite", `{"todos":[{"content":"check the importer twice","status":"pending"},{"content":"lexer","status":"completed"}]}`, "ok")
				}
				items := append(conv.Items(), filler(r, 25, fmt.Sprintf("f%02d", generation))...)
				last := testchat.New()
				last.Tag = fmt.Sprintf("l%02d", generation)
				last.User(fmt.Sprintf("now do step %d of parseEntry", generation))
				items = append(items, last.Items()...)
				if before != nil {
					items = append([]session.Item{*before}, items...)
				}
				facts := ledger.Read(items, ledger.Options{Cwd: cwd})
				kept := &facts
				if !withDetails { // the summary reads it, its own text among the rest
					kept = nil
				}
				out = summarize(t, summary.Input{Items: items, Cwd: cwd, Budget: budget, Ledger: kept})
				if out.Tokens > budget {
					t.Fatalf("%s, generation %d: %d tokens of %d", name, generation, out.Tokens, budget)
				}
				if strings.Contains(out.Text, secret) {
					t.Fatalf("%s, generation %d: the secret is there:\n%s", name, generation, out.Text)
				}
				q := out.Document.Quotes
				if want := fmt.Sprintf("now do step %d of parseEntry", generation); len(q) == 0 || q[len(q)-1].Text != want {
					t.Fatalf("%s, generation %d: the last request is lost:\n%s", name, generation, out.Text)
				}
				item := previous(t, out, kept)
				before = &item
			}
			for _, rule := range rules {
				if !slices.ContainsFunc(out.Document.Constraints, func(l summary.Line) bool { return l.Text == rule }) {
					t.Errorf("%s: the rule %q is forgotten:\n%s", name, rule, out.Text)
				}
			}
			if !strings.Contains(out.Text, "check the importer twice") {
				t.Errorf("%s: the open todo is forgotten:\n%s", name, out.Text)
			}
			if !strings.Contains(out.Text, "Build the importer in import/run.go") {
				t.Errorf("%s: what it began with is forgotten:\n%s", name, out.Text)
			}
		}
	}
}

// filler is work without rules, todos and requests.
func filler(r *rand.Rand, n int, tag string) []session.Item {
	conv := testchat.New()
	conv.Tag = tag
	for i := range n {
		f := fmt.Sprintf("pkg%d/file%d.go", r.IntN(9), r.IntN(40))
		switch r.IntN(4) {
		case 0:
			conv.SayCall("Now "+sentence(r), "edit", testchat.Args("path", f, "oldText", sentence(r), "newText", "func "+sentence(r)), "ok")
		case 1:
			conv.Call("read", testchat.Args("path", f), paragraph(r, 30))
		case 2:
			conv.Bash("go test ./"+f, "ok")
		default:
			conv.Bash("git commit -m x", fmt.Sprintf("[main %07x] Change %s", 0xabc1230+i, f))
		}
	}
	return conv.Items()
}
