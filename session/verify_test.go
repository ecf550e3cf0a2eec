package session_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// lines writes a session: each line is "id parent body", the body being the
// members of the record after its type, id, parent and time.
func lines(body string) string {
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n")
	n := 0
	for line := range strings.Lines(body) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(fields) < 3 {
			continue
		}
		n++
		parent := `"` + fields[1] + `"`
		if fields[1] == "-" {
			parent = "null"
		}
		rest := ""
		if len(fields) == 4 {
			rest = "," + fields[3]
		}
		fmt.Fprintf(&b, `{"type":%q,"id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:%02d.000Z"%s}`+"\n", fields[2], fields[0], parent, n%60, rest)
	}
	return b.String()
}

const (
	msgUser     = `"message":{"role":"user","content":"hello"}`
	msgAnswer   = `"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}`
	msgCall     = `"message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}]}`
	msgCalls    = `"message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"bash","arguments":{}}]}`
	msgAborted  = `"message":{"role":"assistant","stopReason":"aborted","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}]}`
	msgThinking = `"message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}`
	msgResult1  = `"message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[]}`
	msgResult2  = `"message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[]}`
	newContent  = `"replacement":{"content":"x"}`
)

func verify(t *testing.T, data string) []session.Problem {
	t.Helper()
	f, err := jsonl.Read(context.Background(), "test", strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	problems, err := f.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

func brief(problems []session.Problem) string {
	var out []string
	for _, p := range problems {
		s := fmt.Sprintf("%s %s", p.Severity, p.Code)
		if p.EntryID != "" {
			s += " " + p.EntryID
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestVerify(t *testing.T) {
	for _, tc := range []struct{ name, data, want string }{
		{"sound", lines(`
			a - message ` + msgUser + `
			b a message ` + msgCalls + `
			c b message ` + msgResult2 + `
			d c message ` + msgResult1 + `
			e d message ` + msgAnswer), ""},
		{"a branch for each result", lines(`
			b - message ` + msgCalls + `
			c b message ` + msgResult1 + `
			d b message ` + msgResult2), "info pending-call b"},
		{"a result before a fork, and none on the branch beside it", lines(`
			a - message ` + msgCall + `
			b a message ` + strings.ReplaceAll(msgCall, "c1", "c2") + `
			c b message ` + msgResult1 + `
			d c label "targetId":"b","label":"x"
			e c label "targetId":"b","label":"x"
			f b label "targetId":"b","label":"x"`), "warning call-without-result a; info pending-call b"},
		{"an id again behind a fork", lines(`
			a - message ` + msgCall + `
			b a message ` + msgResult1 + `
			c b message ` + msgAnswer + `
			d c message ` + msgResult1 + `
			e d message ` + msgCall + `
			f c message ` + msgAnswer), "warning second-result d; info pending-call e"},
		// Which call waits and which has no result is what message.Pending and
		// message.PairCalls say, by which a request is refused or sent: a message of the
		// user does not end the wait for a result, and a failed answer or one of
		// reasoning alone is no answer that went on.
		{"answered on one branch alone", lines(`
			b - message ` + msgCall + `
			c b message ` + msgResult1 + `
			d b message ` + msgUser), "info pending-call b"},
		{"the user went on without a result", lines(`
			b - message ` + msgCall + `
			c b message ` + msgUser), "info pending-call b"},
		{"the model went on without a result", lines(`
			b - message ` + msgCalls + `
			c b message ` + msgResult1 + `
			d c message ` + msgAnswer), "warning call-without-result b"},
		{"a failed answer is none", lines(`
			b - message ` + msgCall + `
			c b message ` + msgAborted), "info pending-call b"},
		{"reasoning is no answer", lines(`
			b - message ` + msgCall + `
			c b message ` + msgThinking), "info pending-call b"},
		{"pending on one branch, left on another", lines(`
			b - message ` + msgCall + `
			c b message ` + msgAnswer + `
			d b label "targetId":"b","label":"x"`), "warning call-without-result b; info pending-call b"},
		{"an aborted answer needs no result", lines(`
			b - message ` + msgAborted + `
			c b message ` + msgUser), ""},
		{"the result of an aborted answer", lines(`
			b - message ` + msgAborted + `
			c b message ` + msgResult1 + `
			d c message ` + msgAnswer), ""},
		{"a result without a call", lines(`
			a - message ` + msgUser + `
			c a message ` + msgResult1), "warning result-without-call c"},
		{"a second result", lines(`
			b - message ` + msgCall + `
			c b message ` + msgResult1 + `
			d c message ` + msgResult1), "warning second-result d"},
		{"a result that came too late", lines(`
			b - message ` + msgCall + `
			c b message ` + msgAnswer + `
			d c message ` + msgResult1), ""},
		{"the same call id again", lines(`
			b - message ` + msgCall + `
			c b message ` + msgResult1 + `
			d c message ` + msgCall + `
			e d message ` + msgResult1), ""},
		{"roots", lines(`
			a - message ` + msgUser + `
			b - message ` + msgUser + `
			c - message ` + msgUser), "info root b; info root c"},
		{"a parent that is nowhere", lines(`
			a - message ` + msgUser + `
			b x message ` + msgUser), "error missing-parent b; info root b"},
		{"its own parent", lines(`
			a a message ` + msgUser), "error cycle a"},
		{"a cycle with a tail", lines(`
			a c message ` + msgUser + `
			b a message ` + msgUser + `
			c b message ` + msgUser + `
			d c message ` + msgUser), "error cycle a"},
		{"a duplicate", lines(`
			a - message ` + msgUser + `
			b a message ` + msgUser + `
			b a message ` + msgAnswer), "error duplicate-id b"},
		{"compactions", lines(`
			a - message ` + msgUser + `
			b a compaction "summary":"x","firstKeptEntryId":"a","tokensBefore":1
			c b compaction "summary":" ","firstKeptEntryId":"c","tokensBefore":1
			d c compaction "summary":"x","firstKeptEntryId":"nowhere","tokensBefore":1
			e d compaction "summary":"x","tokensBefore":1`), "warning empty-summary c; warning first-kept d; warning first-kept e"},
		{"a compaction that keeps what is on another branch", lines(`
			a - message ` + msgUser + `
			b a message ` + msgUser + `
			c a compaction "summary":"x","firstKeptEntryId":"b","tokensBefore":1`), "warning first-kept c"},
		{"a cut inside a unit", lines(`
			b - message ` + msgCalls + `
			c b message ` + msgResult1 + `
			d c message ` + msgResult2 + `
			e d compaction "summary":"x","firstKeptEntryId":"d","tokensBefore":1`), "warning split-unit e"},
		{"edits", lines(`
			a - message ` + msgUser + `
			b a context_edit "targetId":"a",` + newContent + `
			c b context_edit "targetId":"nowhere",` + newContent + `
			d c context_edit "targetId":"b",` + newContent + `
			e d context_edit "targetId":"b","replacement":null
			f a message ` + msgUser + `
			g e context_edit "targetId":"f","replacement":null
			h g context_edit "targetId":"a","replacement":7`), "warning edit-target c; warning edit-kind d; info edit-elsewhere g; warning bad-edit h"},
		{"labels and branch summaries", lines(`
			a - message ` + msgUser + `
			b a label "targetId":"a","label":"x"
			c b label "targetId":"nowhere","label":"x"
			d c branch_summary "fromId":"root","summary":"x"
			e d branch_summary "fromId":"nowhere","summary":"x"`), "warning label-target c; info branch-from e"},
		{"passes", lines(`
			a - message ` + msgUser + `
			b a custom "customType":"clew.pass","data":{"lines":1}
			c b context_edit "targetId":"a","replacement":null
			d c custom "customType":"clew.pass","data":{"lines":2}
			e d context_edit "targetId":"a","replacement":null
			f e message ` + msgUser + `
			g f custom "customType":"clew.pass","data":"what"
			h g message ` + msgUser), "warning broken-pass d; warning bad-pass g"},
		{"a pass that the file ends in", lines(`
			a - message ` + msgUser + `
			b a custom "customType":"clew.pass","data":{"lines":2}
			c b context_edit "targetId":"a","replacement":null`), "warning part-pass b"},
		{"messages", lines(`
			a - message "message":7
			b a message "message":{"content":[]}
			c b message "message":{"role":"robot","content":[]}
			d c message "message":{"role":"user"}
			e d message "message":{"role":"assistant","content":"text"}
			f e message "message":{"role":"assistant","stopReason":"error","content":[{"type":"toolCall","id":"c","name":"n","arguments":null}]}
			g f message "message":{"role":"user","content":"` + "\xff" + `"}
			h g custom_message "customType":"x","content":null`), "error bad-message a; error bad-message b; warning unknown-role c; warning bad-content d; " +
			"warning bad-content e; warning bad-arguments f; warning invalid-utf8 g; warning bad-content h"},
		{"usage", lines(`
			a - message "message":{"role":"assistant","content":[],"usage":{"input":1,"output":-1}}
			b a usage "usage":{"input":-5}
			c b usage "usage":{"input":0}`), "warning negative-usage a; warning negative-usage b"},
		{"types", lines(`
			a - strange
			b a strange
			c b other`), "info unknown-type a; info unknown-type c"},
		{
			"times", `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n" +
				`{"type":"custom","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z"}` + "\n" +
				`{"type":"custom","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z"}` + "\n" +
				`{"type":"custom","id":"c","parentId":"b","timestamp":"yesterday"}` + "\n",
			"info time-order b; info no-time c",
		},
		{"an old version", `{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n" +
			`{"type":"message","timestamp":"2026-01-01T00:00:02.000Z",` + msgUser + "}\n", "info old-version"},
		{"CRLF", strings.ReplaceAll(lines("a - message "+msgUser+"\nb a message "+msgUser), "\n", "\r\n"), "info crlf"},
		{"no final line break", strings.TrimSuffix(lines("a - message "+msgUser), "\n"), "info no-final-newline"},
		{"torn", lines("a - message "+msgUser) + `{"type":"mess`, "warning torn-tail"},
	} {
		if got := brief(verify(t, tc.data)); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// TestVerifyLines shows that problems come with the line they are on.
func TestVerifyLines(t *testing.T) {
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n"
	good := `{"type":"message","id":"%s","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"x"}}`
	data := head + fmt.Sprintf(good, "a") + "\n\n" + fmt.Sprintf(good, "b") + fmt.Sprintf(good, "c") + "\nnonsense\n" + fmt.Sprintf(good, "d") + "\n" + `{"type":"mess`
	want := map[string]int{"root b": 4, "joined-records ": 4, "root c": 4, "bad-line ": 5, "root d": 6, "torn-tail ": 7}
	for _, p := range verify(t, data) {
		key := p.Code + " " + p.EntryID
		if want[key] != p.Line {
			t.Errorf("%s is on line %d, want %d", key, p.Line, want[key])
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// TestVerifyGenerated: what the generator makes well-formed is sound without a
// warning, what is damaged is never passed as if nothing were wrong when bytes
// were lost.
func TestVerifyGenerated(t *testing.T) {
	clean, harmed, seeds := 0, map[string]int{}, 80
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		s := sessiongen.Generate(seed, sessiongen.Options{WellFormed: true})
		for _, p := range verify(t, string(s.Bytes())) {
			if p.Severity != session.SevInfo {
				t.Errorf("seed %d, well-formed: %+v", seed, p)
			}
		}
		clean++
	}
	lossy := []string{"torn tail", "bad line", "joined lines", "BOM", "duplicate id", "cycle", "own parent", "dangling parent", "null line", "empty object", "scalar line", "zeroed tail", "invalid UTF-8"}
	for _, kind := range lossy {
		for seed := range uint64(10) {
			data, harm, ok := sessiongen.DamageAs(kind, seed, sessiongen.Generate(seed, sessiongen.Options{WellFormed: true}).Bytes())
			if !ok {
				continue
			}
			problems := verify(t, string(data))
			if !slices.ContainsFunc(problems, func(p session.Problem) bool { return p.Severity != session.SevInfo }) {
				t.Errorf("seed %d: nothing is said of %s", seed, harm)
			}
			harmed[kind]++
		}
	}
	t.Logf("%d clean, damaged: %v", clean, harmed)
	for _, kind := range lossy {
		if harmed[kind] < 3 {
			t.Errorf("only %d files with %s", harmed[kind], kind)
		}
	}
}

// TestVerifyLarge runs into nothing that is not linear: a long chain, an answer
// with many calls, and a star.
func TestVerifyLarge(t *testing.T) {
	n := 30_000
	if testing.Short() {
		n = 10_000
	}
	var chain, star, calls bytes.Buffer
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n"
	for _, b := range []*bytes.Buffer{&chain, &star, &calls} {
		b.WriteString(head)
	}
	record := `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":%s}` + "\n"
	parent := func(i int) string {
		if i < 0 {
			return "null"
		}
		return fmt.Sprintf(`"%08x"`, i)
	}
	var blocks []string
	for i := range n {
		orphan := fmt.Sprintf(`{"role":"toolResult","toolCallId":"x%d","toolName":"t","content":[]}`, i)
		fmt.Fprintf(&chain, record, i, parent(i-1), orphan)
		fmt.Fprintf(&star, record, i, parent(min(i-1, 0)), orphan)
		blocks = append(blocks, fmt.Sprintf(`{"type":"toolCall","id":"x%d","name":"t","arguments":{}}`, i))
	}
	fmt.Fprintf(&calls, record, n, "null", `{"role":"assistant","content":[`+strings.Join(blocks, ",")+`]}`)
	for i := range n / 2 {
		fmt.Fprintf(&calls, record, i, parent(max(i-1, -1)), fmt.Sprintf(`{"role":"toolResult","toolCallId":"x%d","toolName":"t","content":[]}`, i))
	}
	for name, data := range map[string]string{"chain": chain.String(), "star": star.String(), "calls": strings.Replace(calls.String(), `"parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"tool`, fmt.Sprintf(`"parentId":"%08x","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"tool`, n), 1)} {
		problems := verify(t, data)
		switch name {
		case "calls":
			if got := brief(problems); got != fmt.Sprintf("info pending-call %08x", n) {
				t.Errorf("%s: %.300s", name, got)
			}
		default:
			if len(problems) < 1000 || problems[len(problems)-1].Code != "more" && n > 10_000 {
				t.Errorf("%s: %d problems, the last is %+v", name, len(problems), problems[len(problems)-1])
			}
		}
	}
}

// TestVerifyComb: of a spine with a branch at each result, a branch is not paired anew from the root. What is counted
// is memory, which pairing takes for each message.
func TestVerifyComb(t *testing.T) {
	work := func(n int) uint64 {
		var entries []*session.Entry
		add := func(parent, role, body string) string {
			id, p := fmt.Sprint("e", len(entries)), `"`+parent+`"`
			if parent == "" {
				p = "null"
			}
			e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":%q,%s}}`, id, p, role, body))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
			return id
		}
		pair := func(parent string) string {
			call := fmt.Sprint("c", len(entries))
			parent = add(parent, "assistant", fmt.Sprintf(`"content":[{"type":"toolCall","id":%q,"name":"t","arguments":{}}]`, call))
			return add(parent, "toolResult", fmt.Sprintf(`"toolCallId":%q,"toolName":"t","content":[]`, call))
		}
		spine := ""
		for range n {
			spine = pair(add(spine, "assistant", `"content":[{"type":"text","text":"x"}]`))
			pair(spine)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		problems, err := session.Verify(t.Context(), session.NewMemory(session.Header{ID: "s"}, entries...))
		runtime.ReadMemStats(&after)
		if len(problems) > 0 || err != nil {
			t.Fatal(problems, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := work(200), work(800); large > 6*small {
		t.Errorf("a comb of four times the size takes %d bytes after %d", large, small)
	}
}

// TestVerifyBranches: what is said of calls and results in a tree is what is said of its branches, each alone.
func TestVerifyBranches(t *testing.T) {
	found := func(problems []session.Problem, err error, into map[string]bool) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			switch p.Code {
			case "second-result", "result-without-call", "call-without-result":
				into[p.EntryID+" is not paired"] = true
			case "pending-call":
				into[p.EntryID+" is pending"] = true
			}
		}
	}
	total, seeds := 0, 3000
	if testing.Short() {
		seeds = 300
	}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var entries []*session.Entry
		leaves := map[string]bool{}
		for i := range 3 + rng.IntN(22) {
			id, parent := fmt.Sprint("e", i), "null"
			if from := max(0, i-1-rng.IntN(3)*rng.IntN(8)); i > 0 {
				parent = fmt.Sprintf(`"e%d"`, from)
				delete(leaves, fmt.Sprint("e", from))
			}
			leaves[id] = true
			call := func() string { return fmt.Sprint("c", max(0, i-rng.IntN(3)*rng.IntN(3))) }
			stop := []string{"toolUse", "toolUse", "toolUse", "aborted"}[rng.IntN(4)]
			body := []string{
				`"role":"assistant","content":[{"type":"text","text":"x"}]`,
				fmt.Sprintf(`"role":"assistant","stopReason":%q,"content":[{"type":"toolCall","id":%q,"name":"t","arguments":{}}]`, stop, call()),
				fmt.Sprintf(`"role":"assistant","content":[{"type":"toolCall","id":%q,"name":"t","arguments":{}},{"type":"toolCall","id":%q,"name":"u","arguments":{}}]`, call(), call()),
				fmt.Sprintf(`"role":"toolResult","toolCallId":"c%d","toolName":"t","content":[]`, max(0, i-1-rng.IntN(3))),
				fmt.Sprintf(`"role":"toolResult","toolCallId":"c%d","toolName":"t","content":[]`, max(0, i-1)),
			}[rng.IntN(5)]
			e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{%s}}`, id, parent, body))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		store := session.NewMemory(session.Header{ID: "s"}, entries...)
		got, want := map[string]bool{}, map[string]bool{}
		problems, err := session.Verify(t.Context(), store)
		found(problems, err, got)
		for leaf := range leaves {
			path, err := session.Path(t.Context(), store, leaf)
			if err != nil {
				t.Fatal(err)
			}
			problems, err := session.Verify(t.Context(), session.NewMemory(session.Header{ID: "s"}, path...))
			found(problems, err, want)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		total += len(got)
	}
	if total < 10_000/3000*seeds {
		t.Errorf("only %d problems", total)
	}
}

// TestCodesAreDocumented holds the list in docs/FORMAT.md against the code.
func TestCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	_, list, _ := strings.Cut(string(doc), "\n## Problems\n")
	list, _, _ = strings.Cut(list, "\n## ")
	for _, m := range regexp.MustCompile("`([a-z]+(?:-[a-z0-9]+)*)`").FindAllStringSubmatch(list, -1) {
		documented[m[1]] = true
	}
	used := map[string]bool{}
	for _, pattern := range []string{"*.go", "jsonl/*.go", "../*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?:Code: |NewProblem\(|report\([^ ]+, )"([a-z0-9-]+)"`).FindAllStringSubmatch(string(src), -1) {
				used[m[1]] = true
				if p := session.NewProblem(m[1], 0, "", "x"); p.Severity == "" && m[1] != "lost-output" {
					t.Errorf("problem.go says nothing of %s", m[1])
				}
			}
		}
	}
	for code := range used {
		if !documented[code] {
			t.Errorf("docs/FORMAT.md does not list %s", code)
		}
	}
	for code := range documented {
		if !used[code] {
			t.Errorf("docs/FORMAT.md lists %s, which is never reported", code)
		}
	}
	if len(used) < 30 {
		t.Errorf("only %d codes were found", len(used))
	}
}
