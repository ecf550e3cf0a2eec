package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// shownContext spells out what the model sees at the leaf of a session.
func shownContext(t *testing.T, data []byte) string {
	t.Helper()
	ctx := context.Background()
	f, err := Read(ctx, "test", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	last, err := f.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if last == nil {
		return ""
	}
	c, err := session.ContextAt(ctx, f, last.ID)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, it := range c.Items {
		m := it.Message
		fmt.Fprintf(&b, "%s %q %q %v %q %q %d %v", m.Role, m.Summary, m.ToolCallID, m.IsError, m.Command, m.Output, m.Timestamp, m.Sections)
		for i := range m.Content {
			bl := &m.Content[i]
			args := bl.Arguments
			if bl.Type == message.BlockToolCall && !jsonx.IsObject(args) {
				args = nil // no arguments, or {} in their place
			}
			if string(args) == "{}" {
				args = nil
			}
			fmt.Fprintf(&b, " [%s %q %q %q %q %s %q %d]", bl.Type, bl.Text, bl.Signature, bl.ID, bl.Name, args, bl.MIMEType, len(bl.Data))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// repairFile repairs data and checks what must hold of every repair: the
// original is as it was, the copy has no errors, and a repair of the copy
// changes nothing.
func repairFile(t *testing.T, data []byte) (*Repaired, []byte, error) {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(in, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Repair(ctx, in, out)
	if now, rerr := os.ReadFile(in); rerr != nil || !bytes.Equal(now, data) {
		t.Fatalf("the original was changed: %v", rerr)
	}
	if err != nil {
		if _, serr := os.Stat(out); !errors.Is(serr, fs.ErrNotExist) {
			t.Fatal("a repair that failed left a file")
		}
		return nil, nil, err
	}
	fixed, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(ctx, out, Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("the copy does not open: %v", err)
	}
	defer f.Close()
	problems, err := f.Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		switch p.Code {
		case "bad-content", "crlf", "no-final-newline", "old-version", "first-kept", "torn-tail", "part-pass", "stray-value", "bom":
			t.Errorf("the copy has a problem that a repair mends: %+v", p)
		default:
			if p.Severity == session.SevError {
				t.Errorf("the copy has an error: %+v", p)
			}
		}
	}
	if offsets, _ := f.Offsets(ctx); len(offsets) != r.Entries {
		t.Errorf("the copy has %d entries, told are %d", len(offsets), r.Entries)
	}
	again := filepath.Join(dir, "again.jsonl")
	second, err := Repair(ctx, out, again)
	if err != nil {
		t.Fatal(err)
	}
	if twice, _ := os.ReadFile(again); len(second.Fixes) > 0 || !bytes.Equal(twice, fixed) {
		t.Errorf("the repair of the copy changes it: %+v", second.Fixes)
	}
	// From a stream it is the same.
	streamed := filepath.Join(dir, "streamed.jsonl")
	if _, err := RepairFrom(ctx, "stream", bytes.NewReader(data), streamed); err != nil {
		t.Fatal(err)
	}
	if same, _ := os.ReadFile(streamed); !bytes.Equal(same, fixed) {
		t.Error("from a stream the copy is another one")
	}
	return r, fixed, nil
}

// TestRepairDamaged repairs generated sessions with one to three kinds of
// damage each.
func TestRepairDamaged(t *testing.T) {
	n := uint64(80)
	if testing.Short() {
		n = 20
	}
	kinds := map[string]int{}
	codes := map[string]int{}
	headless := 0
	for seed := range n {
		opts := sessiongen.Options{Version: []int{3, 3, 3, 2, 1}[seed%5]}
		opts.Odds.Compact = 0.1
		opts.Odds.Malformed = 0.03
		whole := sessiongen.Generate(seed, opts).Bytes()
		data := whole
		var harms []string
		for i := range seed%3 + 1 {
			var harm sessiongen.Harm
			data, harm = sessiongen.Damage(seed*31+i, data)
			if strings.Contains(harm.Detail, "300000") {
				continue // as good as 20000, and slow here
			}
			harms = append(harms, harm.String())
			kinds[harm.Kind]++
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, fixed, err := repairFile(t, data)
			if err != nil {
				t.Fatalf("%q: %v", harms, err)
			}
			for _, f := range r.Fixes {
				codes[f.Code]++
				if f.Line < 1 || f.Done == "" {
					t.Errorf("a fix without a place or words: %+v", f)
				}
			}
			if _, err := Read(context.Background(), "test", bytes.NewReader(data)); err != nil {
				headless++
				return
			}
			if got, want := shownContext(t, fixed), shownContext(t, data); got != want {
				t.Errorf("%q: the context of the copy is another one\n%s\n%s", harms, firstDifference(got, want), fmt.Sprint(r.Fixes))
			}
		})
	}
	t.Logf("damages: %v\nfixes: %v\nwithout a header: %d", kinds, codes, headless)
	if len(kinds) < 18 && !testing.Short() {
		t.Errorf("only %d kinds of damage", len(kinds))
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		x, y := "nothing", "nothing"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		if x != y {
			return fmt.Sprintf("message %d: %.300s\nwas: %.300s", i, x, y)
		}
	}
	return "none"
}

// TestRepairSound shows that a sound file of version 3 is copied byte for byte.
func TestRepairSound(t *testing.T) {
	for seed := range uint64(20) {
		opts := sessiongen.Options{WellFormed: true}
		opts.Odds.Spacing = -1
		data := sessiongen.Generate(seed, opts).Bytes()
		r, fixed, err := repairFile(t, data)
		if err != nil || len(r.Fixes) > 0 || !bytes.Equal(fixed, data) {
			t.Fatalf("seed %d: %v, %+v", seed, err, r)
		}
	}
}

// TestRepairTruncated cuts a session at every byte: what is left can be repaired
// as soon as one record is in it.
func TestRepairTruncated(t *testing.T) {
	data := sessiongen.Generate(3, sessiongen.Options{Entries: 12, WellFormed: true, UserBytes: 60, AnswerBytes: 60, ResultBytes: 60}).Bytes()
	data = data[:min(len(data), 3000)]
	header := bytes.IndexByte(data, '\n')
	step := 13
	if testing.Short() {
		step = 37
	}
	for n := 0; n < len(data); n += step {
		r, fixed, err := repairFile(t, data[:n])
		switch {
		case n < header && err == nil:
			t.Fatalf("%d bytes, less than the header: %+v", n, r)
		case n >= header && err != nil:
			t.Fatalf("%d bytes: %v", n, err)
		case err == nil && !bytes.HasPrefix(data[:n], bytes.TrimSpace(fixed)):
			t.Fatalf("%d bytes: the copy is no beginning of the original", n)
		}
	}
}

// TestRepairHeader makes a header where there is none, with what can still be
// read of the old one.
func TestRepairHeader(t *testing.T) {
	header := `{"type":"session","version":3,"id":"0123-abcd","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/src/\"app\""}`
	v1 := `{"type":"session","id":"0123-abcd","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/src/\"app\""}`
	user := `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"hello"}}`
	answer := `{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:06:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}`
	old := `{"type":"message","timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"hello"}}`
	for _, tc := range []struct {
		name, data string
		want       session.Header
		entries    int
	}{
		{"missing", user + "\n" + answer + "\n", session.Header{Version: 3}, 2},
		{"missing, version 1", old + "\n" + old + "\n", session.Header{Version: 3}, 2},
		{"cut off", header[:len(header)-20] + "\n" + user + "\n", session.Header{Version: 3, ID: "0123-abcd", Cwd: ""}, 1},
		{"a letter is wrong", strings.Replace(header, "session", "sessoin", 1) + "\n" + user + "\n", session.Header{Version: 3, ID: "0123-abcd", Cwd: `/src/"app"`}, 1},
		{"a quote is missing", strings.Replace(header, `"session"`, `"session`, 1) + "\n" + user + "\n", session.Header{Version: 3, ID: "0123-abcd", Cwd: `/src/"app"`}, 1},
		{"damaged, version 1", strings.Replace(v1, `"id"`, `id"`, 1) + "\n" + old + "\n" + old + "\n", session.Header{Version: 3, Cwd: `/src/"app"`}, 2},
		{"behind the first record", user + "\n" + header + "\n" + answer + "\n", session.Header{Version: 3, ID: "0123-abcd", Cwd: `/src/"app"`}, 2},
		{"joined to a record", header[:30] + user + "\n" + answer + "\n", session.Header{Version: 3}, 2},
		{"zeros in its place", strings.Repeat("\x00", 100) + "\n" + user + "\n", session.Header{Version: 3}, 1},
		{"with a byte order mark", "\ufeff" + header[5:] + "\n" + user + "\n", session.Header{Version: 3, ID: "0123-abcd", Cwd: `/src/"app"`}, 1},
	} {
		r, fixed, err := repairFile(t, []byte(tc.data))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		h := r.Header
		if h.Version != tc.want.Version || tc.want.ID != "" && h.ID != tc.want.ID || h.ID == "" || h.Cwd != tc.want.Cwd || h.Timestamp.Year() != 2026 {
			t.Errorf("%s: the header is %s", tc.name, h.Raw())
		}
		if r.Entries != tc.entries {
			t.Errorf("%s: %d entries, want %d", tc.name, r.Entries, tc.entries)
		}
		if !strings.Contains(shownContext(t, fixed), "hello") {
			t.Errorf("%s: the context is %s", tc.name, shownContext(t, fixed))
		}
	}
}

func TestRepairRefuses(t *testing.T) {
	future := `{"type":"session","version":4,"id":"x","timestamp":"2026-01-02T03:04:05.678Z","cwd":""}` + "\n"
	for _, tc := range []struct {
		name, data string
		want       error
	}{
		{"empty", "", ErrEmpty},
		{"binary", "\x7fELF\x00\x01\x02", session.ErrNotSession},
		{"text", "Dear diary,\n", session.ErrNotSession},
		{"Claude Code", `{"type":"user","sessionId":"x","message":{"role":"user","content":"x"}}` + "\n", session.ErrNotSession},
		{"Codex", `{"timestamp":"2026-01-02T03:04:05.678Z","type":"session_meta","payload":{"id":"x","cwd":"/x"}}` + "\n", session.ErrNotSession},
		{"chat", `[{"role":"user","content":"x"}]`, session.ErrNotSession},
		{"a header and nothing more, cut off", `{"type":"session","version":3,"id":"x"`, session.ErrNotSession},
		{"a future version", future, session.ErrReadOnly},
	} {
		_, _, err := repairFile(t, []byte(tc.data))
		var rich *session.Error
		if !errors.Is(err, tc.want) || !errors.As(err, &rich) || rich.Hint == "" {
			t.Errorf("%s: %v, want %v and a hint", tc.name, err, tc.want)
		}
	}
	ctx := context.Background()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.jsonl")
	if err := os.WriteFile(in, []byte(strings.Replace(future, "4", "3", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(ctx, in, in); !errors.Is(err, fs.ErrExist) {
		t.Errorf("in place: %v", err)
	}
	if _, err := Repair(ctx, in, filepath.Join(dir, "nowhere", "out.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Repair(cancelled, in, filepath.Join(dir, "out.jsonl")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRepairKeeps shows what becomes of each kind of record that can't stay as it is.
func TestRepairKeeps(t *testing.T) {
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":""}` + "\n"
	msg := func(id, parent, content string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":%s},"extra":[1, 2]}`, id, parent, content) + "\n"
	}
	data := head +
		msg("a", "null", `"first"`) +
		msg("a", "null", `"second"`) +
		msg("a", "null", `"second"`) +
		`{"type":"message","parentId":"a","timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"no id"}}` + "\n" +
		msg("b", `"a"`, "null") +
		`{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-02T03:05:00.000Z","message":"nothing"}` + "\n" +
		`{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"x","name":"n"}]}}` + "\n" +
		`{"type":"compaction","id":"e","parentId":"d","timestamp":"2026-01-02T03:05:00.000Z","summary":"s","firstKeptEntryId":"zz","tokensBefore":1}` + "\n" +
		msg("f", `"gone"`, `"last"`) + "42\n" +
		`{"type":"message","timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"no id, and last"}}`
	r, fixed, err := repairFile(t, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shownContext(t, fixed), shownContext(t, []byte(data)); got != want {
		t.Errorf("the context is\n%s, was\n%s", got, want)
	}
	for _, want := range []string{
		`"content":"first"},"extra":[1, 2]}`, // under an id of its own
		`"content":"no id"`, `"content":[]},"extra"`,
		`{"type":"custom","id":"c"`, `"customType":"unreadable-message","data":"nothing"}`,
		`"name":"n","arguments":{}}`, `"firstKeptEntryId":"e"`, `"content":"no id, and last"`, `"customType":"clew.leaf"`,
	} {
		if !bytes.Contains(fixed, []byte(want)) {
			t.Errorf("the copy lacks %s:\n%s", want, fixed)
		}
	}
	if n := bytes.Count(fixed, []byte(`"second"`)); n != 1 {
		t.Errorf("the record that stood twice is there %d times", n)
	}
	got := map[string]int{}
	for _, f := range r.Fixes {
		got[f.Code]++
	}
	want := map[string]int{
		"duplicate-id": 2, "no-id": 3, "bad-content": 1, "bad-message": 1, "bad-arguments": 1,
		"first-kept": 1, "missing-parent": 1, "stray-value": 1, "no-final-newline": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("fixes %v, want %v", got, want)
	}
}
