package page_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Whatever stands in whichever field of a session is text on the page, or is not
// there at all: no element, attribute, address or style comes from a session.
func TestPi116NothingInASessionIsMoreThanText(t *testing.T) {
	leaves := []string{"", "bs", "u1"}
	if testing.Short() {
		leaves = leaves[:1]
	}
	for i, s := range hostile {
		data := hostileSession(t, s)
		store := open(t, data)
		for _, leaf := range leaves {
			for _, opt := range []page.Options{{}, {KeepSecrets: true}} {
				doc := write(t, store, leaf, opt)
				for _, p := range check(doc) {
					t.Errorf("text %d, %.40q, leaf %q: %s", i, s, leaf, p)
				}
			}
		}
	}
	// The text itself is there, so the page did not get safe by leaving it out.
	if n := strings.Count(words(t, write(t, open(t, hostileSession(t, hostile[0])), "", page.Options{})), hostile[0]); n < 40 {
		t.Errorf("the text is on the page %d times", n)
	}
}

func FuzzPage(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), []byte(nil))
	}
	for seed := range uint64(6) {
		f.Add([]byte("x"), sessiongen.Generate(seed, sessiongen.Options{}).Bytes())
	}
	f.Fuzz(func(t *testing.T, text, file []byte) {
		data := hostileSession(t, string(text))
		if len(file) > 0 {
			data = file
		}
		s, err := jsonl.Read(t.Context(), "fuzz", bytes.NewReader(data))
		if err != nil {
			return
		}
		defer s.Close()
		if p := check(write(t, s, "", page.Options{KeepSecrets: len(text)%2 == 0})); p != nil {
			t.Fatalf("%q", p)
		}
	})
}

// Every message of a session is on its page once, at an address of its own, whatever
// the tree looks like and whatever is wrong with the file.
func TestEveryEntryIsOnThePageOnce(t *testing.T) {
	entries, harmed, seeds := 0, 0, 120
	if testing.Short() {
		seeds = 24
	}
	for seed := range uint64(seeds) {
		gen := sessiongen.Generate(seed, sessiongen.Options{WellFormed: seed%3 == 0})
		data := gen.Bytes()
		if seed%3 == 2 {
			data, _ = sessiongen.Damage(seed, data)
			harmed++
		}
		s, err := jsonl.Read(t.Context(), "test", bytes.NewReader(data))
		if err != nil {
			continue
		}
		doc := write(t, s, "", page.Options{KeepSecrets: true})
		for _, p := range check(doc) {
			t.Errorf("seed %d: %s", seed, p)
		}
		want := 0
		for e, err := range s.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Type {
			case session.TypeMessage, session.TypeCompaction, session.TypeBranchSummary, session.TypeCustomMessage:
				want++
			default:
			}
		}
		entries += want
		got := len(regexp.MustCompile(`<article id="[^"]+" class="(user|injected|assistant|result|shell|system|custom|compaction|branch)[ "]`).FindAllString(doc, -1))
		unread := len(regexp.MustCompile(`This message can't be read`).FindAllString(doc, -1)) + strings.Count(doc, `class="unknown`)
		if got > want || got+unread < want {
			t.Errorf("seed %d: %d of %d entries are on the page, %d more as records", seed, got, want, unread)
		}
		links := regexp.MustCompile(`<li [^>]*data-t="(\d+)"`).FindAllStringSubmatch(doc, -1)
		if articles := strings.Count(doc, ` data-i="`); len(links) != articles {
			t.Errorf("seed %d: the tree has %d rows for %d entries", seed, len(links), articles)
		}
		_ = s.Close()
	}
	if entries < 40*seeds || harmed < seeds/4 {
		t.Errorf("only %d entries and %d damaged files", entries, harmed)
	}
}

