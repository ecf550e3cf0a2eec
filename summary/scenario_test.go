package summary_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

var update = flag.Bool("update", false, "write testdata anew")

// golden compares with a file of testdata that a person has read.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".md")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got+"\n" != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("the document differs from %s; run with -update and read the difference. It is now:\n%s", path, got)
	}
}

// coding is a session with a failed test that is fixed, one that still fails, a
// change of the user's mind and a plan.
func coding() *testchat.Chat {
	t := testchat.New()
	t.User("Add a cache to the session store in store/session.go. You must never change the file format. Use an LRU cache with 100 entries for loaded sessions.")
	t.SayCall("I'll look at the store first.", "read", `{"path":"/home/user/project/store/session.go"}`,
		"package store\n\n// SessionStore loads sessions from disk.\ntype SessionStore struct {\n\tdir string\n}\n\nfunc (s *SessionStore) Load(id string) (*Session, error) {\n\treturn readSession(s.dir, id)\n}")
	t.SayCall("SessionStore.Load reads the file each time, so the cache belongs in front of readSession.", "write",
		`{"path":"store/lru.go","content":"package store\n\n// lruCache keeps the sessions used last.\ntype lruCache struct {\n\tlimit int\n}\n\nfunc newLRU(limit int) *lruCache { return &lruCache{limit: limit} }"}`,
		"Successfully wrote 120 bytes to store/lru.go")
	t.Call("edit", `{"path":"./store/session.go","oldText":"dir string","newText":"dir string\n\tcache *lruCache"}`, "Successfully replaced text")
	t.Bash("cd /home/user/project && go test ./store 2>&1 | tail -20", "--- FAIL: TestLoadTwice (0.00s)\n    session_test.go:41: loaded 2 times, want 1\nFAIL\nFAIL\tproject/store\t0.012s")
	t.SayCall("The root cause is that Load never asks the cache: put is called, get is not.", "edit",
		`{"path":"store/session.go","oldText":"return readSession","newText":"if v, ok := s.cache.get(id); ok {\n\t\treturn v, nil\n\t}\n\treturn readSession"}`, "Successfully replaced text")
	t.Bash("go test ./store", "ok  \tproject/store\t0.010s")
	t.Bash(`git commit -am "Cache loaded sessions"`, "[main 1507f8b] Cache loaded sessions\n 2 files changed")
	t.Say("Done. Added lruCache in store/lru.go and SessionStore.Load now asks it first. `go test ./store` passes.")
	t.User("Actually, instead of an LRU cache with 100 entries for loaded sessions, use a map without a limit. And update docs/store.md.")
	t.SayCall("We decided to use a plain map instead of lruCache, so store/lru.go can go.", "bash", `{"command":"rm store/lru.go"}`, "")
	t.Call("edit", `{"path":"store/session.go","oldText":"cache *lruCache","newText":"cache map[string]*Session"}`, "Successfully replaced text")
	t.Call("edit", `{"path":"docs/store.md","oldText":"LRU","newText":"map"}`, "Could not find the exact text in docs/store.md").Failed()
	t.Bash("npm run lint 2>&1 | tail", "src/index.ts(3,14): error TS2339: Property 'lru' does not exist on type 'Store'.")
	t.Say("The map is in place.\n\nRemaining:\n1. Update docs/store.md by hand, the text differs\n2. Fix `Property 'lru'` in src/index.ts\n3. Run `npm run lint` again")
	t.User("ok, go on")
	return t
}

func TestCodingSession(t *testing.T) {
	out := summarize(t, summary.Input{Items: coding().Items(), Cwd: cwd, Budget: 1400})
	golden(t, "coding", out.Text)
	for _, tmpl := range summary.Templates()[1:] {
		out := summarize(t, summary.Input{Items: coding().Items(), Cwd: cwd, Budget: 1400, Template: tmpl})
		golden(t, "coding-"+tmpl.Name(), out.Text)
	}
}

func TestChineseSession(t *testing.T) {
	conv := testchat.New()
	conv.User("请在 auth/login.go 里加上用户登录功能。必须用 bcrypt，不要改数据库表结构。")
	conv.SayCall("先看看现在的代码。", "read", `{"path":"auth/login.go"}`, "package auth\n\n// Login 检查用户名和密码。\nfunc Login(name, password string) error {\n\treturn errNotImplemented\n}")
	conv.SayCall("决定用 checkPassword 而不是直接比较字符串，因为密码是哈希过的。", "edit", `{"path":"auth/login.go","oldText":"errNotImplemented","newText":"checkPassword(name, password)"}`, "ok")
	conv.Bash("go test ./auth", "--- FAIL: TestLogin (0.00s)\n    login_test.go:12: 错误：密码不匹配\n\nCommand exited with code 1").Failed()
	conv.Say("已完成 checkPassword，但是 TestLogin 还没有通过。\n\n下一步：\n- 检查 login_test.go 里的哈希值\n- 重新运行 go test ./auth")
	conv.User("继续，请用中文回答。")
	out := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 900})
	golden(t, "chinese", out.Text)
}

