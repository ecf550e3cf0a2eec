package recall_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// entryLine makes an entry of a line of testdata/ranking.txt.
func entryLine(t *testing.T, line, parent string) *session.Entry {
	t.Helper()
	id, rest, _ := strings.Cut(line, " ")
	role, text, _ := strings.Cut(rest, " ")
	var o jsonx.Object
	o.Str("type", "message")
	var m *message.Message
	switch role {
	case "user":
		m = &message.Message{Role: message.RoleUser, Content: []message.Block{message.TextBlock(text)}}
	case "says":
		text, call, ok := strings.Cut(text, " >> ")
		m = &message.Message{Role: message.RoleAssistant, Content: []message.Block{message.TextBlock(text)}}
		if ok {
			name, args, _ := strings.Cut(call, " ")
			m.Content = append(m.Content, message.ToolCallBlock("call_"+id[1:], name, []byte(args)))
		}
	case "result":
		name, text, _ := strings.Cut(text, " ")
		call := "call_" + id[1:]
		m = &message.Message{Role: message.RoleToolResult, ToolCallID: call, ToolName: name, Content: []message.Block{message.TextBlock(text)}}
	case "shell":
		command, output, _ := strings.Cut(text, " :: ")
		m = &message.Message{Role: message.RoleBashExecution, Command: command, Output: output}
	case "summary":
		o = jsonx.Object{}
		o.Str("type", "compaction")
		o.Str("id", id)
		o.Raw("parentId", parentJSON(parent))
		o.Str("summary", text)
		o.Str("firstKeptEntryId", id)
		o.Int("tokensBefore", 100)
	default:
		t.Fatalf("no such role: %s", line)
	}
	if m != nil {
		o.Str("id", id)
		o.Raw("parentId", parentJSON(parent))
		o.Raw("message", m.JSON())
	}
	e, err := session.ParseEntry(o.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func parentJSON(id string) []byte {
	if id == "" {
		return []byte("null")
	}
	return jsonx.Quote(id)
}

func path(t *testing.T, lines ...string) *session.Memory {
	t.Helper()
	var entries []*session.Entry
	parent := ""
	for _, l := range lines {
		e := entryLine(t, l, parent)
		entries = append(entries, e)
		parent = e.ID
	}
	return session.NewMemory(session.Header{ID: "s", Version: session.Version}, entries...)
}

func query(t *testing.T, s string) recall.Query {
	t.Helper()
	q := recall.Query{Limit: recall.MaxLimit}
	for s != "" {
		word, rest, _ := strings.Cut(s, " ")
		name, val, ok := strings.Cut(word, ":")
		switch {
		case !ok:
			q.Text = s
			return q
		case name == "tool":
			q.Tool = val
		case name == "path":
			q.Path = val
		case name == "since":
			q.Since = val
		case name == "until":
			q.Until = val
		case name == "role":
			q.Roles = []message.Role{map[string]message.Role{"user": message.RoleUser, "summary": message.RoleCompactionSummary}[val]}
		default:
			q.Text = s
			return q
		}
		s = rest
	}
	return q
}

func hits(r *recall.Results) string {
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, strings.Join(append([]string{h.Entry}, h.Like...), "="))
	}
	return strings.Join(ids, " ")
}

// TestRanking holds the answers in testdata/ranking.txt.
func TestRanking(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "ranking.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(string(data), "session:\n")
	talk, cases, _ := strings.Cut(tail, "\n\n")
	x := recall.New(path(t, strings.Split(talk, "\n")...), nil)
	n := 0
	for line := range strings.Lines(cases) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		asked, want, _ := strings.Cut(line, "=>")
		r, err := x.Search(context.Background(), query(t, strings.TrimSpace(asked)), nil)
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		if got := hits(r); got != strings.TrimSpace(want) {
			t.Errorf("%s=> %s\n%*s want %s", asked, got, len(asked)-2, "", want)
		}
		rises := 0 // one where those in one excerpt end, one where those with all words end
		for i, h := range r.Hits {
			if i > 0 && h.Score > r.Hits[i-1].Score {
				rises++
			}
		}
		if rises > 2 {
			t.Errorf("%s: the scores rise %d times", asked, rises)
		}
	}
	if n < 30 {
		t.Errorf("%d cases", n)
	}
	_, err = x.Search(context.Background(), recall.Query{Text: " ,; "}, nil)
	if !errors.Is(err, recall.ErrNoQuery) {
		t.Error(err)
	}
	_, err = x.Search(context.Background(), recall.Query{Text: "x", Since: "nix"}, nil)
	if !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
}

