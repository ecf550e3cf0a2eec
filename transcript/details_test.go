package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
)

func source(t *testing.T, name string) []byte {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "read", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return a.Files[0].Data
}

func read(t *testing.T, data string, opt transcript.ReadOptions) *transcript.Transcript {
	t.Helper()
	tr, err := transcript.Read(strings.NewReader(data), opt)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// What a compaction of Codex kept stands behind it as copies, which name what they
// copy and have no usage; an encrypted summary is not given out as one.
func TestCodexCopies(t *testing.T) {
	usage := `{"timestamp":"2026-01-05T15:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1},"last_token_usage":{"input_tokens":90000,"output_tokens":10}}}}` + "\n"
	data := string(source(t, "codex_compacted"))
	at := strings.Index(data, `{"timestamp":"2026-01-05T15:00:04Z"`)
	tr := read(t, data[:at]+usage+data[at:], transcript.ReadOptions{})
	byID := map[string]*session.Entry{}
	copies, usages := 0, 0
	for _, e := range tr.Entries {
		byID[e.ID] = e
		m, err := e.Message()
		if e.Type != session.TypeMessage || err != nil {
			continue
		}
		if m.Usage != nil && m.Usage.Total() > 0 {
			usages++
		}
		if of := e.CopyOf(); of != "" {
			copies++
			original, err := byID[of].Message()
			if err != nil || original.Role != m.Role || original.Text() != m.Text() {
				t.Errorf("%s is no copy of %s", e.ID, of)
			}
		}
	}
	if copies != 4 || usages != 1 {
		t.Errorf("%d copies and %d usages, want 4 and 1", copies, usages)
	}
	if len(tr.Rewrites) != 2 || tr.Rewrites[0].TokensBefore != 90_010 || tr.Rewrites[0].Summary == "" || tr.Rewrites[0].Encrypted || tr.Rewrites[1].Summary != "" || !tr.Rewrites[1].Encrypted {
		t.Errorf("%+v", tr.Rewrites)
	}
}

// A rollout that is read and written whole is the same conversation: reasoning that
// nothing follows, ids and phases of texts, calls that are no functions, what a
// compaction kept, and the item of an encrypted one.
func TestCodexAgain(t *testing.T) {
	for _, name := range []string{"codex_items", "codex_compacted"} {
		data := string(source(t, name)) +
			`{"timestamp":"2026-01-05T15:00:09Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"last"}]}}` + "\n" +
			`{"timestamp":"2026-01-05T15:00:09Z","type":"response_item","payload":{"type":"message","role":"assistant","id":"msg_9","phase":"final_answer","content":[{"type":"output_text","text":"Done."}]}}` + "\n" +
			`{"timestamp":"2026-01-05T15:00:09Z","type":"response_item","payload":{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"gZ"}}` + "\n"
		first := read(t, data, transcript.ReadOptions{})
		written, w := write(t, first.Store(), transcript.Codex, transcript.WriteOptions{Full: true})
		second := read(t, string(written), transcript.ReadOptions{})
		got, want := said(t, second), said(t, first)
		// wire joins the texts of an output, and settles the call that was never answered.
		got = strings.ReplaceAll(got, "\"done\\n[image", "\"done\" \"[image")
		got = strings.ReplaceAll(got, "toolResult of wait call_4 \"[interrupted] This call has no result: it was stopped before it ended, or its result was lost.\"\n", "")
		if failed := strings.Count(want, " failed "); failed > 0 && (w.Report.Find("is-error") == nil || w.Report.Find("is-error").Count != failed) {
			t.Errorf("%s: %d results are errors: %v", name, failed, w.Report.Notes)
		}
		if want = strings.ReplaceAll(want, " failed ", " "); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s\nfrom\n%s", name, got, want, written)
		}
		if w.Report.Find("thinking") != nil {
			t.Errorf("%s: %v", name, w.Report.Notes)
		}
	}
}

// said lists what a transcript says, without times and places.
func said(t *testing.T, tr *transcript.Transcript) string {
	t.Helper()
	var w strings.Builder
	number := map[string]int{}
	for i, e := range tr.Entries {
		number[e.ID] = i + 1
		listEntry(&w, e, number)
		w.WriteByte('\n')
	}
	return w.String()
}