func TestPreviousSummaries(t *testing.T) {
	conv := testchat.New()
	conv.User("now add a --verbose flag to cmd/main.go")
	conv.Call("edit", `{"path":"cmd/main.go","oldText":"","newText":""}`, "ok")
	text := func(summary, details string) summaryOutput {
		previous := session.Item{Message: &message.Message{Role: message.RoleCompactionSummary, Summary: summary, Details: json.RawMessage(details)}}
		return summaryOutput{t, summarizeItems(t, append([]session.Item{previous}, conv.Items()...))}
	}
	t.Run("another program's prose is kept as text", func(t *testing.T) {
		out := text("We built parseConfig in config/parse.go.\n\n## Branch\nmain\n\n<modified-files>\nconfig/parse.go\n</modified-files>", "")
		out.has(t, "text", "## Earlier Summary\n> We built parseConfig in config/parse.go.\n>\n> ## Branch\n> main\n", "### Modified\n- cmd/main.go\n- config/parse.go\n")
		out.hasNot(t, "<modified-files>")
	})
	t.Run("one with our headings is merged", func(t *testing.T) {
		out := text("## Goal\nBuild a config parser\n\n## Constraints & Preferences\n- No new dependencies\n\n## Progress\n### Done\n- [x] Lexer\n### In Progress\n- [ ] Parser\n\n## Key Decisions\n- Hand-written parser instead of a generator", `{"readFiles":["a.go"],"modifiedFiles":["config/parse.go"]}`)
		out.has(t, "merged", "- First request: Build a config parser", "- No new dependencies", "- [x] Lexer", "- Hand-written parser", "### Modified\n- cmd/main.go\n- config/parse.go\n", "### Read\n- a.go\n")
		out.hasNot(t, "- [ ] Parser")
	})
	t.Run("a long text is cut at a line", func(t *testing.T) {
		out := text(strings.Repeat("A line of the earlier summary about parseConfig.\n", 200), "")
		out.has(t, "text", "> A line of the earlier summary about parseConfig.\n> …\n")
	})
	t.Run("given beside the items", func(t *testing.T) {
		out := summarize(t, summary.Input{
			Items: conv.Items(), Budget: 800, Previous: "Older things in old/file.go.",
			PreviousDetails: json.RawMessage(`{"modifiedFiles":["old/file.go"]}`),
		})
		if !strings.Contains(out.Text, "> Older things in old/file.go.") || !strings.Contains(out.Text, "- old/file.go") {
			t.Errorf("the earlier summary is lost:\n%s", out.Text)
		}
	})
}

type summaryOutput struct {
	t *testing.T
	summary.Output
}

func summarizeItems(t *testing.T, items []session.Item) summary.Output {
	t.Helper()
	return summarize(t, summary.Input{Items: items, Cwd: cwd, Budget: 800})
}

func (o summaryOutput) has(t *testing.T, previous string, parts ...string) {
	t.Helper()
	if o.Coverage.Previous != previous {
		t.Errorf("the earlier summary is %q, want %q", o.Coverage.Previous, previous)
	}
	for _, p := range parts {
		if !strings.Contains(o.Text, p) {
			t.Errorf("%q is not in\n%s", p, o.Text)
		}
	}
}

func (o summaryOutput) hasNot(t *testing.T, part string) {
	t.Helper()
	if strings.Contains(o.Text, part) {
		t.Errorf("%q is in\n%s", part, o.Text)
	}
}

func TestBlockedIsForgottenWhenTheCheckPasses(t *testing.T) {
	conv := testchat.New()
	conv.User("make it green")
	conv.Bash("go test ./...", "--- FAIL: TestOne in store_test.go\n\nCommand exited with code 1").Failed()
	first := ledger.Read(conv.Items(), ledger.Options{})
	out := summarize(t, summary.Input{Items: conv.Items(), Budget: 600})
	if len(out.Document.Blocked) != 1 {
		t.Fatalf("the failing check is not there:\n%s", out.Text)
	}
	own, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	next := testchat.New()
	next.Tag = "n"
	next.Bash("go test ./...", "ok")
	items := append([]session.Item{{Message: &message.Message{
		Role: message.RoleCompactionSummary, Summary: out.Text, Details: json.RawMessage(`{"clew":{"ledger":` + string(own) + `}}`),
	}}}, next.Items()...)
	out = summarize(t, summary.Input{Items: items, Budget: 600})
	if len(out.Document.Blocked) != 0 || !strings.Contains(out.Text, "- [x] `go test ./...` passes") {
		t.Errorf("the check passes now:\n%s", out.Text)
	}
}

