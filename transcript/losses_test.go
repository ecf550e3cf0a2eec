package transcript_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/transcript"
)

// counts holds what a context says.
type counts struct {
	answers, calls, results, failed, images, thinking, usage int
}

func count(msgs []*message.Message) (n counts) {
	for _, m := range msgs {
		switch m.Role {
		case message.RoleAssistant:
			n.answers++
			if m.Usage != nil && m.Usage.Total() > 0 {
				n.usage++
			}
		case message.RoleToolResult:
			n.results++
			if m.IsError {
				n.failed++
			}
		default:
		}
		for i := range m.Content {
			switch m.Content[i].Type {
			case message.BlockToolCall:
				n.calls++
			case message.BlockImage:
				n.images++
			case message.BlockThinking:
				n.thinking++
			default:
			}
		}
	}
	return n
}

// What does not come back from a format was named when it was written.
func TestLossesAreNamed(t *testing.T) {
	var all, back counts
	for seed := range seeds(60) {
		tr := generated(t, seed, sessiongen.Options{WellFormed: true, Odds: sessiongen.Odds{Thinking: 0.6}})
		before := count(contextOf(t, tr.Store()))
		for _, f := range []transcript.Format{transcript.Pi, transcript.ClaudeCode, transcript.Codex} {
			data, w := write(t, tr.Store(), f, transcript.WriteOptions{})
			again, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{Format: f})
			if err != nil {
				t.Fatal(err)
			}
			after := count(contextOf(t, again.Store()))
			named := func(kinds ...string) (n int) {
				for _, kind := range kinds {
					if note := w.Report.Find(kind); note != nil {
						n += note.Count
					}
				}
				return n
			}
			dropped := named("answer-dropped", "empty")
			check := func(what string, lost, may int) {
				if lost > may {
					t.Errorf("seed %d as %s: %d %s are gone, and the report names %d: %v", seed, f, lost, what, may, w.Report.Notes)
				}
			}
			check("answers", before.answers-after.answers, dropped)
			check("usages", before.usage-after.usage, dropped)
			check("results", before.results-after.results, named("result-of-dropped", "orphan-result", "duplicate-result"))
			check("marks of errors", before.failed-after.failed, named("is-error")+named("result-of-dropped"))
			check("images", before.images-after.images, named("image"))
			// Thinking goes with the answers that are left out.
			if dropped == 0 {
				check("thoughts", before.thinking-after.thinking, named("thinking"))
			}
			all.thinking, back.thinking = all.thinking+before.thinking, back.thinking+after.thinking
			all.images, back.images = all.images+before.images, back.images+after.images
		}
	}
	if underRace {
		return
	}
	if all.thinking < 200 || back.thinking < 100 || all.images < 50 || back.images < 50 {
		t.Errorf("too little to lose: %+v, of which %+v came back", all, back)
	}
}

