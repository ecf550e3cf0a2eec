package summary_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// recorded returns the messages of a session in pi's format, of any version, in
// file order, and its working directory.
func recorded(t *testing.T, path string) (items []session.Item, cwd string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return items, cwd
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var head struct{ Type, Cwd string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if head.Type == "session" {
			cwd = head.Cwd
		}
		e, err := session.ParseEntry(raw)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if e.ID == "" { // version 1 has no ids
			e = e.WithIdentity(fmt.Sprintf("%016x", uint64(len(items)+1)*0x9e3779b97f4a7c15), "")
		}
		if m, err := e.Message(); err == nil {
			items = append(items, session.Item{Message: m, Entry: e})
		}
	}
}

// cutAt returns how many messages stand before a tail of so many tokens.
func cutAt(items []session.Item, tail int64) int {
	cut := len(items)
	for cut > 0 && tail > 0 {
		cut--
		tail -= thirds{}.Message(items[cut].Message)
	}
	for cut > 0 && items[cut].Message.Role == message.RoleToolResult {
		cut--
	}
	return cut
}

// Real sessions, whole but for the last 20,000 tokens, in 4,000 tokens.
func TestRecordedSessions(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CLEW_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
		if _, err := os.Stat(dir); err != nil {
			t.Skip("no corpus: set CLEW_CORPUS")
		}
	}
	real, err := filepath.Glob(filepath.Join(dir, "sessions", "pi", "*.jsonl"))
	if err != nil || len(real) == 0 {
		t.Fatalf("no sessions of pi in the corpus: %v", err)
	}
	if testing.Short() {
		real = real[max(0, len(real)-2):] // those before are larger
	}
	for _, path := range real {
		items, cwd := recorded(t, path)
		cut := cutAt(items, 20_000)
		in := summary.Input{Items: items[:cut], Kept: items[cut:], Cwd: cwd, Budget: 4000}
		out := summarize(t, in)
		name := filepath.Base(path)
		t.Logf("%s: %d messages in %d tokens, %+v", name, cut, out.Tokens, out.Coverage)
		if out.Tokens > 4000 || out.Tokens < 3800 {
			t.Errorf("%s: %d tokens of 4000", name, out.Tokens)
		}
		d := out.Document
		for part, n := range map[string]int{
			"goal": len(d.Goal), "done": len(d.Done), "story": len(d.Story),
			"context": len(d.Context), "modified": len(d.Files.Modified.Paths), "quotes": len(d.Quotes),
		} {
			if n == 0 {
				t.Errorf("%s: nothing under %s", name, part)
			}
		}
		if q := d.Quotes[len(d.Quotes)-1]; q.Text != lastUser(in.Items) {
			t.Errorf("%s: the last message is %q", name, q.Text)
		}
		if back, ok := summary.Parse(out.Text); !ok || !reflect.DeepEqual(back, d) {
			t.Errorf("%s: read back differently", name)
		}
		inQuotes := false
		for line := range strings.SplitSeq(out.Text, "\n") {
			inQuotes = strings.HasPrefix(line, "## User Messages") || inQuotes && !strings.HasPrefix(line, "## ")
			if n := utf8.RuneCountInString(line); n > 500 && !inQuotes {
				t.Errorf("%s: a line of %d characters: %.80s", name, n, line)
			}
		}
	}
	fuzzed, err := filepath.Glob(filepath.Join(dir, "pi-fuzz", "*.jsonl"))
	if err != nil || len(fuzzed) == 0 {
		t.Fatalf("no random sessions in the corpus: %v", err)
	}
	if testing.Short() || os.Getenv("CLEW_LONG") == "" {
		fuzzed = fuzzed[:min(2, len(fuzzed))]
	}
	for _, path := range fuzzed {
		items, cwd := recorded(t, path)
		out := summarize(t, summary.Input{Items: items, Cwd: cwd, Budget: 4000, ClipLast: true})
		if out.Tokens > 4000 {
			t.Errorf("%s: %d tokens", filepath.Base(path), out.Tokens)
		}
		if back, ok := summary.Parse(out.Text); !ok || !reflect.DeepEqual(back, out.Document) {
			t.Errorf("%s: read back differently", filepath.Base(path))
		}
	}
	t.Logf("%d real and %d random sessions", len(real), len(fuzzed))
}