// The same file gives the same bytes, and the same session the same file.
func TestSameBytes(t *testing.T) {
	for name, data := range sources(t) {
		first, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{})
		if err != nil {
			continue
		}
		second := read(t, string(data), transcript.ReadOptions{})
		if !bytes.Equal(first.Header.JSON(), second.Header.JSON()) {
			t.Errorf("%s: other headers\n%s\n%s", name, first.Header.JSON(), second.Header.JSON())
		}
		for i := range first.Entries {
			if !bytes.Equal(first.Entries[i].Raw(), second.Entries[i].Raw()) {
				t.Errorf("%s: other entries\n%s\n%s", name, first.Entries[i].Raw(), second.Entries[i].Raw())
			}
		}
		for _, f := range writable {
			var a, b bytes.Buffer
			_, err1 := transcript.Write(context.Background(), &a, first.Store(), f, transcript.WriteOptions{})
			_, err2 := transcript.Write(context.Background(), &b, second.Store(), f, transcript.WriteOptions{})
			if (err1 == nil) != (err2 == nil) || !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s as %s: other bytes", name, f)
			}
		}
	}
}

// conversation makes a session of messages.
func conversation(t *testing.T, msgs ...*message.Message) *session.Memory {
	t.Helper()
	c := testchat.New()
	for _, m := range msgs {
		c.Add(m)
	}
	var entries []*session.Entry
	parent := ""
	for _, it := range c.Items() {
		entries = append(entries, it.Entry.WithIdentity(it.Entry.ID, parent))
		parent = it.Entry.ID
	}
	return session.NewMemory(session.Header{ID: "s", Timestamp: testchat.Start, Cwd: "/work"}, entries...)
}

func answer(api, provider, model string, blocks ...message.Block) *message.Message {
	m := message.Assistant(testchat.Start, blocks...)
	m.API, m.Provider, m.Model, m.StopReason = api, provider, model, message.StopEnd
	return m
}

// A log has what every model of its maker thought, and nothing of another maker's.
func TestOtherMaker(t *testing.T) {
	s := conversation(
		t,
		message.User("one", testchat.Start),
		answer("anthropic-messages", "anthropic", "claude-a", message.ThinkingBlock("first thought", "c2lnMQ=="), message.TextBlock("1")),
		message.User("two", testchat.Start),
		answer("openai-responses", "openai", "gpt-x", message.ThinkingBlock("second thought", `{"type":"reasoning","id":"rs_1","summary":[]}`), message.TextBlock("2")),
		message.User("three", testchat.Start),
		answer("anthropic-messages", "anthropic", "claude-b", message.ThinkingBlock("third thought", "c2lnMw=="), message.TextBlock("3")),
	)
	for f, want := range map[transcript.Format]string{
		transcript.ClaudeCode: "c2lnMQ== c2lnMw==",
		transcript.Anthropic:  "c2lnMw==", // a request goes to one model
		transcript.Codex:      "rs_1",
	} {
		data, w := write(t, s, f, transcript.WriteOptions{})
		for _, mark := range []string{"c2lnMQ==", "rs_1", "c2lnMw=="} {
			if strings.Contains(string(data), mark) != strings.Contains(want, mark) {
				t.Errorf("%s: %s is in it: %v\n%s", f, mark, strings.Contains(string(data), mark), data)
			}
		}
		if w.Report.Find("thinking") == nil {
			t.Errorf("%s: nothing is said of the thinking that was left out", f)
		}
	}
}

// What package wire says itself is told from the user's words again.
func TestWordsOfWire(t *testing.T) {
	s := conversation(
		t,
		answer("anthropic-messages", "anthropic", "claude-a", message.ThinkingBlock("hm", "c2ln"), message.TextBlock("I begin.")),
		answer("anthropic-messages", "anthropic", "claude-a", message.ThinkingBlock("hm", "c2ln"), message.TextBlock("I go on.")),
		message.User("typed", testchat.Start),
		message.System("changed", testchat.Start),
	)
	data, _ := write(t, s, transcript.Anthropic, transcript.WriteOptions{})
	tr := read(t, string(data), transcript.ReadOptions{})
	var words, put []string
	for _, m := range contextOf(t, tr.Store()) {
		if m.Role == message.RoleUser {
			if m.UserWords() {
				words = append(words, m.Text())
			} else {
				put = append(put, m.Text())
			}
		}
	}
	if strings.Join(words, ",") != "typed" || len(put) != 3 {
		t.Errorf("the user's words %q, put in %q", words, put)
	}
}