// A line of 12 MB, with base64, NULs and a byte order mark around it, is read; of a
// thousand such only one is in memory at a time, beside what is kept of it.
func TestHugeLine(t *testing.T) {
	huge := strings.Repeat("QUJD", 1<<20)
	line := func(id, parent, content string) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%s,"sessionId":"s","timestamp":"2026-01-05T15:00:01Z","message":{"role":"user","content":%s}}`, id, parent, content)
	}
	data := "\xef\xbb\xbf" + line("u1", "null", `"first"`) + "\r\n\x00\x00\r\n" +
		line("u2", `"u1"`, `"`+huge+`"`) + "\r\n" +
		line("u3", `"u2"`, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+huge+`"}}]`) + "\n" +
		line("u4", `"u3"`, `"last"`)
	tr, err := transcript.Read(strings.NewReader(data), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Entries) != 4 || len(contextOf(t, tr.Store())[1].Text()) != len(huge) || contextOf(t, tr.Store())[2].Content[0].Data != huge {
		t.Errorf("%d entries, %v", len(tr.Entries), tr.Report.Notes)
	}
	if n := tr.Report.Count(transcript.Damaged); n != 0 {
		t.Errorf("damaged: %v", tr.Report.Notes)
	}
	// A line that is longer than is read costs itself alone.
	tr, err = transcript.Read(strings.NewReader(data), transcript.ReadOptions{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if note := tr.Report.Find("long-line"); note == nil || note.Count != 2 || note.Line != 3 || len(tr.Entries) != 2 {
		t.Errorf("%d entries, %v", len(tr.Entries), tr.Report.Notes)
	}
}

// What is left out of a log of lines is not kept: a file of 200 MB of progress costs
// a few.
func TestStreams(t *testing.T) {
	if underRace {
		t.Skip("the race detector needs memory of its own")
	}
	noise := `{"type":"progress","uuid":"p%d","parentUuid":null,"sessionId":"s","data":{"type":"bash_progress","output":"` + strings.Repeat("x", 1<<20) + "\"}}\n"
	r := &repeated{line: noise, left: 200, head: `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-05T15:00:01Z","message":{"role":"user","content":"first"}}` + "\n"}
	tr, err := transcript.Read(r, transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if note := tr.Report.Find("line:progress:bash_progress"); len(tr.Entries) != 1 || note == nil || note.Count != 200 {
		t.Fatalf("%d entries, %v", len(tr.Entries), tr.Report.Notes)
	}
	if r.most > 64<<20 {
		t.Errorf("%d MB were in use while it was read", r.most>>20)
	}
}

// repeated gives a head and then one line many times, and watches the memory.
type repeated struct {
	head, line string
	left       int
	buf        strings.Reader
	most       uint64
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.buf.Len() == 0 && r.head != "" {
		r.buf.Reset(r.head)
		r.head = ""
	} else if r.buf.Len() == 0 && r.left > 0 {
		r.buf.Reset(fmt.Sprintf(r.line, r.left))
		if r.left--; r.left%50 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			r.most = max(r.most, m.HeapAlloc)
		}
	}
	return r.buf.Read(p)
}

// Bad input gives one of the package's errors and says what to do.
func TestErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "no message in it: the file is empty",
		" \n\x00\n":                             "no message in it: the file is empty",
		"hello\nworld\n":                        "no known session format: no line of it is a JSON object",
		"7":                                     "no known session format: it is a JSON value that is neither an object nor an array",
		"[]":                                    "no known session format: it is an empty list",
		"\xff\xfe{\x00":                         "no known session format: it begins as UTF-16 does; convert it to UTF-8 first",
		`{"type":"session","id":"s"}`:           "no message in it: it looks like pi",
		`[{"role":"model","parts":[]}]`:         "no message in it: it looks like gemini-cli",
		`{"messages":[{"role":"user","conte`:    "no message in it: it looks like openai-chat",
		`{"trajectory_format":"x","messages":[`: "no message in it",
	} {
		_, err := transcript.Read(strings.NewReader(in), transcript.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	for _, f := range transcript.Formats() {
		if _, err := transcript.Read(strings.NewReader(`{"name":"x"}`), transcript.ReadOptions{Format: f}); err == nil {
			t.Errorf("%s: a file of another kind is read", f)
		}
	}
	if _, err := transcript.Read(strings.NewReader("{}"), transcript.ReadOptions{Format: "nonsense"}); err == nil || !strings.Contains(err.Error(), "there are pi,") {
		t.Errorf("a format that is none: %v", err)
	}
}

// Read says what a file is and why; asked for that format, it reads the same.
func TestFormatIsDetected(t *testing.T) {
	for name, data := range sources(t) {
		if name == "wrong_format.txtar" || name == "plain_list.txtar" {
			continue
		}
		tr, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{})
		if err != nil || tr.Why == "" {
			t.Errorf("%s: read as %v (%v)", name, tr, err)
			continue
		}
		again, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{Format: tr.Format})
		if err != nil || again.Format != tr.Format || len(again.Entries) != len(tr.Entries) {
			t.Errorf("%s: %q (%s), read as %v (%v)", name, tr.Format, tr.Why, again, err)
		}
	}
}

// The lines that are written for Claude Code are a chain, as it walks it back when it
// resumes: each has a uuid of its own, and the parent of the one before; a compaction
// begins a new chain and names the old one.
func TestClaudeChain(t *testing.T) {
	for seed := range seeds(20) {
		tr := generated(t, seed, sessiongen.Options{WellFormed: true, Odds: sessiongen.Odds{Compact: 0.15}})
		data, _ := write(t, tr.Store(), transcript.ClaudeCode, transcript.WriteOptions{Full: true})
		last, seen := "", map[string]bool{}
		for line := range bytes.Lines(data) {
			e := decode(t, line)
			id, _ := e["uuid"].(string)
			if id == "" || seen[id] || e["sessionId"] == "" || e["version"] == "" || e["timestamp"] == "" || e["isSidechain"] != false {
				t.Fatalf("seed %d: %s", seed, line)
			}
			seen[id] = true
			parent, _ := e["parentUuid"].(string)
			if e["subtype"] == "compact_boundary" {
				if logical, _ := e["logicalParentUuid"].(string); parent != "" || logical != last {
					t.Fatalf("seed %d: a boundary after %s: %s", seed, last, line)
				}
			} else if parent != last {
				t.Fatalf("seed %d: parent %q, want %q: %s", seed, parent, last, line)
			}
			last = id
		}
	}
}
