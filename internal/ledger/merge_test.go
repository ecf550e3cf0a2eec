package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// fromSummary reads a summary alone. ok says that it had facts.
func fromSummary(text, details string, opt ledger.Options) (l ledger.Ledger, ok bool) {
	m := &message.Message{Role: message.RoleCompactionSummary, Summary: text, Details: json.RawMessage(details)}
	l = ledger.Read([]session.Item{{Message: m}}, opt)
	return l, !reflect.DeepEqual(l, ledger.Read(nil, opt))
}

func TestFromSummary(t *testing.T) {
	for _, c := range []struct {
		name, text, details, want string
	}{
		{
			name:    "our details come before all else",
			text:    "<modified-files>\nx.go\n</modified-files>",
			details: `{"readFiles":["y.go"],"clew":{"ledger":{"files":[{"path":"a.go","state":"created","edits":3}]}}}`,
			want:    "created a.go",
		},
		{
			name:    "pi's details come before the text",
			text:    "<modified-files>\nx.go\n</modified-files>",
			details: ` {"readFiles":["b.go","/home/user/project/c.go"],"modifiedFiles":["./a.go",7,""]}`,
			want:    "read b.go; read c.go; modified a.go",
		},
		{
			name: "pi's lists in the text",
			text: "## Goal\nx\n\n<read-files>\nb.go\n/home/user/project/c.go\n</read-files>\n\n<modified-files>\na.go\n</modified-files>",
			want: "read b.go; read c.go; modified a.go",
		},
		{name: "details that are no JSON", text: "nothing", details: `{"clew":`},
		{name: "details of the wrong kind", details: `{"clew":{"ledger":{"files":"x"}},"readFiles":7}`},
		{name: "states that are none", details: `{"clew":{"ledger":{"files":[{"path":"a","state":"stolen"},{"path":"","state":"read"}]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ok := fromSummary(c.text, c.details, ledger.Options{Cwd: cwd})
			got := list(l.Files)
			if weak := list(l.Weak); weak != "" {
				got += "; weak " + weak
			}
			if got != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, ok, c.want)
			}
		})
	}
}

// steps are things that happen, drawn at random. Each is a whole unit.
var steps = []func(t *testchat.Chat, r *rand.Rand){
	func(t *testchat.Chat, r *rand.Rand) { t.User(fmt.Sprint("please do ", r.IntN(100))) },
	func(t *testchat.Chat, r *rand.Rand) { t.Call("read", testchat.Args("path", file(r)), "x") },
	func(t *testchat.Chat, r *rand.Rand) {
		t.Call("read", testchat.Args("path", file(r)), "ENOENT").Failed()
	},
	func(t *testchat.Chat, r *rand.Rand) {
		t.Call("edit", testchat.Args("path", file(r), "oldText", "a", "newText", "b"), "ok")
	},
	func(t *testchat.Chat, r *rand.Rand) {
		t.Call("edit", testchat.Args("path", file(r), "oldText", "a", "newText", "b"), "Could not find it").Failed()
	},
	func(t *testchat.Chat, r *rand.Rand) {
		t.Call("write", testchat.Args("path", file(r), "content", "b"), "ok")
	},
	func(t *testchat.Chat, r *rand.Rand) { t.Bash("rm "+file(r), "") },
	func(t *testchat.Chat, r *rand.Rand) { t.Bash("mv "+file(r)+" "+file(r), "") },
	func(t *testchat.Chat, r *rand.Rand) { t.Bash("echo x > "+file(r), "") },
	func(t *testchat.Chat, r *rand.Rand) {
		check := []string{"go test ./a", "go test ./...", "npm run check", "cd sub && npx tsc", "pytest a"}[r.IntN(5)]
		if r.IntN(2) == 0 {
			t.Bash(check, "1 failed\n\nCommand exited with code 1").Failed()
		} else {
			t.Bash(check, "ok")
		}
	},
	func(t *testchat.Chat, r *rand.Rand) {
		t.Bash("git commit -m x", fmt.Sprintf("[main %07x] change %d", r.IntN(1<<28), r.IntN(9)))
	},
	func(t *testchat.Chat, r *rand.Rand) {
		t.Call("TodoWrite", fmt.Sprintf(`{"todos":[{"content":"step %d","status":"pending"}]}`, r.IntN(9)), "ok")
	},
}

func file(r *rand.Rand) string {
	return []string{"a.go", "./a.go", "b/c.go", "/home/user/project/b/c.go", "d.go", "e.go"}[r.IntN(6)]
}

func conversation(r *rand.Rand, n int) []session.Item {
	conv := testchat.New()
	for range n {
		steps[r.IntN(len(steps))](conv, r)
	}
	return conv.Items()
}

// compacted returns the summary of a compaction that stored a ledger.
func compacted(t *testing.T, l ledger.Ledger) session.Item {
	t.Helper()
	own, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return session.Item{Message: &message.Message{
		Role: message.RoleCompactionSummary, Summary: "what was",
		Details: json.RawMessage(`{"readFiles":[],"clew":{"ledger":` + string(own) + `}}`),
	}}
}

// What is read in several steps, each ledger carried on by a compaction, is what
// is read at once.
func TestCumulative(t *testing.T) {
	t.Parallel()
	opt := ledger.Options{Cwd: cwd}
	seeds := 120
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		items := conversation(r, 60)
		want, err := json.Marshal(ledger.Read(items, opt))
		if err != nil {
			t.Fatal(err)
		}
		rest := items
		for range 3 {
			// A cut stands before a message that is no result.
			cut := r.IntN(len(rest))
			for cut < len(rest) && rest[cut].Message.Role == message.RoleToolResult {
				cut++
			}
			rest = append([]session.Item{compacted(t, ledger.Read(rest[:cut], opt))}, rest[cut:]...)
		}
		got, err := json.Marshal(ledger.Read(rest, opt))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: in steps\n%s\nat once\n%s", seed, got, want)
		}
	}
}

func TestJSONGivesTheLedgerBack(t *testing.T) {
	for seed := range uint64(50) {
		l := ledger.Read(conversation(rand.New(rand.NewPCG(seed, 8)), 80), ledger.Options{Cwd: cwd})
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back ledger.Ledger
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(l, back) {
			t.Fatalf("seed %d: %+v\nbecame %+v", seed, l, back)
		}
	}
}

func TestBranchSummaryIsNewerThanWhatCameBefore(t *testing.T) {
	conv := testchat.New()
	conv.Call("write", `{"path":"a.go","content":""}`, "ok")
	conv.Call("read", `{"path":"b.go"}`, "x")
	items := append(conv.Items(), session.Item{Message: &message.Message{
		Role: message.RoleBranchSummary, Summary: "left",
		Details: json.RawMessage(`{"clew":{"ledger":{"files":[{"path":"a.go","state":"deleted"},{"path":"b.go","state":"modified"},{"path":"c.go","state":"read"}]}}}`),
	}})
	l := ledger.Read(items, ledger.Options{})
	if got, want := list(l.Files), "deleted a.go; modified b.go (read); read c.go"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzFromSummary(f *testing.F) {
	f.Add("## Files\n### Modified\n- a.go\n", `{"readFiles":["a"]}`)
	f.Add("<read-files>\na\n</read-files>", `{"clew":{"ledger":{"users":[{"entry":"x"}],"errors":[{"tool":"bash","subject":"a | b","lines":["x","y","z","w"]}],"commands":[{"text":"go test","runs":-4}]}}}`)
	f.Fuzz(func(t *testing.T, text, details string) {
		l, _ := fromSummary(text, details, ledger.Options{Cwd: cwd})
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := fromSummary("", `{"clew":{"ledger":`+string(data)+`}}`, ledger.Options{Cwd: cwd})
		second, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, second) {
			t.Fatalf("carried on twice:\n%s\n%s", data, second)
		}
	})
}

// A reader that is asked in between gives at each place what a new one gives.
func TestReaderGoesOn(t *testing.T) {
	for seed := range uint64(20) {
		items := conversation(rand.New(rand.NewPCG(seed, 77)), 60)
		rules := testchat.New()
		rules.Tag = "r"
		rules.User("Never push.\nAlways ask first.\nAlways use tabs for indentation in generated files.")
		rules.Say("ok")
		rules.Say("ok, tabs")
		rules.Say("ok, tabs it is")
		rules.Say("done")
		rules.Say("done with the tabs")
		rules.Say("done with all")
		rules.User("Actually, use spaces instead of tabs for indentation in generated files.")
		items = append(rules.Items(), items...)
		r := ledger.NewReader(ledger.Options{Cwd: cwd})
		var kept []ledger.Ledger
		var want [][]byte
		for i := range items {
			r.Add(items[i : i+1])
			if i%7 != 0 {
				continue
			}
			l := r.Ledger()
			got, _ := json.Marshal(l)
			again, _ := json.Marshal(ledger.Read(items[:i+1], ledger.Options{Cwd: cwd}))
			if !bytes.Equal(got, again) {
				t.Fatalf("seed %d, %d messages:\n%s\n%s", seed, i+1, got, again)
			}
			kept, want = append(kept, l), append(want, got)
		}
		for i, l := range kept {
			if got, _ := json.Marshal(l); !bytes.Equal(got, want[i]) {
				t.Fatalf("seed %d: a ledger changed after it was given out:\n%s\n%s", seed, got, want[i])
			}
		}
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	secret := "ghp_" + "9fK2mQ7xT4vB1nR8" + "wZ3cY6pL5sD0"
	conv := testchat.New()
	conv.User("Always use the token " + secret + " for pushes.")
	conv.Bash("GH_TOKEN="+secret+" git push", "error: denied for "+secret+"\n\nCommand exited with code 1").Failed()
	conv.Say("We decided to use " + secret + " instead of readToken because of pushAll.")
	conv.Call("TodoWrite", `{"todos":[{"content":"push with `+secret+`","status":"pending"}]}`, "ok")
	l := ledger.Read(conv.Items(), ledger.Options{})
	got, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(got, []byte(secret)) {
		t.Errorf("the secret is in the ledger: %s", got)
	}
	if len(l.Rules) != 1 || l.Rules[0].Text != "Always use the token [redacted:key] for pushes." {
		t.Errorf("rules %+v", l.Rules)
	}
}
