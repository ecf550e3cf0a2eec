package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

var writable = []transcript.Format{
	transcript.Pi, transcript.ClaudeCode, transcript.Codex, transcript.GeminiCLI, transcript.OpenCode,
	transcript.OpenAIChat, transcript.OpenAIResponses, transcript.Anthropic,
}

// logs are formats that hold what every model thought, and but for Codex no system text.
var logs = []transcript.Format{transcript.ClaudeCode, transcript.Codex, transcript.GeminiCLI, transcript.OpenCode}

func profileOf(f transcript.Format) wire.Profile {
	switch f {
	case transcript.Codex, transcript.OpenAIResponses:
		return wire.OpenAIResponses
	case transcript.OpenAIChat:
		return wire.OpenAIChat
	case transcript.GeminiCLI:
		return wire.Gemini
	default:
		return wire.Anthropic
	}
}

func contextOf(t testing.TB, s session.Store) []*message.Message {
	t.Helper()
	ctx := context.Background()
	last, err := s.Last(ctx)
	if err != nil || last == nil {
		t.Fatal(err)
	}
	c, err := session.ContextAt(ctx, s, last.ID)
	if err != nil {
		t.Fatal(err)
	}
	var msgs []*message.Message
	for _, it := range c.Items {
		msgs = append(msgs, it.Message)
	}
	return msgs
}

func generated(t testing.TB, seed uint64, opts sessiongen.Options) *transcript.Transcript {
	t.Helper()
	s := sessiongen.Generate(seed, opts)
	tr, err := transcript.Read(bytes.NewReader(s.Bytes()), transcript.ReadOptions{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return tr
}

func write(t testing.TB, s session.Store, f transcript.Format, opt transcript.WriteOptions) ([]byte, *transcript.Written) {
	t.Helper()
	var buf bytes.Buffer
	w, err := transcript.Write(context.Background(), &buf, s, f, opt)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return buf.Bytes(), w
}

// sent is the request that a context makes, for the model of its last answer. Logs
// hold what every model thought, so of those it is the request without thinking.
func sent(t testing.TB, msgs []*message.Message, f transcript.Format, without ...string) []byte {
	t.Helper()
	p := profileOf(f)
	target := wire.Target{TakesImages: true}
	for _, m := range msgs {
		if m.Role == message.RoleAssistant && m.Model != "" && !slices.Contains(logs, f) {
			target.Provider, target.Model = m.Provider, m.Model
		}
	}
	if f == transcript.OpenCode {
		msgs = oneText(msgs)
	}
	req, _, err := wire.Build(msgs, p, target, wire.Options{CloseOpenCalls: true})
	if err != nil {
		t.Fatal(err)
	}
	if f != transcript.Codex && slices.Contains(logs, f) || slices.Contains(without, "system") {
		req.System, req.Tools = nil, nil
	}
	if f == transcript.Codex {
		req.Tools = nil
	}
	return canonical(t, req.Body(p, nil))
}

// oneText gives results one text, and behind it images, which an error has none of: all that
// opencode has a place for.
func oneText(msgs []*message.Message) (out []*message.Message) {
	for _, m := range msgs {
		if m.Role == message.RoleToolResult {
			var texts []string
			var images []message.Block
			for _, b := range m.Content {
				switch {
				case b.Type == message.BlockText && !b.Blank():
					texts = append(texts, b.Text)
				case b.Type == message.BlockImage:
					images = append(images, b)
				}
			}
			if m.IsError {
				images = nil
			}
			one := *m
			one.Content = append([]message.Block{message.TextBlock(strings.Join(texts, "\n"))}, images...)
			m = &one
		}
		out = append(out, m)
	}
	return out
}

// canonical spells JSON in one way.
func canonical(t testing.TB, raw []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a format can carry of a context comes back: the same request can be made
// of it.
func TestRoundTrip(t *testing.T) {
	for seed := range seeds(80) {
		tr := generated(t, seed, sessiongen.Options{WellFormed: true})
		before := contextOf(t, tr.Store())
		if len(before) == 0 {
			continue
		}
		for _, f := range writable {
			t.Run(fmt.Sprintf("%d/%s", seed, f), func(t *testing.T) {
				data, _ := write(t, tr.Store(), f, transcript.WriteOptions{})
				again, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{})
				if err != nil {
					t.Fatalf("%v\n%.2000s", err, data)
				}
				if again.Format == transcript.OpenAIChat && f == transcript.Anthropic {
					// Nothing in it is of one API alone; then it can be said which it is.
					if again, err = transcript.Read(bytes.NewReader(data), transcript.ReadOptions{Format: f}); err != nil {
						t.Fatal(err)
					}
				}
				if again.Format != f {
					t.Fatalf("written as %s and taken for %s: %s", f, again.Format, again.Why)
				}
				got, want := sent(t, contextOf(t, again.Store()), f), sent(t, before, f)
				if !bytes.Equal(got, want) {
					t.Errorf("the request is another one\n%s", firstDifference(got, want))
				}
			})
		}
	}
}

func firstDifference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("at %d\ngot  ...%s\nwant ...%s", i, got[from:min(len(got), i+200)], want[from:min(len(want), i+200)])
}

// The whole path comes back with its compactions: the context at its end is what
// it was. Edits and changes of the system text have no place in other logs.
func TestRoundTripFull(t *testing.T) {
	compactions := 0
	for seed := range seeds(80) {
		tr := generated(t, seed, sessiongen.Options{
			WellFormed: true,
			Odds:       sessiongen.Odds{Edit: -1, System: -1, Compact: 0.15, Root: -1},
		})
		before := contextOf(t, tr.Store())
		compactions += len(tr.Rewrites)
		for _, f := range []transcript.Format{transcript.Pi, transcript.ClaudeCode, transcript.Codex, transcript.GeminiCLI, transcript.OpenCode} {
			t.Run(fmt.Sprintf("%d/%s", seed, f), func(t *testing.T) {
				data, _ := write(t, tr.Store(), f, transcript.WriteOptions{Full: true})
				again, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{Format: f})
				if err != nil {
					t.Fatal(err)
				}
				got, want := sent(t, contextOf(t, again.Store()), f, "system"), sent(t, before, f, "system")
				if !bytes.Equal(got, want) {
					t.Errorf("the context is another one\n%s", firstDifference(got, want))
				}
			})
		}
	}
	if compactions < 130 && !underRace {
		t.Errorf("only %d compactions in all sessions", compactions)
	}
}