// inOneExcerpt reports whether a text has all words within the bytes of an excerpt.
func inOneExcerpt(s string, words []string) bool {
	for from := range s {
		end := min(from+300, len(s))
		part := s[from:end]
		if end < len(s) && s[end] != ' ' {
			part = part[:strings.LastIndex(part, " ")+1] // a word that is cut
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(" "+part+" ", " "+w+" ") }) {
			return len(words) > 1
		}
	}
	return false
}

// naive is BM25 as the formula says, over the words of each text; those that have all words
// come first, before them those of the best that have them in one excerpt.
func naive(texts []string, words []string) []int {
	n, sum := float64(len(texts)), 0
	count := func(s, w string) (c int) {
		for _, x := range strings.Fields(s) {
			if x == w {
				c++
			}
		}
		return c
	}
	for _, s := range texts {
		sum += len(strings.Fields(s))
	}
	scores := make([]float64, len(texts))
	for _, w := range words {
		df := 0.0
		for _, s := range texts {
			if count(s, w) > 0 {
				df++
			}
		}
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		for i, s := range texts {
			tf := float64(count(s, w))
			scores[i] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(len(strings.Fields(s)))/(float64(sum)/n)))
		}
	}
	var order []int
	for i := range texts {
		if scores[i] > 0 {
			order = append(order, i)
		}
	}
	class := make([]int, len(texts)) // 1 has all words, 2 in one excerpt
	for i, s := range texts {
		if !slices.ContainsFunc(words, func(w string) bool {
			return count(s, w) == 0 && slices.ContainsFunc(texts, func(s string) bool { return count(s, w) > 0 })
		}) {
			class[i] = 1
		}
	}
	sort := func() {
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(class[b]-class[a], cmp.Compare(scores[b], scores[a]), b-a)
		})
	}
	sort()
	there := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return !slices.ContainsFunc(texts, func(s string) bool { return count(s, w) > 0 })
	})
	for _, i := range order[:min(40, len(order))] {
		if class[i] == 1 && len(words) > 1 && (len(there) < 2 || inOneExcerpt(texts[i], there)) {
			class[i] = 2
		}
	}
	sort()
	return order
}

// TestFormula ranks random texts as the formula does, whatever the number of documents a
// term is in, and pages them without a gap.
func TestFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		var texts []string
		for range r.IntN(400) + 1 {
			var b strings.Builder
			for range r.IntN(200) + 1 {
				// Few words are frequent, most are rare.
				fmt.Fprintf(&b, "q%s ", strings.Repeat(string(rune('a'+r.IntN(20))), 1+int(3*math.Pow(r.Float64(), 4))))
			}
			texts = append(texts, b.String())
		}
		words := []string{"qa", "qbb", "qccc", "qd", "qe"}[:r.IntN(5)+1]
		lines := make([]string, len(texts))
		for i, s := range texts {
			lines[i] = fmt.Sprintf("e%d user %s", i, s)
		}
		x := recall.New(path(t, lines...), nil)
		var want []string
		for _, i := range naive(texts, words) {
			want = append(want, fmt.Sprintf("e%d", i))
		}
		var got []string
		like := map[string]bool{}
		for offset, pages := 0, 0; ; pages++ {
			res, err := x.Search(context.Background(), recall.Query{Text: strings.Join(words, " "), Limit: r.IntN(90) + 10, Offset: offset}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.Total != len(want) || res.Offset != offset {
				t.Fatalf("total %d, want %d; offset %d, want %d", res.Total, len(want), res.Offset, offset)
			}
			for _, h := range res.Hits {
				got = append(got, h.Entry)
				for _, id := range h.Like {
					like[id] = true
				}
			}
			if res.Next == 0 {
				break
			}
			offset = res.Next
		}
		want = slices.DeleteFunc(want, func(id string) bool { return like[id] })
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, %v:\n got %v\nwant %v", round, words, got, want)
		}
	}
}

// generated is a random session with branches, edits, several roots and what else there is.
func generated(tb testing.TB, seed uint64, opt sessiongen.Options) (*jsonl.File, []*session.Entry) {
	tb.Helper()
	ctx := context.Background()
	f, err := jsonl.Read(ctx, "generated", bytes.NewReader(sessiongen.Generate(seed, opt).Bytes()))
	if err != nil {
		tb.Fatal(err)
	}
	var all []*session.Entry
	for e, err := range f.All(ctx) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return f, all
}

