package clew_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// inSummary and inNote are how the context names what is not in it.
var (
	inSummary = regexp.MustCompile(`\[#[^\[\],#\s]+(?:, replaced)?\]`)
	inNote    = regexp.MustCompile(`(?:[Rr]ecall|later:) (#[0-9a-zA-Z_-]+)`)
)

// pages reads all pages of a text and holds each against its bounds.
func pages(t *testing.T, s *clew.Session, handle string, raw bool, most int) string {
	t.Helper()
	var b strings.Builder
	for offset, n := 0, 0; ; n++ {
		r, err := s.RecallText(context.Background(), handle, clew.RecallOptions{Offset: offset, Max: most, Raw: raw})
		if err != nil {
			t.Fatalf("%s: %v", handle, err)
		}
		if got := len([]rune(r.Text)); most > 0 && got > most || r.Offset != offset {
			t.Fatalf("%s: a page of %d characters at %d; asked for %d at %d", handle, got, r.Offset, most, offset)
		}
		b.WriteString(r.Text)
		if r.Next == 0 {
			return b.String()
		}
		if r.Next <= offset || n > 1<<20 {
			t.Fatalf("%s: page %d goes on at %d", handle, offset, r.Next)
		}
		offset = r.Next
	}
}

// TestRecallAll is I8: what has left the context can be read again, every byte, by id
// and by every handle that the context names, after each of many passes.
func TestRecallAll(t *testing.T) {
	ctx := context.Background()
	var passes, left, named, outside, ambiguous int
	seeds := 4
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 8))
		blobs := new(blob.Memory)
		cfg := small(6_000 + 2_000*int64(seed%3))
		cfg.Blobs, cfg.SpillOver = blobs, 3_000
		cfg = fixed(cfg)
		if seed%2 == 1 { // ids made from the time share their beginning
			clock := uint32(0x190a1b2c)
			cfg.NewID = func() string {
				clock += uint32(r.IntN(3)) / 2
				return fmt.Sprintf("%08x%08x", clock, r.Uint32())
			}
		}
		s, err := clew.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		appended, seen := map[string]*message.Message{}, map[string]bool{}
		for k := range 30 {
			msgs := turn(r, k)
			if k%5 == 0 { // a call with long arguments, an image, and output that is kept beside the log
				id := fmt.Sprintf("big_%d", k)
				args := jsonx.Set([]byte(`{"path":"a/b.txt"}`), "content", jsonx.Quote(text(r, 300)))
				result := message.ToolResult(id, "write", text(r, 1500), false, start).WithContent([]message.Block{
					message.TextBlock(text(r, 1500)), message.ImageBlock("image/png", strings.Repeat("iVBO", 50)),
				})
				msgs = append(msgs, message.User(text(r, 60), start),
					message.Assistant(start, message.ThinkingBlock(text(r, 200), ""), message.ToolCallBlock(id, "write", args)), result)
			}
			for i, id := range add(t, s, msgs...) {
				appended[id] = msgs[i]
			}
			p := prepare(t, s)
			if !p.Plan.Act {
				continue
			}
			passes++
			path, err := s.Log().Path(ctx)
			if err != nil {
				t.Fatal(err)
			}
			byID := map[string]*session.Entry{}
			for _, e := range path {
				byID[e.ID] = e
			}
			for _, f := range compact.Fates(path) {
				want := appended[f.Entry]
				if f.Fate == compact.FateVerbatim || want == nil && byID[f.Entry].Type != session.TypeCompaction {
					continue
				}
				if seen[f.Entry] && r.IntN(4) > 0 {
					continue // it was there after the pass before
				}
				seen[f.Entry] = true
				left++
				if want == nil { // a summary that another one took in
					c, _ := byID[f.Entry].Compaction()
					if got := pages(t, s, f.Entry, false, 0); got != c.Summary {
						t.Fatalf("seed %d: the summary %s comes back as %.80q", seed, f.Entry, got)
					}
					continue
				}
				m, err := s.Recall(ctx, f.Entry)
				if err != nil || !bytes.Equal(m.JSON(), want.JSON()) {
					t.Fatalf("seed %d: %s, which is %s, comes back changed: %v", seed, f.Entry, f.Fate, err)
				}
				if r.IntN(8) == 0 {
					if got := pages(t, s, f.Entry, true, 1+r.IntN(2000)); got != string(want.JSON()) {
						t.Fatalf("seed %d: the pages of %s are not its JSON", seed, f.Entry)
					}
				}
			}
			for _, m := range p.Messages {
				shown := recall.Text(m)
				handles := inSummary.FindAllString(shown, -1)
				for _, h := range inNote.FindAllStringSubmatch(shown, -1) {
					handles = append(handles, h[1])
				}
				for _, h := range handles {
					if h == "[#id]" {
						continue // the note that says what handles are
					}
					r, err := s.RecallText(ctx, h, clew.RecallOptions{Max: -1})
					if several := (*recall.AmbiguousError)(nil); errors.As(err, &several) && seed%2 == 1 {
						// An entry that came later has an id that begins so, too. Which are
						// meant is said, and each is there.
						for _, id := range several.IDs {
							if _, err := s.Recall(ctx, id); err != nil || !strings.HasPrefix(id, recall.Handle(h)) {
								t.Fatalf("seed %d: %s may mean %s: %v", seed, h, id, err)
							}
						}
						ambiguous++
						continue
					}
					if err != nil {
						t.Fatalf("seed %d: the context names %s: %v", seed, h, err)
					}
					named++
					e := byID[r.Entries[0]]
					want := appended[e.ID]
					if want == nil {
						continue // a summary or an edit
					}
					if r.Text != recall.Text(want) {
						t.Fatalf("seed %d: %s is not the text of %s", seed, h, e.ID)
					}
					if logged, err := e.Message(); err == nil {
						if _, ok := session.SpilledOf(logged); ok {
							outside++
						}
					}
				}
			}
		}
	}
	t.Logf("%d passes; %d times an entry had left and came back; %d handles, %d of them of output beside the log, %d ambiguous", passes, left, named, outside, ambiguous)
	if passes < 8*seeds || left < 250*seeds || named < 250*seeds || outside < 5*seeds || ambiguous > named/20 {
		t.Error("too few cases")
	}
}