// What is nothing but a report of a program was typed by nobody, whatever program it is.
func TestReportsAreNotTyped(t *testing.T) {
	for text, typed := range map[string]bool{
		"<ci-monitor-event>PR 12 has 3 new comments:\n- <b>a</b></ci-monitor-event>": false,
		"\n<build_status id=\"7\">red</build_status>\n":                              false,
		"<deploy-event>a</deploy-event>\n<deploy-event>b</deploy-event>":             false,
		"<ci-monitor-event>PR 12</ci-monitor-event> Look at that.":                   true,
		"Look: <ci-monitor-event>PR 12</ci-monitor-event>":                           true,
		"<task-description>Mend the import.</task-description>":                      true,
		"<event>Mend the import.</event>":                                            true,
		"<ci-monitor-event>PR 12":                                                    true, "<>": true, "<": true, "</-event>": true, "<-event></-event>": true,
	} {
		if transcript.Typed(text) != typed {
			t.Errorf("%q: typed %v", text, !typed)
		}
		for _, source := range []string{
			`{"parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":%s},"uuid":"u1","timestamp":"2026-02-03T04:05:06.000Z"}`,
			`[{"role":"user","content":%s}]`,
		} {
			quoted, _ := json.Marshal(text)
			tr := read(t, fmt.Sprintf(source, quoted), transcript.ReadOptions{})
			if m, err := tr.Entries[len(tr.Entries)-1].Message(); err != nil || m.UserWords() != typed {
				t.Errorf("%s, %q: %+v, %v", tr.Format, text, m, err)
			}
		}
	}
}

// Times that a source does not have stay unknown in messages; entries have the time
// that was given.
func TestTimes(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	tr := read(t, `[{"role":"user","content":"hello"}]`, transcript.ReadOptions{Time: at})
	m, err := tr.Entries[0].Message()
	if err != nil || m.Timestamp != 0 || !tr.Entries[0].Time().Equal(at) || !tr.Header.Timestamp.Equal(at) {
		t.Errorf("message %d, entry %v, header %v (%v)", m.Timestamp, tr.Entries[0].Time(), tr.Header.Timestamp, err)
	}
}

// Each format has a row in the documentation, and what it says of writing is true.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/transcripts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range transcript.Formats() {
		row := "| `" + string(f) + "` | yes | "
		if f.Writable() {
			row += "yes | "
		} else {
			row += "| "
		}
		if !bytes.Contains(page, []byte("\n"+row)) {
			t.Errorf("docs/transcripts.md has no row %q", row)
		}
	}
}

// The whole path to an entry in the middle of a pass is a session without that pass's
// mark: with it the records would count as torn.
func TestPartOfAPass(t *testing.T) {
	ctx := context.Background()
	s := conversation(t, message.User("one", testchat.Start), message.User("two", testchat.Start))
	log, err := session.NewLog(ctx, s, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	leaf := log.Leaf()
	edit := func(text string) session.Draft {
		return session.NewContextEdit(session.ContextEdit{TargetID: leaf, Content: message.EncodeBlocks([]message.Block{message.TextBlock(text)})})
	}
	pass, err := log.AppendPass(ctx, leaf, session.PassInfo{Reason: "manual"}, edit("first"), edit("second"))
	if err != nil || len(pass) != 3 {
		t.Fatal(pass, err)
	}
	for i, want := range []string{"two", "first", "second"} {
		data, w := write(t, s, transcript.Pi, transcript.WriteOptions{Full: true, Leaf: pass[i].ID})
		f, err := jsonl.Read(ctx, "session", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		msgs := contextOf(t, f)
		if len(f.Problems()) > 0 || msgs[1].Text() != want {
			t.Errorf("to entry %d of the pass: %q, want %q, %v %v", i, msgs[1].Text(), want, f.Problems(), w.Report.Notes)
		}
		if marked := strings.Contains(string(data), session.CustomPass); marked != (i == 2) {
			t.Errorf("to entry %d of the pass: the mark is there: %v", i, marked)
		}
	}
}