// TestSearchRandomSessions: every text of every entry is found by a phrase of it, whole
// or damaged as the session may be; snippets are text, within bounds, and stand where
// they say; an index that grew answers as one that was made at once.
func TestSearchRandomSessions(t *testing.T) {
	ctx := context.Background()
	found, grown, cjk, seeds := 0, 0, 0, 30
	if testing.Short() {
		seeds = 6
	}
	for seed := range uint64(seeds) {
		_, all := generated(t, seed, sessiongen.Options{Entries: 80, Odds: sessiongen.Odds{Emoji: 0.3, CJK: 0.3}})
		live := session.NewMemory(session.Header{ID: "s", Version: session.Version}, all[:len(all)/2]...)
		x := recall.New(live, nil)
		if err := x.Update(ctx); err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, e := range all[:len(all)/2] {
			ids[e.ID] = true
		}
		for _, e := range all[len(all)/2:] {
			if e.ID == "" || ids[e.ID] || session.CheckAppend(e) != nil {
				continue
			}
			ids[e.ID] = true
			if err := live.Append(ctx, []*session.Entry{e}, session.AppendOptions{}); err != nil {
				t.Fatal(err)
			}
			grown++
		}
		anew := recall.New(live, nil)
		r := rand.New(rand.NewPCG(seed, 1))
		for e, err := range live.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			c := session.Project([]*session.Entry{e})
			if len(c.Items) == 0 || r.IntN(3) > 0 {
				continue
			}
			m := c.Items[len(c.Items)-1].Message
			words := strings.FieldsFunc(recall.Text(m), func(c rune) bool { return c == '"' || c == '\n' })
			if len(words) == 0 {
				continue
			}
			phrase := words[r.IntN(len(words))]
			if len(phrase) > 200 || strings.TrimSpace(phrase) == "" {
				continue
			}
			q := recall.Query{Text: `"` + phrase + `"`, Limit: recall.MaxLimit, Snippet: r.IntN(300) + 20}
			a, err := x.Search(ctx, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := anew.Search(ctx, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d, %q: the index that grew says %v, the other %v", seed, phrase, a, b)
			}
			at := slices.IndexFunc(a.Hits, func(h recall.Hit) bool { return h.Entry == e.ID })
			named := func(h recall.Hit) bool { // by another one
				return slices.Contains(h.Like, e.ID) || slices.ContainsFunc(h.Pair, func(o recall.Half) bool { return o.Entry == e.ID })
			}
			if at < 0 {
				if a.Total <= recall.MaxLimit && !slices.ContainsFunc(a.Hits, named) {
					t.Fatalf("seed %d: %s is not found by its %q", seed, e.ID, phrase)
				}
				continue
			}
			found++
			h := a.Hits[at]
			text := recall.Text(m)
			if h.Size != utf8.RuneCountInString(text) || h.Offset > h.Size || !utf8.ValidString(h.Snippet) ||
				len(h.Snippet) > q.Snippet*3+6 { // a byte that is no text is shown as three
				t.Fatalf("seed %d: %+v of a text of %d", seed, h, len(text))
			}
			begin := strings.TrimPrefix(h.Snippet, "…")
			begin, _, _ = strings.Cut(begin, " ")
			if rest := strings.TrimSpace(pageOf(text, h.Offset, 0).Text); utf8.ValidString(text) && !strings.HasPrefix(rest, strings.TrimSuffix(begin, "…")) {
				t.Fatalf("seed %d: the snippet %q does not stand at character %d: %.60q", seed, h.Snippet, h.Offset, rest)
			}
			if strings.ContainsFunc(phrase, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana) }) {
				cjk++
			}
		}
	}
	t.Logf("%d entries found, %d by phrases of Chinese, Japanese or Korean; %d added to a live index", found, cjk, grown)
	if found < 10*seeds || cjk < seeds || grown < 16*seeds {
		t.Error("too few cases")
	}
}

// TestFirstHitsComeWithMost: so that a model need not ask again. A size that is asked for is the size of all.
func TestFirstHitsComeWithMost(t *testing.T) {
	var lines []string
	for i := range 6 {
		lines = append(lines, fmt.Sprintf("e%d user %s", i, strings.Repeat(fmt.Sprintf("the pump of part%d runs. ", i), 400)))
	}
	x := recall.New(path(t, lines...), nil)
	for _, size := range []int{0, 500} {
		r, err := x.Search(context.Background(), recall.Query{Text: "pump", Snippet: size}, nil)
		if err != nil || len(r.Hits) != 6 {
			t.Fatal(err, len(r.Hits))
		}
		for i, h := range r.Hits {
			want := cmp.Or(size, map[bool]int{true: 2000, false: 200}[i < 3])
			if n := len(h.Snippet); n > want+6 || n < want*4/5 {
				t.Errorf("size %d: hit %d comes with %d bytes, want %d", size, i, n, want)
			}
		}
	}
}

