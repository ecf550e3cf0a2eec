package transcript_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// corpus returns the files of recorded sessions.
func corpus(t testing.TB) []string {
	t.Helper()
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "*", "*"))
	if err != nil || len(files) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there are no sessions in it: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	return files
}

func readFile(t testing.TB, path string, opt transcript.ReadOptions) *transcript.Transcript {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := transcript.Read(f, opt)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tr
}

// recorded is what the README of the corpus counts in a file. It counts the
// summary of a recorded compaction as a message, which here is a compaction entry;
// more is what else it counts and why.
type recorded struct {
	messages, calls, compactions int
	more                         int
	why                          string
	callsMore, compactionsMore   int
}

// The rows of the corpus, by a part of the file's name.
var corpusTable = map[string]recorded{
	"27767a16b6": {messages: 226, calls: 97, compactions: 1},
	"28970873c3": {messages: 118, calls: 56},
	"578c22aa62": {messages: 462, calls: 219, compactions: 2},
	"6b680d5aa3": {messages: 375, calls: 180, compactions: 1, more: -1, why: "it does not count what was said while the agent worked, which is only in the queue"},
	"995dfeea20": {messages: 136, calls: 63},
	"a64c933a42": {messages: 418, calls: 184, compactions: 1, more: -2, why: "the same"},
	"b428c63c1a": {messages: 485, calls: 225, compactions: 3},
	"d5426fa345": {messages: 262, calls: 118, compactions: 1, more: -1, why: "the same"},
	"0537ac15fb": {
		messages: 843, calls: 404, compactions: 2, more: 29, callsMore: 1,
		why: "it counts the 28 messages that the compactions kept once more, and as a call a token_count that is repeated when the session was resumed",
	},
	"4f73117b98": {messages: 114, calls: 39, callsMore: 1, why: "it counts as a call a token_count that is repeated when the session was resumed"},
	"c0d1789f7a": {messages: 106},
	"79bd194c21": {messages: 314, calls: 156, more: 1, why: "it counts the message that says how the run ended"},
	"91568b1cd3": {messages: 380, calls: 189, more: 1, why: "the same"},
	"ddd3ed552f": {messages: 291, calls: 144, more: 1, why: "the same"},
	"ponyc-4588": {messages: 102, calls: 49, more: 1, why: "it counts the observation of a recall, which told the agent nothing"},
	"ponyc-4593": {messages: 69, calls: 33, more: 1, why: "the same"},
	"5e744e3d4b": {messages: 992, calls: 471, compactions: 2},
	"ef7066638b": {messages: 1011, calls: 497, compactions: 1, more: -2, callsMore: -1, compactionsMore: -1, why: "it does not see the last line, where an answer and a compaction share a line"},
	"e33b8db2fc": {messages: 55},
	"1ff4b19d42": {messages: 26},
}

func TestCorpus(t *testing.T) {
	files := corpus(t)
	t.Logf("%d recorded sessions", len(files))
	for n, file := range files {
		if underRace && n%4 > 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			tr := readFile(t, file, transcript.ReadOptions{})
			if want := filepath.Base(filepath.Dir(file)); string(tr.Format) != want {
				t.Errorf("taken for %s (%s), and it stands in the folder %s", tr.Format, tr.Why, want)
			}
			messages, calls := 0, 0
			for _, e := range tr.Entries {
				if e.Type == session.TypeMessage && e.CopyOf() == "" {
					messages++
					if m, err := e.Message(); err != nil {
						t.Error(err)
					} else if m.Role == message.RoleAssistant && m.Usage != nil && m.Usage.Total() > 0 {
						calls++
					}
				}
			}
			t.Logf("%d entries, %d messages, %d calls with usage, %d compactions; %v", len(tr.Entries), messages, calls, len(tr.Rewrites), tr.Report.Notes)
			for name, want := range corpusTable {
				if !strings.Contains(file, name) {
					continue
				}
				if got := messages + len(tr.Rewrites) + want.more; got != want.messages {
					t.Errorf("%d messages, want %d (%s)", got, want.messages, want.why)
				}
				if got := calls + want.callsMore; got != want.calls {
					t.Errorf("%d calls, want %d (%s)", got, want.calls, want.why)
				}
				if got := len(tr.Rewrites) + want.compactionsMore; got != want.compactions {
					t.Errorf("%d compactions, want %d (%s)", got, want.compactions, want.why)
				}
			}
			if n := tr.Report.Count(transcript.Damaged); n > 0 && tr.Format != transcript.Pi {
				t.Errorf("%d damaged things: %v", n, tr.Report.Notes)
			}
			whole(t, tr)
			sendable(t, contextOf(t, tr.Store()))
		})
	}
}