func decode(t testing.TB, line []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return v
}

// TestCodexResumesWithItsOwnProvider: Codex refuses a session whose provider is not set up
// there, so that of another program's session is not named.
func TestCodexResumesWithItsOwnProvider(t *testing.T) {
	for api, want := range map[string]string{"anthropic-messages": "", "openai-responses": "azure"} {
		s := session.NewMemory(session.Header{Version: session.Version, ID: "a", Timestamp: time.UnixMilli(1)})
		log, err := session.NewLog(t.Context(), s, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		answer := &message.Message{Role: message.RoleAssistant, API: api, Provider: "azure", Model: "m", Content: []message.Block{message.TextBlock("yes")}}
		if _, err := log.Append(t.Context(), session.Message(message.User("go", time.UnixMilli(1))), session.Message(answer)); err != nil {
			t.Fatal(err)
		}
		data, _ := write(t, s, transcript.Codex, transcript.WriteOptions{})
		first, _, _ := bytes.Cut(data, []byte("\n"))
		got, _ := decode(t, first)["payload"].(map[string]any)["model_provider"].(string)
		if got != want {
			t.Errorf("%s: the provider is %q, want %q", api, got, want)
		}
	}
}

// TestPiHasUsages: pi reads the usage of every answer, also of one that has none.
func TestPiHasUsages(t *testing.T) {
	e, err := session.ParseEntry([]byte(`{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Yes."}],"usage":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	data, _ := write(t, session.NewMemory(session.Header{Version: session.Version, ID: "a", Timestamp: time.UnixMilli(1)}, e), transcript.Pi, transcript.WriteOptions{})
	if !bytes.Contains(data, []byte(`"usage":{"input":0,`)) {
		t.Errorf("%s", data)
	}
}

// TestOpenCodeIDsAscend: opencode sorts by ids, which rise also where thousands have the same time.
func TestOpenCodeIDsAscend(t *testing.T) {
	s := session.NewMemory(session.Header{Version: session.Version, ID: "a", Timestamp: time.UnixMilli(1_700_000_000_000)})
	log, err := session.NewLog(t.Context(), s, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if _, err := log.Append(t.Context(), session.Message(message.User("x", time.UnixMilli(1_700_000_000_000)))); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := write(t, s, transcript.OpenCode, transcript.WriteOptions{})
	last, n := "", 0
	for _, m := range regexp.MustCompile(`"id":"(?:msg|prt)_([0-9a-f]{12})`).FindAllSubmatch(data, -1) {
		n++
		// A message's own id stands before those of its parts, and is made before them.
		if id := string(m[1]); id <= last {
			t.Fatalf("id %d: %s behind %s", n, id, last)
		} else {
			last = id
		}
	}
	if n != 6000 {
		t.Errorf("%d ids", n)
	}
}