// TestSearchShowsTheCall: beside a result that was found stands what the call was, not the last of its arguments.
func TestSearchShowsTheCall(t *testing.T) {
	x := recall.New(path(t,
		`a1 says I look at it. >> bash {"cmd":"grep -c pump parts.txt","workdir":"`+strings.Repeat("/long", 80)+`","timeout":10000}`,
		"b1 result bash there are 17 valves in the list",
	), nil)
	r, err := x.Search(context.Background(), recall.Query{Text: "valves"}, nil)
	if err != nil || len(r.Hits) != 1 || len(r.Hits[0].Pair) != 1 {
		t.Fatal(err, r)
	}
	if got := r.Hits[0].Pair[0].Snippet; !strings.HasPrefix(got, "[call bash] cmd: grep -c pump parts.txt") {
		t.Errorf("the call is shown as %q", got)
	}
}

// TestSearchDamaged: whatever is wrong with a session, a search has an answer, and every hit
// is an entry that can be read.
func TestSearchDamaged(t *testing.T) {
	ctx := context.Background()
	hits := 0
	for seed := range uint64(60) {
		gen := sessiongen.Generate(seed, sessiongen.Options{Entries: 60, Odds: sessiongen.Odds{
			DuplicateID: 0.1, Cycle: 0.03, Malformed: 0.1, DanglingRef: 0.1, Unknown: 0.05, Surrogate: 0.3,
		}})
		data, _ := sessiongen.Damage(seed, gen.Bytes())
		f, err := jsonl.Read(ctx, "damaged", bytes.NewReader(data))
		if err != nil {
			continue // no session any more
		}
		x := recall.New(f, nil)
		for _, q := range []recall.Query{{Text: "the"}, {Text: `"e"`}, {Roles: []message.Role{message.RoleUser, message.RoleToolResult}}, {Text: "的 の 이"}} {
			r, err := x.Search(ctx, q, nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, h := range r.Hits {
				hits++
				if e, err := recall.Find(ctx, f, "", h.Entry); err != nil || e.ID != h.Entry {
					t.Fatalf("seed %d: %s: %v", seed, h.Entry, err)
				}
			}
		}
	}
	if hits < 500 {
		t.Errorf("%d hits", hits)
	}
}

// TestPath: the index knows the path to each entry as the session does, however the
// session may be damaged.
func TestPath(t *testing.T) {
	ctx := context.Background()
	long := 0
	for seed := range uint64(40) {
		f, all := generated(t, seed, sessiongen.Options{Entries: 60, Odds: sessiongen.Odds{
			Branch: 0.2, DuplicateID: 0.05, Cycle: 0.05, DanglingRef: 0.1,
		}})
		x := recall.New(f, nil)
		if err := x.Update(ctx); err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.ID == "" {
				continue
			}
			path, err := session.Path(ctx, f, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{}
			for _, e := range path {
				want[e.ID] = true
			}
			if got := x.Path(e.ID); !maps.Equal(got, want) {
				t.Fatalf("seed %d, to %s: %d entries, want %d", seed, e.ID, len(got), len(want))
			}
			if len(path) > 10 {
				long++
			}
		}
	}
	if long < 500 {
		t.Errorf("%d long paths", long)
	}
}

// TestPlace: turns are counted along the path, positions in the log; of two entries
// with one id the later one counts.
func TestPlace(t *testing.T) {
	a := entryLine(t, "u1 user first needle", "")
	b := entryLine(t, "a1 says needle again", "u1")
	c := entryLine(t, "u2 user another needle", "a1")
	d := entryLine(t, "u3 user a branch with a needle", "u1")
	e := entryLine(t, "a1 says the needle once more, under the same id", "u3")
	x := recall.New(session.NewMemory(session.Header{ID: "s"}, a, b, c, d), nil)
	r, err := x.Search(context.Background(), recall.Query{Text: "needle"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]string{}
	for _, h := range r.Hits {
		place[h.Entry] = fmt.Sprintf("%d/%d", h.Position, h.Turn)
	}
	if want := map[string]string{"u1": "1/1", "a1": "2/1", "u2": "3/2", "u3": "4/2"}; !maps.Equal(place, want) {
		t.Errorf("got %v, want %v", place, want)
	}
	x = recall.New(session.NewMemory(session.Header{ID: "s"}, a, b, c, d, e), nil)
	if r, err = x.Search(context.Background(), recall.Query{Text: "again"}, nil); err != nil || r.Total != 0 {
		t.Error("the words of an entry that another one stands for:", r.Total, err)
	}
	if r, err = x.Search(context.Background(), recall.Query{Text: "once"}, nil); err != nil || hits(r) != "a1" || r.Hits[0].Position != 5 {
		t.Error(r, err)
	}
}

// An answer of the tool is not found again: the words stand in the session already.
func TestAnswersAreNotFound(t *testing.T) {
	result := func(tool, text string) string { return "r1 result " + tool + " " + text }
	head := strings.TrimSpace(recall.ResultLine("#x"))
	for _, tc := range []struct {
		line  string
		found int
	}{
		{result("recall", head+" the needle"), 0},
		{result("mcp__clew__recall", head+" the needle"), 0},
		{result("recall", "the needle"), 1},
		{result("bash", head+" the needle"), 1},
	} {
		x := recall.New(path(t, tc.line), nil)
		if r, err := x.Search(context.Background(), recall.Query{Text: "needle"}, nil); err != nil || r.Total != tc.found {
			t.Errorf("%s: %d found, %v", tc.line, r.Total, err)
		}
	}
}

// pageOf takes a page from a text in one piece.
func pageOf(text string, offset, most int) recall.Page {
	p := recall.Pager{Offset: offset, Most: most}
	p.Add(text)
	return p.Page()
}

// TestPages: pages of whatever size are the text, one after the other, and so are those of
// a text that comes in pieces.
func TestPages(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		var pieces []string
		for range r.IntN(5) {
			var b strings.Builder
			for range r.IntN(40) {
				b.WriteString([]string{"a", "\n", "é", "中", "🙂", "\xff", "e\u0301"}[r.IntN(7)])
			}
			pieces = append(pieces, b.String())
		}
		text := strings.Join(pieces, "")
		most := r.IntN(30) + 1
		var got strings.Builder
		for offset := 0; ; {
			p := pageOf(text, offset, most)
			inPieces := recall.Pager{Offset: offset, Most: most}
			for _, piece := range pieces {
				inPieces.Add(piece)
			}
			if !reflect.DeepEqual(p.Text+fmt.Sprint(p.Offset, p.Next, p.Line, p.Lines), inPieces.Page().Text+fmt.Sprint(inPieces.Page().Offset, inPieces.Page().Next, inPieces.Page().Line, inPieces.Page().Lines)) {
				t.Fatalf("seed %d: %+v of the text, %+v of its pieces", seed, p, inPieces.Page())
			}
			if n := utf8.RuneCountInString(p.Text); n > most || p.Total != utf8.RuneCountInString(text) {
				t.Fatalf("seed %d: a page of %d characters, at most %d; total %d", seed, n, most, p.Total)
			}
			got.WriteString(p.Text)
			if p.Next == 0 {
				break
			}
			if p.Next <= offset {
				t.Fatalf("seed %d: page %d goes on at %d", seed, offset, p.Next)
			}
			offset = p.Next
		}
		if got.String() != text {
			t.Fatalf("seed %d: the pages are %q, the text %q", seed, got.String(), text)
		}
		if p := pageOf(text, len(text)+1, most); p.Text != "" || p.Next != 0 {
			t.Fatalf("seed %d: behind the end: %+v", seed, p)
		}
	}
}

// FuzzQuery: any text is a query; it has an answer or ErrNoQuery, always the same.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", `"`, `""`, `"a b" c`, "-x", "中文", "4f3a9b2", strings.Repeat(`"a" `, 50), "\xff", "token\x00expiry", `"\xff"`, strings.Repeat("é", 3000)} {
		f.Add(s)
	}
	lines := []string{
		"u1 user the token expiry, 中文 and 4f3a9b2c", "a1 says a b c \xff d", "r1 result bash -x \"quoted\" é",
	}
	f.Fuzz(func(t *testing.T, s string) {
		x := recall.New(path(t, lines...), nil)
		a, err := x.Search(context.Background(), recall.Query{Text: s}, nil)
		if errors.Is(err, recall.ErrNoQuery) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.Search(context.Background(), recall.Query{Text: s}, nil)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q: %v, then %v, %v", s, a, b, err)
		}
		for _, h := range a.Hits {
			if !utf8.ValidString(h.Snippet) {
				t.Fatalf("%q: snippet %q", s, h.Snippet)
			}
		}
	})
}