func TestReplacedConstraints(t *testing.T) {
	for _, c := range []struct {
		first, second string
		replaced      bool
	}{
		{"Always use tabs for indentation in generated files.", "Actually, use spaces instead of tabs for indentation in generated files.", true},
		{"Never commit without running the whole test suite.", "Don't commit at all without asking, running the whole test suite is not enough.", true},
		{"Always use tabs for indentation.", "Don't push to the main branch without asking.", false},
		{"You must keep the public API of package store stable.", "You must also keep the file format stable.", false},
	} {
		conv := testchat.New()
		conv.User(c.first)
		conv.Say("Understood, that is how it will be.")
		conv.User(c.second)
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: 2000})
		got := out.Document.Constraints
		if len(got) != 2 || got[0].Text != c.first || got[1].Text != c.second {
			t.Errorf("constraints %+v, want both in order", got)
			continue
		}
		if got[0].Replaced != c.replaced || got[1].Replaced {
			t.Errorf("%q, then %q: replaced %v and %v, want %v and false", c.first, c.second, got[0].Replaced, got[1].Replaced, c.replaced)
		}
	}
}

func TestQuotesWithinTheirBudget(t *testing.T) {
	conv := testchat.New()
	long := strings.Repeat("A long explanation of what is wanted here. ", 40)
	var said []string
	for i := range 30 {
		s := "Message number " + string(rune('A'+i)) + ". " + long[:200]
		said = append(said, s)
		conv.User(s)
		conv.Say("I see, message understood.")
	}
	out := summarize(t, summary.Input{Items: conv.Items(), Budget: 2000, QuoteBudget: 600})
	q := out.Document.Quotes
	if q[0].Text != said[0] {
		t.Errorf("the first message is not quoted first: %q", q[0].Text)
	}
	var rest []string
	var cost int64
	for _, x := range q[1:] {
		rest = append(rest, x.Text)
	}
	for _, x := range q {
		cost += thirds{}.Text(x.Text)
	}
	if want := said[len(said)-len(rest):]; !slices.Equal(rest, want) {
		t.Errorf("quoted are %d messages, not the newest ones", len(rest))
	}
	if cost > 600 || cost < 400 {
		t.Errorf("quotes cost %d tokens of 600", cost)
	}
}

func TestClipLast(t *testing.T) {
	conv := testchat.New()
	conv.User("Build the importer in import/run.go")
	huge := "BEGIN " + strings.Repeat("很长的日志 log line with words\n", 1000) + " END"
	conv.User(huge)
	in := summary.Input{Items: conv.Items(), Budget: 1000}
	out := summarize(t, in)
	if out.Coverage.OverBudget == 0 || out.Document.Quotes[len(out.Document.Quotes)-1].Text != huge {
		t.Fatalf("the last message was cut, or not reported: %+v", out.Coverage)
	}
	if !strings.Contains(out.Text, "import/run.go") {
		t.Error("nothing but the last message is left")
	}
	in.ClipLast = true
	out = summarize(t, in)
	q := out.Document.Quotes[len(out.Document.Quotes)-1]
	if out.Coverage.OverBudget != 0 || !out.Coverage.LastClipped || out.Tokens > 1000 {
		t.Fatalf("%d tokens, %+v", out.Tokens, out.Coverage)
	}
	whole, shown := q.Bytes()
	if !strings.HasPrefix(q.Text, "BEGIN ") || q.Whole() || !strings.HasSuffix(q.Gaps[len(q.Gaps)-1].Text, " END") || whole != len(huge) || shown < 500 {
		t.Errorf("%d of %d bytes are left: %+v", shown, whole, q)
	}
}

func TestPinsAndEarlierMessages(t *testing.T) {
	conv := testchat.New()
	conv.User("second request")
	out := summarize(t, summary.Input{
		Items: conv.Items(), Budget: 600,
		Pins:    []summary.Quote{{Ref: "pinned01", Role: "assistant", Text: "the agreed\n## plan"}},
		Earlier: []summary.Quote{{Ref: "earlier1", Text: "first request"}},
	})
	if p := out.Document.Pins; len(p) != 1 || p[0].Text != "the agreed\n## plan" || p[0].Role != "assistant" {
		t.Errorf("pins %+v", p)
	}
	q := out.Document.Quotes
	if len(q) != 2 || q[0].Text != "first request" || q[1].Text != "second request" {
		t.Errorf("quotes %+v", q)
	}
}