// TestRecallGenerated is I8 on sessions with branches, edits, older compactions, images and
// everything else: each entry of each path comes back as its record has it.
func TestRecallGenerated(t *testing.T) {
	ctx := context.Background()
	passes, n := 0, 0
	seeds := 25
	if testing.Short() {
		seeds = 5
	}
	for seed := range uint64(seeds) {
		f, err := jsonl.Read(ctx, "generated", bytes.NewReader(sessiongen.Generate(seed, sessiongen.Options{WellFormed: true}).Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var all []*session.Entry
		for e, err := range f.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		s, err := clew.OpenStore(ctx, session.NewMemory(f.Header(), all...), fixed(small(9_000)))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 2))
		for k := range 6 {
			p, err := s.Prepare(ctx)
			if fixedPart := (*clew.FixedPartError)(nil); errors.As(err, &fixedPart) {
				break // a system prompt that is larger than the window
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Plan.Act {
				passes++
			}
			add(t, s, turn(r, k)...)
		}
		for _, e := range all {
			raw := pages(t, s, e.ID, true, 5000)
			want := string(e.Raw())
			if e.Type == session.TypeMessage {
				if m, err := e.Message(); err == nil {
					want = string(m.JSON())
				}
			}
			if raw != want {
				t.Fatalf("seed %d: %s (%s) comes back as %.100q, it was %.100q", seed, e.ID, e.Type, raw, want)
			}
			n++
		}
		s.Close()
	}
	t.Logf("%d passes, %d entries", passes, n)
	if passes < seeds || n < 40*seeds {
		t.Error("too few cases")
	}
}

// TestSearchAfterFivePasses: what was said before five compactions is found, in whatever
// language, and only once although the answers of the tool are in the log.
func TestSearchAfterFivePasses(t *testing.T) {
	ctx := context.Background()
	facts := []struct{ fact, query string }{
		{"the staging database listens on port 54329", "staging database port"},
		{"the retry limit lives in maxDeliveryAttempts of queue_worker.go", "delivery attempts"},
		{"发布前必须先运行数据迁移脚本", "数据迁移"},
		{"リリースの担当は田中さんです", "担当"},
		{"배포 승인은 김팀장이 합니다", "배포 승인"},
		{"it broke with commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "9fceb02"},
	}
	s := newSession(t, small(8_000))
	r := rand.New(rand.NewPCG(5, 5))
	planted := map[string]string{}
	for _, f := range facts {
		id := add(t, s,
			message.Assistant(start, message.ToolCallBlock("q"+f.query, "bash", []byte(`{"command":"cat notes"}`))),
			message.ToolResult("q"+f.query, "bash", "# notes\n"+f.fact+"\n", false, start))[1]
		planted[f.query] = id
		add(t, s, message.Assistant(start, message.TextBlock("I see.")))
	}
	passes := 0
	for k := 0; passes < 5; k++ {
		add(t, s, turn(r, k)...)
		if p := prepare(t, s); p.Plan.Cut != nil {
			passes++
		}
		if k > 300 {
			t.Fatal("no five compactions")
		}
	}
	for _, f := range facts {
		found, err := s.Search(ctx, clew.Query{Text: f.query, Scope: clew.ScopeLeft})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) == 0 || found.Hits[0].Entry != planted[f.query] || !strings.Contains(found.Hits[0].Snippet, f.fact) {
			t.Errorf("%q: %+v", f.query, found.Hits)
			continue
		}
		// As an agent asks, and has the answer in its log.
		args, _ := json.Marshal(map[string]any{"query": f.query, "tool": "bash"})
		answer, err := s.RecallTool(ctx, args)
		if err != nil || !strings.Contains(answer, "#"+planted[f.query]) || !strings.Contains(answer, f.fact) {
			t.Errorf("%q: %q %v", f.query, answer, err)
		}
		call := "r" + f.query
		add(t, s, message.Assistant(start, message.ToolCallBlock(call, recall.ToolName, args)), message.ToolResult(call, recall.ToolName, answer, false, start))
		again, err := s.Search(ctx, clew.Query{Text: `"` + f.fact + `"`, Roles: []message.Role{message.RoleToolResult}, Scope: clew.ScopePath})
		if err != nil || again.Total != 1 {
			t.Errorf("%q is found %d times, %v", f.fact, again.Total, err)
		}
	}
	add(t, s, message.Assistant(start, message.TextBlock("the port is 54329")))
	// What is in the context word for word has not left it.
	if found, err := s.Search(ctx, clew.Query{Text: `"the port is 54329"`, Scope: clew.ScopeLeft}); err != nil || found.Total != 0 {
		t.Error(found.Total, err)
	}
	if found, err := s.Search(ctx, clew.Query{Text: `"the port is 54329"`, Scope: clew.ScopePath}); err != nil || found.Total != 1 {
		t.Error(found.Total, err)
	}
}

// TestSearchSpilled: output beside the log is searched and recalled by its hash; what
// is lost is said to be searched in part, what was purged to be purged.
func TestSearchSpilled(t *testing.T) {
	ctx := context.Background()
	file := tempFile(t)
	cfg := small(200_000)
	cfg.SpillOver = 60_000
	outputs := func(secret string) []*message.Message { // smaller than those of outputs
		msgs := outputs(secret)
		msgs[2] = message.ToolResult("c1", "read", large(200_000, secret), false, start)
		shell, err := message.Parse(jsonx.Set(msgs[3].JSON(), "output", jsonx.Quote(large(150_000, secret))))
		if err != nil {
			t.Fatal(err)
		}
		msgs[3] = shell
		return msgs
	}
	s, err := clew.Open(ctx, file, fixed(cfg))
	if err != nil {
		t.Fatal(err)
	}
	msgs := outputs("the zq47y11 needle")
	ids := add(t, s, msgs...)
	look := func(s *clew.Session) *clew.Found {
		t.Helper()
		found, err := s.Search(ctx, clew.Query{Text: "zq47y11", Scope: clew.ScopePath})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	found := look(s)
	if found.Total != 2 || found.Partial != 0 || !strings.Contains(found.Hits[0].Snippet, "the zq47y11 needle") {
		t.Fatalf("%+v", found)
	}
	// The place that a hit names is where reading goes on.
	h := found.Hits[0]
	if r, err := s.RecallText(ctx, h.Entry, clew.RecallOptions{Offset: h.Offset, Max: 400}); err != nil || !strings.Contains(r.Text, "zq47y11") || r.Total != h.Size {
		t.Error(r, err)
	}
	note := regexp.MustCompile(`recall (#[0-9a-f]{16}) for the whole`)
	logText := logged(t, s.Log().Store())
	handles := note.FindAllStringSubmatch(logText, -1)
	if len(handles) != 2 {
		t.Fatalf("%d notes in the log", len(handles))
	}
	for i, id := range ids[2:] {
		e, err := s.Log().Store().Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := e.Message()
		at, _ := session.SpilledOf(m)
		for _, handle := range []string{id, handles[i][1], at.ID, at.ID[:20]} {
			got, err := s.Recall(ctx, handle)
			if err != nil || !bytes.Equal(got.JSON(), msgs[i+2].JSON()) {
				t.Errorf("%s: %v", handle, err)
			}
			if handle == at.ID {
				continue // the pages are those of the others
			}
			if text := pages(t, s, handle, false, 60_000); text != recall.Text(msgs[i+2]) {
				t.Errorf("the pages of %s are not the text", handle)
			}
		}
	}
	s.Close()

	if _, err := clew.Purge(ctx, file, jsonl.PurgeOptions{ID: ids[2]}); err != nil {
		t.Fatal(err)
	}
	s, err = clew.Open(ctx, file, fixed(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.RecallText(ctx, ids[2], clew.RecallOptions{}); err != nil || !r.Purged || strings.Contains(r.Text, "access") {
		t.Errorf("%+v %v", r, err)
	}
	args, _ := json.Marshal(map[string]string{"id": ids[2]})
	if answer, err := s.RecallTool(ctx, args); err != nil || !strings.Contains(answer, "was purged") {
		t.Error(answer, err)
	}
	if found := look(s); found.Total != 1 || found.Hits[0].Entry != ids[3] {
		t.Errorf("after a purge: %+v", found)
	}
	s.Close()
	// A text is purged from output beside the log together with all of that output.
	if _, err := clew.Purge(ctx, file, jsonl.PurgeOptions{Text: "zq47y11"}); err != nil {
		t.Fatal(err)
	}
	s, err = clew.Open(ctx, file, fixed(cfg))
	if err != nil {
		t.Fatal(err)
	}
	args, _ = json.Marshal(map[string]string{"id": ids[3]})
	if answer, err := s.RecallTool(ctx, args); err != nil || !strings.Contains(answer, "; an excerpt, the whole was purged or lost]\n$ make\n[excerpt of make, exit code 2: ") {
		t.Errorf("%.300q %v", answer, err)
	}
	if _, err := s.Recall(ctx, ids[3]); !errors.Is(err, blob.ErrNotFound) {
		t.Error(err)
	}
	ids = append(ids, add(t, s, outputs("the zq47y11 needle")[3])...)
	s.Close()

	if err := os.RemoveAll(file + ".blobs"); err != nil {
		t.Fatal(err)
	}
	f, err := jsonl.Open(ctx, file, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err = clew.OpenFile(ctx, f, clew.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if found := look(s); found.Total != 0 || found.Partial == 0 {
		t.Errorf("without its output: %+v", found)
	}
	if r, err := s.RecallText(ctx, ids[4], clew.RecallOptions{}); err != nil || !r.Excerpt || !strings.Contains(r.Text, "first line") {
		t.Error(r, err)
	}
}

// TestRecallHandles: what a handle may look like, and what is said of one that names nothing,
// too much, or no range.
func TestRecallHandles(t *testing.T) {
	ctx := context.Background()
	cfg := clew.Config{}
	next := []string{"1a2b3c4d00000001", "1a2b3c4d00000002", "5e6f000000000003", "with..dots", "7777000000000005", "8888000000000006", "9999000000000007", "aaaa000000000008"}
	cfg.NewID = func() string { id := next[0]; next = next[1:]; return id }
	cfg.Clock = fixed(clew.Config{}).Clock
	cfg.NewID, next = func() string { id := next[0]; next = next[1:]; return id }, append([]string{"header"}, next...)
	s, err := clew.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := add(t, s, message.User("one", start), message.Assistant(start, message.TextBlock("two")), message.User("three", start), message.Assistant(start, message.TextBlock("four")))
	if err := s.Navigate(ctx, ids[0], "elsewhere"); err != nil {
		t.Fatal(err)
	}
	branch := add(t, s, message.User("five", start))
	for handle, want := range map[string]string{
		ids[0]: "one", "#" + ids[1]: "two", "[#" + ids[1] + "]": "two", " [#5e6f, replaced] ": "three", "#5e6f00": "three",
		"with..dots": "four", "#1a2b3c4d": "one", // the other one is not on the path
		"5e6f..with..dots": "", branch[0]: "five",
	} {
		m, err := s.Recall(ctx, handle)
		if want == "" {
			if !errors.Is(err, clew.ErrNotFound) {
				t.Errorf("%q: %v", handle, err)
			}
			continue
		}
		if err != nil || m.Text() != want {
			t.Errorf("%q: %v", handle, err)
		}
	}
	for handle, want := range map[string]string{
		"1a2b3c4d00000001..5e6f":  "[#1a2b3c4d00000001 user]\none\n\n[#1a2b3c4d00000002 assistant]\ntwo\n\n[#5e6f000000000003 user]\nthree\n\n",
		"[#1a2b3c4d..8888]":       "[#1a2b3c4d00000001 user]\none\n\n[#8888000000000006 user]\nfive\n\n",
		"..1a2b3c4d00000002":      "[#1a2b3c4d00000001 user]\none\n\n[#1a2b3c4d00000002 assistant]\ntwo\n\n",
		"1a2b3c4d00000001..":      "[#1a2b3c4d00000001 user]\none\n\n[#8888000000000006 user]\nfive\n\n",
		"..":                      "[#1a2b3c4d00000001 user]\none\n\n[#8888000000000006 user]\nfive\n\n",
		"8888000000000006..8888":  "[#8888000000000006 user]\nfive\n\n",
		" #1a2b3c4d .. #7777 ":    "[#1a2b3c4d00000001 user]\none\n\n",
		"7777..8888000000000006 ": "[#8888000000000006 user]\nfive\n\n",
	} {
		if got := pages(t, s, handle, false, 7); got != want {
			t.Errorf("%q: %q, want %q", handle, got, want)
		}
	}
	for handle, want := range map[string]string{
		"":             "empty handle",
		"[#]":          "empty handle",
		"nix":          "no such entry; a search by words",
		"5e6f..1a2b3c": "is not on the path to", // the wrong way round
		"8888..5e6f":   "is not on the path to",
		"nix..5e6f":    "nix: no such entry",
	} {
		_, err := s.RecallText(ctx, handle, clew.RecallOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", handle, err, want)
		}
	}
	if err := s.Navigate(ctx, "", "before all"); err != nil {
		t.Fatal(err)
	}
	ambiguous := (*recall.AmbiguousError)(nil)
	_, err = s.Recall(ctx, "#1a2b3c4d")
	if !errors.As(err, &ambiguous) || ambiguous.Count != 2 || !strings.Contains(err.Error(), "1a2b3c4d00000001, 1a2b3c4d00000002") {
		t.Error(err)
	}
	if _, err := s.RecallText(ctx, ids[0], clew.RecallOptions{Offset: -1}); err == nil {
		t.Error("a negative offset")
	}
}

// TestRecallToolArguments: what a model may write, and what it is told.
func TestRecallToolArguments(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{})
	id := add(t, s, message.User("the port is 54329, "+strings.Repeat("and so on ", 2000), start))[0]
	for args, want := range map[string]string{
		`{"id":"` + id + `"}`: "[recalled #" + id + " user: characters 0 to 8000 of 20019; go on with offset 8000]\nthe port is 54329",
		`{"id":"#` + id[:6] + `","offset":"20010","limit":5}`:   "characters 20010 to 20015 of 20019; go on with offset 20015]\n",
		`{"id":"` + id + `","limit":null,"offset":4,"extra":1}`: "characters 4 to 8004",
		`{"id":"` + id + `","raw":"true","limit":20}`:           `]` + "\n" + `{"role":"user","cont`,
		` {"query":"port"} `:                    "[recalled search: 1 found; give an id to read the whole]\n#" + id + " user, turn 1, at character 0 of 20019\n  the port is 54329",
		`{"query":"nothing of it","left":true}`: "[recalled search: 0 found; no entry has: nothing]\n",
		`{"query":"port","role":"assistant"}`:   "0 found",
		`{"role":"user"}`:                       "1 found",
	} {
		got, err := s.RecallTool(ctx, []byte(args))
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %.200q, %v; want %q", args, got, err, want)
		}
	}
	for args, want := range map[string]string{
		``: "no JSON object", `[]`: "no JSON object", `{"id":`: "no JSON object", `{}x`: "no JSON object",
		`{}`: "nothing to look for", `{"id":""}`: "nothing to look for",
		`{"id":5}`: "id: the argument is no string", `{"id":"x","offset":-1}`: "offset: the argument is no whole number",
		`{"id":"x","limit":"many"}`: "limit: the argument is no whole number", `{"id":"x","raw":2}`: "raw: the argument is no true or false",
		`{"query":"x","all":"perhaps"}`: "all: the argument is no true or false", `{"query":"x","all":true,"left":true}`: "call it again with one of them",
		`{"query":"x","role":"dog"}`: "no role of a message", `{"query":",."}`: "nothing to look for",
		`{"id":"nix"}`: "no such entry", `{"id":"x","offset":1e99}`: "offset",
	} {
		got, err := s.RecallTool(ctx, []byte(args))
		if err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%s: %q, %v; want %q", args, got, err, want)
		}
	}
	tool := recall.AgentTool()
	var schema struct {
		Properties map[string]struct {
			Enum []message.Role `json:"enum"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil || len(schema.Properties) != 16 {
		t.Error(err, schema)
	}
	for _, role := range schema.Properties["role"].Enum {
		if !role.Known() {
			t.Errorf("the schema names the role %s", role)
		}
	}
}

// TestRecallToolOnAllBranches: what was said on a branch that was left is not found unless it
// is asked for; the answer says how to ask, and which hits are from there.
func TestRecallToolOnAllBranches(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{})
	here := add(t, s, message.User("the port of staging is 54329", start), message.Assistant(start, message.TextBlock("ok")))
	there := add(t, s, message.User("the port is 48123 now", start), message.Assistant(start, message.TextBlock("noted")))
	if err := s.Navigate(ctx, here[1], "back"); err != nil {
		t.Fatal(err)
	}
	onHere := "#" + here[0] + " user, turn 1, at character 0 of 28\n"
	onThere := "#" + there[0] + " user, turn 2, at character 0 of 21, on a branch that was left\n"
	for args, want := range map[string]struct {
		head        string
		here, there bool
	}{
		`{"query":"port"}`:                         {`[recalled search: 1 found; 1 more on branches that were left, for "all": true; give an id to read the whole]`, true, false},
		`{"query":"port","all":false,"left":null}`: {`; 1 more on branches that were left, for "all": true;`, true, false},
		`{"query":"port","all":true}`:              {"[recalled search: 2 found; give an id to read the whole]", true, true},
		`{"query":"48123","all":"true"}`:           {"[recalled search: 1 found; give an id to read the whole]", false, true},
		`{"query":"48123"}`:                        {`[recalled search: 0 found; no entry has: 48123; 1 more on branches that were left, for "all": true]`, false, false},
	} {
		got, err := s.RecallTool(ctx, []byte(args))
		if err != nil || !strings.Contains(got, want.head) ||
			strings.Contains(got, onHere) != want.here || strings.Contains(got, onThere) != want.there {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(recall.AgentTool().Schema, &schema); err != nil || !strings.Contains(string(schema.Properties["all"]), "boolean") {
		t.Error(err, schema)
	}
}

// FuzzRecallTool: whatever the arguments are, there is an answer or an error, and nothing is
// written.
func FuzzRecallTool(f *testing.F) {
	for _, s := range []string{`{"id":"1"}`, `{"query":"a \"b\" c","limit":3}`, `{"id":"..","offset":1}`, `null`, `{"id":"[#x, replaced]","raw":true}`, `{"path":"\\","query":"` + "\xff" + `"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		s, err := clew.New(fixed(clew.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		add(t, s, message.User("a b c", start), message.Assistant(start, message.ToolCallBlock("1", "read", []byte(`{"path":"\\x"}`))))
		before := logged(t, s.Log().Store())
		answer, err := s.RecallTool(context.Background(), args)
		if (err == nil) != strings.HasPrefix(answer, "[recalled ") || err != nil && answer != "" {
			t.Fatalf("%q: %q, %v", args, answer, err)
		}
		if logged(t, s.Log().Store()) != before {
			t.Fatal("something was written")
		}
	})
}

func ExampleSession_Search() {
	ctx := context.Background()
	s, err := clew.New(clew.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	_, _ = s.Append(ctx,
		message.User("never touch schema_v2.sql", start),
		message.Assistant(start, message.TextBlock("Understood.")))
	found, err := s.Search(ctx, clew.Query{Text: "schema", Scope: clew.ScopePath})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range found.Hits {
		fmt.Printf("turn %d, %s: %s\n", h.Turn, h.Role, h.Snippet)
	}
	// Output: turn 1, user: never touch schema_v2.sql
}

// TestRecalledLeavesAgain: when an answer of the tool is taken out of the context in its turn,
// what stays of it still names the entry that the words are from.
func TestRecalledLeavesAgain(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, small(24_000))
	original := add(t, s, message.User("read it", start),
		message.Assistant(start, message.ToolCallBlock("c0", "read", []byte(`{"path":"a.log"}`))),
		message.ToolResult("c0", "read", large(30_000, "the needle"), false, start))[2]
	args, _ := json.Marshal(map[string]any{"id": "#" + original, "limit": 20_000})
	answer, err := s.RecallTool(ctx, args)
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, message.Assistant(start, message.ToolCallBlock("c1", recall.ToolName, args)), message.ToolResult("c1", recall.ToolName, answer, false, start))
	offloaded := false
	for k := 0; k < 60 && !offloaded; k++ {
		add(t, s, turn(rand.New(rand.NewPCG(uint64(k), 1)), k)...)
		for _, m := range prepare(t, s).Messages {
			if m.Role != message.RoleToolResult || m.ToolName != recall.ToolName || len(m.Text()) >= len(answer) {
				continue
			}
			offloaded = true
			if !recall.IsResult(m) || !strings.HasPrefix(m.Text(), "[recalled #"+original+" result of read: characters 0 to 20000 of") {
				t.Errorf("what stays is %.200q", m.Text())
			}
		}
	}
	if !offloaded {
		t.Error("the answer was never shortened")
	}
}

func ExampleSession_RecallTool() {
	ctx := context.Background()
	s, err := clew.New(clew.Config{NewID: func() string { return "1a2b3c4d5e6f7081" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	_, _ = s.Append(ctx, message.User("never touch schema_v2.sql", start))
	// Offer recall.AgentTool to the model; this answers a call of it.
	answer, err := s.RecallTool(ctx, []byte(`{"id": "#1a2b3c4d"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer)
	// Output:
	// [recalled #1a2b3c4d5e6f7081 user: characters 0 to 25 of 25]
	// never touch schema_v2.sql
}

// TestRecallToolStretches: a call comes with its result whichever is named, words are read
// around, a stretch is listed, several handles and a handle as a query are understood.
func TestRecallToolStretches(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{})
	long := "# First\n" + strings.Repeat("and so on ", 2000) + "\n\n# Second\nthe port is 54329\n\n# Third\n" + strings.Repeat("and so on ", 2000)
	ids := add(t, s,
		message.User("find the port", start),
		message.Assistant(start, message.TextBlock("I look."), message.ToolCallBlock("c1", "bash", []byte(`{"command":"cat notes.md"}`))),
		message.ToolResult("c1", "bash", long, false, start),
		message.Assistant(start, message.ToolCallBlock("c1", "read", []byte(`{"path":"a.go"}`))), // the id again
		message.ToolResult("c1", "read", "package a", true, start))
	for args, want := range map[string][]string{
		`{"id":"` + ids[1] + `"}`: {"[recalled #" + ids[1] + " assistant: ", "I look.\n[call bash]", "[recalled #" + ids[2] + " result of bash: characters 0 to"},
		`{"id":"` + ids[4] + `"}`: {"package a\n\n[recalled #" + ids[3] + " assistant: ", "[call read]\npath: a.go"},
		`{"id":"` + ids[1] + `","around":"port 54329","limit":300}`: {
			"the port is 54329\n", "characters before this; lines of that:\n", "  line 1, \"offset\": 0: # First\n", "[cut: ",
		},
		`{"id":"[#` + ids[0] + `], #` + ids[4] + `"}`:                        {"find the port\n\n[recalled #" + ids[4]},
		`{"query":"` + ids[0] + `"}`:                                         {"[recalled #" + ids[0] + " user: "},
		`{"from":"` + ids[0] + `","to":"` + ids[2] + `"}`:                    {"[recalled steps: 3]\n#" + ids[0], " user: find the port\n", " assistant bash(cat notes.md): I look.\n", " result bash: # First … and so on"},
		`{"id":"` + ids[3] + `","near":"1","offset":2}`:                      {"[recalled steps: 3; these are 3 to 3]\n#" + ids[4], " result read FAILED: package a\n"},
		`{"from":"` + ids[0] + `","limit":2}`:                                {"[recalled steps: 5; these are 1 to 2; go on with offset 2]\n"},
		`{"query":"port","since":"` + ids[1] + `","until":"` + ids[2] + `"}`: {"[recalled search: 1 found;", "  → #" + ids[1] + " assistant: [call bash] command: cat notes.md\n"},
	} {
		got, err := s.RecallTool(ctx, []byte(args))
		if err != nil || len(got) > 10_000 {
			t.Errorf("%s: %d bytes, %v", args, len(got), err)
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is not in %.1500q", args, w, got)
			}
		}
	}
	for args, want := range map[string]string{
		`{"id":"` + ids[0] + `","around":"zebra"}`:        ids[0] + ": none of the words stands there: zebra; read it from the beginning",
		`{"from":"` + ids[2] + `","to":"` + ids[0] + `"}`: "give the older entry first",
		`{"id":"` + ids[0] + ` nix"}`:                     "nix: no such entry",
	} {
		if got, err := s.RecallTool(ctx, []byte(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
}

// What a query may say stands in this package's documentation: an alias of an internal type would hide it.
func TestQueryIsDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "recall.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	query, ok := file.Scope.Lookup("Query").Decl.(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		t.Fatal("Query is no struct of this package")
	}
	for _, f := range query.Fields.List {
		if f.Doc == nil && f.Comment == nil {
			t.Errorf("%v has no comment", f.Names)
		}
	}
}