// After ten compactions the page has every turn.
func TestD88TheTranscriptSurvivesCompactions(t *testing.T) {
	ctx := t.Context()
	n := 0
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "s", Version: 3}), session.Options{
		Clock: func() time.Time { return at }, NewID: func() string { n++; return fmt.Sprintf("%016x", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		for j := range 5 {
			if _, err := log.Append(ctx, session.Message(message.User(fmt.Sprintf("question %d of round %d", j, i), at)),
				session.Message(message.Assistant(at, message.TextBlock(fmt.Sprintf("answer %d of round %d", j, i))))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := log.Append(ctx, session.NewCompaction(session.Compaction{Summary: fmt.Sprintf("summary number %d", i), TokensBefore: 90_000})); err != nil {
			t.Fatal(err)
		}
	}
	doc := write(t, log.Store(), "", page.Options{})
	for i := range 10 {
		for j := range 5 {
			for _, what := range []string{"question", "answer"} {
				if s := fmt.Sprintf("%s %d of round %d", what, j, i); strings.Count(doc, s) != 2 { // it and its row in the tree
					t.Errorf("%q is on the page %d times", s, strings.Count(doc, s))
				}
			}
		}
		if !strings.Contains(doc, fmt.Sprintf("summary number %d", i)) {
			t.Errorf("summary %d is not there", i)
		}
	}
	if n := strings.Count(doc, "from 90\u202f000 tokens"); n != 10 {
		t.Errorf("%d compactions say their size", n)
	}
	if n := strings.Count(doc, ` out" data-i=`); n != 10*10+9 {
		t.Errorf("%d entries are marked as summarized", n)
	}
}

const twoBranches = `{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-05T15:02:01.000Z","message":{"role":"user","content":"begin"}}
{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-05T15:02:02.000Z","message":{"role":"assistant","provider":"p","model":"m-1","content":[{"type":"text","text":"a **bold** word"},{"type":"toolCall","id":"c1","name":"edit","arguments":{"path":"x.go","oldText":"a\nb"}}],"usage":{"input":1000,"output":50,"cacheRead":7,"cost":{"total":0.25}},"stopReason":"toolUse"}}
{"type":"message","id":"r1","parentId":"a1","timestamp":"2026-01-05T15:02:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"edit","content":[{"type":"text","text":"done"}],"details":{"diff":"@@ -1 +1 @@\n-a\n+b\n"}}}
{"type":"context_edit","id":"e1","parentId":"r1","timestamp":"2026-01-05T15:02:03.000Z","targetId":"r1","replacement":{"content":"[cleared on the left]"}}
{"type":"message","id":"u2","parentId":"e1","timestamp":"2026-01-05T15:02:04.000Z","message":{"role":"user","content":"go left"}}
{"type":"context_edit","id":"e2","parentId":"r1","timestamp":"2026-01-05T15:02:05.000Z","targetId":"r1","replacement":{"content":"[cleared on the right]"}}
{"type":"message","id":"u3","parentId":"e2","timestamp":"2026-01-05T15:02:06.000Z","message":{"role":"user","content":"go right"}}
{"type":"compaction","id":"k1","parentId":"u3","timestamp":"2026-01-05T15:02:07.000Z","summary":"We went right.","firstKeptEntryId":"u3","tokensBefore":1234}
{"type":"label","id":"l1","parentId":"k1","timestamp":"2026-01-05T15:02:08.000Z","targetId":"u2","label":"the left one"}
{"type":"session_info","id":"n1","parentId":"l1","timestamp":"2026-01-05T15:02:09.000Z","name":"Two ways"}`

func TestPageSaysWhatTheModelSees(t *testing.T) {
	s := open(t, lines(twoBranches))
	doc := write(t, s, "", page.Options{})
	for id, want := range map[string]string{
		"entry-u1": ` class="user out"`, "entry-a1": ` class="assistant out"`, "entry-r1": ` class="result out"`,
		"entry-u3": ` class="user"`, "entry-u2": ` class="user"`, "entry-k1": `data-kept="6"`,
	} {
		if a := article(t, doc, id); !strings.Contains(a, want) {
			t.Errorf("%s has no %s:\n%s", id, want, a)
		}
	}
	r1 := article(t, doc, "entry-r1")
	if !strings.Contains(r1, `data-e="3" hidden`) || !strings.Contains(r1, `data-e="5">`) {
		t.Errorf("the edit of this path does not stand alone:\n%s", r1)
	}
	if !strings.Contains(r1, "<ins>+b\n</ins>") || !strings.Contains(r1, "<del>-a\n</del>") || !strings.Contains(r1, "<i>@@ ") {
		t.Errorf("the change has no colours:\n%s", r1)
	}
	if a := article(t, doc, "entry-a1"); !strings.Contains(a, "<strong>bold</strong>") || !strings.Contains(a, "<code>x.go</code>") || !strings.Contains(a, "1\u202f007 tokens in") {
		t.Errorf("the answer:\n%s", a)
	}
	for _, want := range []string{
		"<title>Two ways</title>", "<dd>/work</dd>", "<dd>p/m-1</dd>", "$0.25", "<mark>the left one</mark>",
		`<section id="others"`, `What followed on <a href="#entry-r1">#r1</a>`, "from 1\u202f234 tokens",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	if strings.Index(doc, "go left</div>") < strings.Index(doc, "go right</div>") {
		t.Error("the current path does not come first")
	}
	left := write(t, s, "u2", page.Options{})
	if strings.Index(left, "go left</div>") > strings.Index(left, "go right</div>") || !strings.Contains(article(t, left, "entry-u1"), ` class="user"`) {
		t.Error("at the other leaf the page is that of this one")
	}
	if r1 := article(t, left, "entry-r1"); !strings.Contains(r1, `data-e="3">`) || !strings.Contains(r1, `data-e="5" hidden`) {
		t.Errorf("the other edit:\n%s", r1)
	}
	if again := write(t, open(t, lines(twoBranches)), "", page.Options{}); again != doc {
		t.Error("the same session gave another page")
	}
}

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"[a](https://example.org/x?a=1&b=2)":       `<a href="https://example.org/x?a=1&amp;b=2" rel="noopener noreferrer nofollow">a</a>`,
		"[a](HTTP://example.org)":                  `<a href="HTTP://example.org" rel="noopener noreferrer nofollow">a</a>`,
		"me@example.org":                           `<a href="mailto:me@example.org" rel="noopener noreferrer nofollow">me@example.org</a>`,
		"[a](javascript:alert(1))":                 `<span class="nolink" title="javascript:alert(1)">a</span>`,
		"[a](src/x.go)":                            `<span class="nolink" title="src/x.go">a</span>`,
		"[a](data:text/html,x)":                    `<span class="nolink" title="data:text/html,x">a</span>`,
		"![alt](https://example.org/x.png)":        `<span class="nolink" title="https://example.org/x.png">[image: alt]</span>`,
		"<javascript:alert(1)>":                    `<p>javascript:alert(1)</p>`,
		"a <b onclick=x>c</b>":                     `a &lt;b onclick=x&gt;c&lt;/b&gt;`,
		"<script>\nx\n</script>":                   `&lt;script&gt;`,
		"```go \"x\nif a < b {}\n```":              "<pre tabindex=\"0\"><code>if a &lt; b {}\n</code></pre>",
		"| a |\n|:-:|\n| b |":                      "<th>a</th>",
		"~~gone~~":                                 "<del>gone</del>",
		strings.Repeat("> ", 400) + "deep":         "<pre tabindex=\"0\">\n&gt; &gt;",
		strings.Repeat("x", 300<<10):               "<pre tabindex=\"0\">\nxxx",
		"----------------------------------\nx":    "<hr>",
		"# One":                                    "<h3>One</h3>",
		"###### Six":                               "<h6>Six</h6>",
		strings.Repeat("[a](", 1000):               "<pre tabindex=\"0\">\n[a](",
		"```c\n" + strings.Repeat("*p[i]_\n", 300): "<pre tabindex=\"0\"><code>*p[i]_",
		strings.Repeat("- **x_y**\n", 300):         "<li><strong>x_y</strong></li>",
	} {
		data := lines(`{"type":"message","id":"a1","parentId":null,"message":{"role":"assistant","content":[{"type":"text","text":` + quote(text) + `}]}}`)
		if a := article(t, write(t, open(t, data), "", page.Options{}), "entry-a1"); !strings.Contains(a, want) {
			t.Errorf("%.60q has no %s:\n%.600s", text, want, a)
		}
	}
}

// Texts that a slow reader of Markdown takes for ever with.
func TestMarkdownEndsSoon(t *testing.T) {
	size := 120 << 10
	if testing.Short() {
		size = 24 << 10
	}
	for _, s := range []string{"[", "![", "*a ", "**a_", "`", "<", "&", "|a", "> ", "- ", "1. ", "\\", "[a](", "a@b.", "http://", "~", "\t", "[x]: <", "<!--", "|\n|-", "* * ", "_a*b__", "]", "(", "```\n"} {
		for _, unit := range []string{s, s + "\n"} {
			text := strings.Repeat(unit, size/len(unit))
			if len(s)%2 == 0 {
				text = "<!--\n```\n-->\n" + text[:(16<<10)]
			}
			data := lines(`{"type":"message","id":"a1","parentId":null,"message":{"role":"assistant","content":` + quote(text) + `}}`)
			if p := check(write(t, open(t, data), "", page.Options{KeepSecrets: true})); p != nil {
				t.Errorf("%q: %q", unit, p)
			}
		}
	}
}

// A text does not say to a reader something else than to a model.
func TestWhatCantBeSeenIsSpelledOut(t *testing.T) {
	text := "a\x1b[31mred\x1b[0m b\x1b[8mhidden\x1b]0;t\x07 c\u202Ed\U000E0041e\x00f\rg"
	data := lines(`{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":` + quote(text) + `}}`)
	got := words(t, write(t, open(t, data), "", page.Options{}))
	if want := "ared bhidden\u241b]0;t\u2407 c[U+202E]d[U+E0041]e\u2400f\ng"; !strings.Contains(got, want) {
		t.Errorf("%q has no %q", got, want)
	}
}

const secret = "sk-ant-api03-Zk3vQ9bWm2xR7tYc5nLh8dPf1sGj4aUe"

func TestSecretsAreTakenOut(t *testing.T) {
	var records []string
	parent := "null"
	for i, body := range []string{
		`"role":"user","content":"the key is ` + secret + `"`,
		`"role":"assistant","content":[{"type":"thinking","thinking":"` + secret + `"},{"type":"text","text":"` + secret + `"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"curl -H 'x-api-key: ` + secret + `'"}}]`,
		`"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"` + secret + `"}],"details":{"diff":"+` + secret + `"}`,
		`"role":"bashExecution","command":"echo ` + secret + `","output":"` + secret + `"`,
	} {
		records = append(records, fmt.Sprintf(`{"type":"message","id":"m%d","parentId":%s,"message":{%s}}`, i, parent, body))
		parent = fmt.Sprintf(`"m%d"`, i)
	}
	records = append(records, `{"type":"compaction","id":"k","parentId":`+parent+`,"summary":"`+secret+`","firstKeptEntryId":"k"}`,
		`{"type":"session_info","id":"n","parentId":"k","name":"`+secret+`"}`,
		`{"type":"odd","id":"z","parentId":"n","note":"`+secret+`"}`)
	s := open(t, lines(records...))
	p, err := page.New(t.Context(), s, "", page.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.Write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), secret); n > 0 {
		t.Errorf("the secret is on the page %d times", n)
	}
	if p.Secrets() < 10 || !strings.Contains(b.String(), "secrets were taken out") {
		t.Errorf("%d secrets were found", p.Secrets())
	}
	if !strings.Contains(write(t, s, "", page.Options{KeepSecrets: true}), secret) {
		t.Error("what was to be kept is not there")
	}
}

func TestErrors(t *testing.T) {
	s := open(t, lines(twoBranches))
	if err := page.Write(t.Context(), io.Discard, s, "nowhere", page.Options{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a leaf that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := page.Write(ctx, io.Discard, s, "", page.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	whole := len(write(t, s, "", page.Options{}))
	for after := 0; after < whole; after += whole/7 + 1 {
		if err := page.Write(t.Context(), &failing{after: after}, s, "", page.Options{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a full disk after %d bytes: %v", after, err)
		}
	}
	if doc := write(t, open(t, lines()), "", page.Options{}); !strings.Contains(doc, "The session is empty") || check(doc) != nil {
		t.Errorf("an empty session: %q", check(doc))
	}
}

// Ids that are no good as an address, and those that stand twice, have others.
func TestAddresses(t *testing.T) {
	doc := write(t, open(t, lines(
		`{"type":"message","id":"a b","parentId":null,"message":{"role":"user","content":"one"}}`,
		`{"type":"message","id":"same","parentId":"a b","message":{"role":"user","content":"two"}}`,
		`{"type":"message","id":"same","parentId":"a b","message":{"role":"user","content":"three"}}`,
		`{"type":"message","id":"x","parentId":"y","message":{"role":"user","content":"four"}}`,
		`{"type":"message","id":"y","parentId":"x","message":{"role":"user","content":"five"}}`,
	)), "", page.Options{})
	for id, want := range map[string]string{"n-0": "one", "n-1": "two", "entry-same": "three", "entry-x": "four", "entry-y": "five"} {
		if a := article(t, doc, id); !strings.Contains(a, ">"+want+"<") {
			t.Errorf("%s: %s", id, a)
		}
	}
	if p := check(doc); p != nil {
		t.Errorf("%q", p)
	}
}

// A page of a session ten times as long takes ten times as long, and its writing no
// more memory than what is known of each entry.
func TestLongSession(t *testing.T) {
	if testing.Short() {
		t.Skip("writes pages of many megabytes")
	}
	small, large := long(t, 400), long(t, 4000)
	if len(large) < 10<<20 {
		t.Fatalf("the long session has %d bytes", len(large))
	}
	held := func(data []byte) uint64 {
		s := open(t, data)
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		_ = write(t, s, "", page.Options{}) // what the store remembers is its own
		before := heap()
		p, err := page.New(t.Context(), s, "", page.Options{})
		if err != nil {
			t.Fatal(err)
		}
		after := heap()
		runtime.KeepAlive(p)
		return max(after, before) - before
	}
	start := time.Now()
	n := &counter{}
	if err := page.Write(t.Context(), n, open(t, large), "", page.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of session, %d of page, %v; held: %d and %d bytes", len(large), n.n, time.Since(start), held(small), held(large))
	if h := held(large); h > uint64(len(large)/4) {
		t.Errorf("a page holds %d bytes of a session of %d", h, len(large))
	}
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

func long(t testing.TB, turns int) []byte {
	var records []string
	parent := "null"
	add := func(body string) {
		id := fmt.Sprintf(`"%08x"`, len(records))
		records = append(records, `{"type":"message","id":`+id+`,"parentId":`+parent+`,"timestamp":"2026-01-05T15:02:01.000Z","message":{`+body+`}}`)
		parent = id
	}
	output := quote(strings.Repeat("the table holds what the case reads, and a <tag> & more\n", 40))
	for i := range turns {
		if i%9 == 0 {
			add(`"role":"user","content":"step ` + fmt.Sprint(i) + `"`)
		}
		add(`"role":"assistant","provider":"p","model":"m","content":[{"type":"text","text":"I look at **file ` + fmt.Sprint(i) + `**:\n\n- one\n- two"},{"type":"toolCall","id":"c` + fmt.Sprint(i) + `","name":"read","arguments":{"path":"f.go"}}],"stopReason":"toolUse"`)
		add(`"role":"toolResult","toolCallId":"c` + fmt.Sprint(i) + `","toolName":"read","content":[{"type":"text","text":` + output + `}]`)
	}
	return lines(records...)
}

func BenchmarkWrite(b *testing.B) {
	for _, turns := range []int{400, 4000} {
		data := long(b, turns)
		b.Run(fmt.Sprintf("%dkB", len(data)>>10), func(b *testing.B) {
			s := open(b, data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := page.Write(b.Context(), io.Discard, s, "", page.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func quote(s string) string {
	return string(jsonx.Quote(s))
}