// whole checks what holds of every transcript.
func whole(t testing.TB, tr *transcript.Transcript) {
	t.Helper()
	if len(tr.Lines) != len(tr.Entries) {
		t.Errorf("%d lines for %d entries", len(tr.Lines), len(tr.Entries))
	}
	seen := map[string]bool{"": true}
	for _, e := range tr.Entries {
		if !seen[e.ParentID] {
			t.Errorf("entry %s hangs under %s, which does not stand before it", e.ID, e.ParentID)
		}
		if seen[e.ID] {
			t.Errorf("the id %s stands twice", e.ID)
		}
		seen[e.ID] = true
		if e.Time().IsZero() && tr.Format != transcript.Pi {
			t.Errorf("entry %s has no time", e.ID)
		}
	}
	for _, rw := range tr.Rewrites {
		if rw.Index >= len(tr.Entries) || tr.Entries[rw.Index].ID != rw.EntryID {
			t.Errorf("a rewrite names entry %d, %s", rw.Index, rw.EntryID)
		}
	}
}

// sendable checks that every provider would take a context.
func sendable(t testing.TB, msgs []*message.Message) {
	t.Helper()
	target := wire.Target{TakesImages: true}
	for _, m := range msgs {
		if m.Role == message.RoleAssistant {
			target.Provider, target.Model = m.Provider, m.Model
		}
	}
	for _, p := range []wire.Profile{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini} {
		if _, _, err := wire.Build(msgs, p, target, wire.Options{CloseOpenCalls: true}); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// What was imported can be worked with: written to a file, opened, compacted,
// exported to every format and read again.
func TestCorpusCompactAndExport(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("it compacts every recorded session, which takes long")
	}
	ctx := context.Background()
	files := corpus(t)
	read, passes, fixed := 0, 0, 0
	for _, file := range files {
		read++
		tr := readFile(t, file, transcript.ReadOptions{})
		path := filepath.Join(t.TempDir(), "session.jsonl")
		f, err := jsonl.Create(ctx, path, session.Header{ID: tr.Header.ID, Timestamp: tr.Header.Timestamp, Cwd: tr.Header.Cwd}, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(ctx, tr.Entries, session.AppendOptions{}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		at := tr.Entries[len(tr.Entries)-1].Time().Add(time.Hour)
		s, err := clew.Open(ctx, path, clew.Config{Policy: compact.Policy{Window: 32_000}, Clock: func() time.Time { return at }})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		// An interrupted call is settled, so that the context can be sent.
		if _, err := s.CloseOpenCalls(ctx); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r, err := s.Compact(ctx, clew.CompactOptions{})
		var tooLarge *compact.FixedPartError
		switch {
		case errors.As(err, &tooLarge):
			fixed++ // the system prompt alone leaves no room in so small a window
		case err != nil:
			t.Errorf("%s: %v", filepath.Base(file), err)
		case len(r.Entries) > 0:
			passes++
		}
		store := s.Log().Store()
		for _, format := range writable {
			data, w := write(t, store, format, transcript.WriteOptions{})
			again, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{Format: format})
			if err != nil {
				t.Errorf("%s as %s: %v", filepath.Base(file), format, err)
				continue
			}
			whole(t, again)
			got, want := sent(t, contextOf(t, again.Store()), format), sent(t, contextOf(t, store), format)
			if !bytes.Equal(got, want) {
				t.Errorf("%s as %s is another context (%v)\n%s", filepath.Base(file), format, w.Report.Notes, firstDifference(got, want))
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d recorded sessions, %d compacted, %d with a fixed part that is too large", read, passes, fixed)
	if passes < read/2 {
		t.Errorf("only %d of %d were compacted", passes, read)
	}
}