func TestInstructionsDrawAttention(t *testing.T) {
	conv := testchat.New()
	conv.User("look around")
	var listing strings.Builder
	for _, name := range []string{"alphaStore", "betaStore", "gammaStore", "deltaStore", "epsilonStore", "zetaStore", "etaStore", "thetaStore"} {
		fmt.Fprintf(&listing, "The function %s reads entries from %sTable, which only it knows.\n", name, name)
	}
	listing.WriteString("The schema of the table has columns for when a row came and went, created_at and deleted_at.\n")
	conv.Call("read", `{"path":"db.txt"}`, listing.String())
	conv.Say("I have read db.txt.")
	in := summary.Input{Items: conv.Items(), Budget: 150}
	if out := summarize(t, in); strings.Contains(out.Text, "deleted_at") {
		t.Fatalf("it is there anyway:\n%s", out.Text)
	}
	in.Instructions = "keep the schema and its columns"
	if out := summarize(t, in); !strings.Contains(out.Text, "deleted_at") {
		t.Errorf("the schema is not there:\n%s", out.Text)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := summary.Deterministic{}.Summarize(ctx, summary.Input{Items: coding().Items(), Budget: 500, Counter: thirds{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHandles(t *testing.T) {
	conv := testchat.New()
	conv.Tag = "019f5cfd-b7ac-75c0" // ids made from the time begin alike
	conv.User("one request about store/a.go")
	conv.Say("Fixed parseEntry in store/a.go because of readSession.")
	conv.User("another request about store/b.go")
	out := summarize(t, summary.Input{Items: conv.Items(), Budget: 600})
	refs := map[string]bool{}
	for _, q := range out.Document.Quotes {
		refs[q.Ref] = true
		ok := slices.ContainsFunc(conv.Items(), func(it session.Item) bool {
			return strings.HasPrefix(it.Entry.ID, q.Ref) && it.Message.Text() == q.Text
		})
		if !ok || len(q.Ref) < 8 {
			t.Errorf("the handle %q does not lead to %q", q.Ref, q.Text)
		}
	}
	if len(refs) != 2 {
		t.Errorf("handles %v: two messages need two", refs)
	}
}

func TestErrors(t *testing.T) {
	in := summary.Input{Items: coding().Items(), Budget: 100}
	if _, err := (summary.Deterministic{}).Summarize(t.Context(), in); err == nil {
		t.Error("a budget without a counter")
	}
	in.Counter, in.Budget = thirds{}, 0
	if _, err := (summary.Deterministic{}).Summarize(t.Context(), in); err == nil {
		t.Error("no budget")
	}
	out := summarize(t, summary.Input{Budget: 100})
	if out.Text != "- x" && len(out.Document.Quotes) != 0 {
		t.Errorf("of nothing: %q", out.Text)
	}
}

func TestWhatIsKeptIsStillGoingOn(t *testing.T) {
	items := coding().Items()
	next := testchat.New()
	next.Tag = "k"
	next.User("now write the release notes for v2")
	out := summarize(t, summary.Input{Items: items[:len(items)-1], Kept: next.Items(), Cwd: cwd, Budget: 1400})
	if p := out.Document.InProgress; len(p) != 0 {
		t.Errorf("the turn is over, in progress is %+v", p)
	}
	if !strings.Contains(out.Text, "- Latest request here: Actually, instead of") || strings.Contains(out.Text, "Current request") {
		t.Errorf("the current request stands in what is kept:\n%s", out.Text)
	}
	if !strings.Contains(out.Text, "3. Run `npm run lint` again") {
		t.Errorf("the plan is lost:\n%s", out.Text)
	}
}

func TestSplitTurn(t *testing.T) {
	items := coding().Items()
	cut := slices.IndexFunc(items, func(it session.Item) bool { return strings.HasPrefix(it.Message.Text(), "Actually") })
	end := len(items) - 2 // the turn goes on with its last answer
	whole := summarize(t, summary.Input{Items: items[:end], Kept: items[end:], Cwd: cwd, Budget: 1400})
	split := summarize(t, summary.Input{Items: items[:cut], Prefix: items[cut:end], Kept: items[end:], Cwd: cwd, Budget: 1400})
	if whole.Text != split.Text {
		t.Errorf("the prefix of a turn is not summarized as what comes before it:\n%s", split.Text)
	}
	if len(split.Document.InProgress) == 0 {
		t.Errorf("the turn goes on:\n%s", split.Text)
	}
}

// In the root folder every path begins as the folder does, and stays as it is.
func TestPathsInTheRoot(t *testing.T) {
	conv := testchat.New()
	conv.User("Mend the pantry in /srv/pantry/rows.go.")
	conv.Bash("cp /srv/pantry/rows.go /srv/pantry/old_rows.go", "")
	out := summarize(t, summary.Input{Items: conv.Items(), Cwd: "/", Budget: 2000})
	if !strings.Contains(out.Text, "`cp /srv/pantry/rows.go /srv/pantry/old_rows.go`") {
		t.Errorf("the paths of the command are changed:\n%s", out.Text)
	}
}
