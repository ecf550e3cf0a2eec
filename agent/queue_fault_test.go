package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/vfs"
)

var errDisk = errors.New("no space left on device")

func ids(items []Queued) (out []string) {
	for _, it := range items {
		out = append(out, it.ID)
	}
	return out
}

func onDisk(t *testing.T, path string) []string {
	t.Helper()
	q := box(path)
	if err := q.read(); err != nil {
		t.Fatal(err)
	}
	return ids(q.items)
}

// box is a mailbox beside a session's file.
func box(path string) *mailbox {
	tell := &events{}
	s := &status{events: tell}
	s.now.Store(&State{})
	return &mailbox{journal: &journal{events: tell, status: s}, fs: vfs.OS{}, path: clew.QueueFile(path)}
}

// TestD72QueueUnderFaults: each operation on the disk fails, alone and with all after it.
// What was accepted is in the file, what was not is not; a file is never half of one.
func TestD72QueueUnderFaults(t *testing.T) {
	t.Parallel()
	item := func(id string) Queued { return Queued{ID: id, Input: Input{Text: "text " + id}} }
	changes := map[string]struct {
		before []Queued
		do     func(q *mailbox) error
		after  []string
	}{
		"first":     {nil, func(q *mailbox) error { return q.add(item("a")) }, []string{"a"}},
		"second":    {[]Queued{item("a")}, func(q *mailbox) error { return q.add(item("b")) }, []string{"a", "b"}},
		"take one":  {[]Queued{item("a"), item("b")}, func(q *mailbox) error { _, err := q.take("a"); return err }, []string{"b"}},
		"take last": {[]Queued{item("a")}, func(q *mailbox) error { _, err := q.take("a"); return err }, nil},
		"deliver":   {[]Queued{item("a"), item("b")}, func(q *mailbox) error { q.delivered(); q.settle(); return nil }, []string{"b"}},
		"last":      {[]Queued{item("a")}, func(q *mailbox) error { q.delivered(); q.settle(); return nil }, nil},
	}
	for name, c := range changes {
		for _, dead := range []bool{false, true} {
			for n := 1; ; n++ {
				path := filepath.Join(t.TempDir(), "s.jsonl")
				q := box(path)
				if err := q.set("", c.before); err != nil {
					t.Fatal(err)
				}
				failed := ""
				q.fs = &vfs.Fault{FS: vfs.OS{}, At: func(k int, op, _ string) (int, error) {
					if k == n || dead && k > n {
						if failed == "" {
							failed = op
						}
						return 3, errDisk
					}
					return 0, nil
				}}
				err := c.do(q)
				if failed == "" {
					if err != nil || !slices.Equal(onDisk(t, path), c.after) {
						t.Errorf("%s: %v, %v", name, err, onDisk(t, path))
					}
					break
				}
				before, disk := ids(c.before), onDisk(t, path)
				switch delivery := name == "deliver" || name == "last"; {
				case delivery && !slices.Equal(ids(q.items), c.after):
					t.Errorf("%s, %s %d fails: %v would be delivered again", name, failed, n, ids(q.items))
				case !delivery && err != nil && !slices.Equal(ids(q.items), before), !delivery && err == nil && !slices.Equal(ids(q.items), c.after):
					t.Errorf("%s, %s %d fails: %v, and %v wait", name, failed, n, err, ids(q.items))
				case !slices.Equal(disk, before) && !slices.Equal(disk, c.after):
					t.Errorf("%s, %s %d fails: the file has %v", name, failed, n, disk)
				case !dead && !slices.Equal(disk, ids(q.items)) && !delivery:
					t.Errorf("%s, %s %d fails: the file has %v, and %v wait", name, failed, n, disk, ids(q.items))
				}
			}
		}
	}
}

// TestQueueFileThatIsNotOurs: it is refused, with a word on what to do, and stays as it is.
func TestQueueFileThatIsNotOurs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[", "[1]", `[{"id":"a","text":"x"}] more`,
		`[{"id":"a","text":"x","attachments":["of a later version"]}]`,
		`[{"text":"without an id"}]`, `[{"id":"a","text":"x"},{"id":"a","text":"y"}]`,
		`[{"id":"a"}]`, `[{"id":"a","text":"x","when":"tomorrow"}]`,
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(clew.QueueFile(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		q := box(path)
		err := q.read()
		var e *Error
		if !errors.As(err, &e) || e.Hint == "" || e.Subject != clew.QueueFile(path) {
			t.Errorf("%q: %+v, %v", text, q, err)
		}
		if got, err := os.ReadFile(clew.QueueFile(path)); err != nil || string(got) != text {
			t.Errorf("%q has become %q, %v", text, got, err)
		}
	}
}

// TestEventQueueOfAReceiverThatIsBehind: the pieces that wait are joined, and not into one that
// is copied with each.
func TestEventQueueOfAReceiverThatIsBehind(t *testing.T) {
	t.Parallel()
	q := NewEventQueue()
	a := &events{to: q.Send, clock: time.Now}
	const pieces, size = 10_000, 100
	piece := string(make([]byte, size))
	for range pieces {
		a.send(Event{Kind: KindDelta, Part: PartText, Text: piece})
	}
	for _, e := range []Event{
		{Kind: KindDelta, Part: PartText, Block: 1, Text: "y"},
		{Kind: KindState},
		{Kind: KindState},
		{Kind: KindToolOutput, Tool: &ToolCall{ID: "a"}, Text: "1"},
		{Kind: KindToolOutput, Tool: &ToolCall{ID: "b"}, Text: "2"},
		{Kind: KindClosed},
		{Kind: KindWarning},
	} {
		a.send(e)
	}
	all, longest, waiting, last := 0, 0, 0, int64(0)
	q.Each(t.Context(), func(e Event) {
		all += len(e.Text)
		longest = max(longest, len(e.Text))
		if waiting++; e.Seq <= last {
			t.Errorf("%d comes after %d", e.Seq, last)
		}
		last = e.Seq
	})
	if all != pieces*size+3 || longest > maxJoined+size || waiting > 2*pieces*size/maxJoined || last != pieces+6 {
		t.Errorf("%d bytes came, the longest event had %d, %d waited, the last is %d", all, longest, waiting, last)
	}
	select {
	case <-q.Ready():
		t.Error("it is ready, and nothing waits")
	default:
	}
}

// TestEventQueueOfACommandThatPrintsWithoutEnd: while nobody reads, the newest output waits, and says that some is left out.
func TestEventQueueOfACommandThatPrintsWithoutEnd(t *testing.T) {
	t.Parallel()
	q := NewEventQueue()
	call := &ToolCall{ID: "a"}
	q.Send(Event{Kind: KindToolStart, Tool: call})
	line := strings.Repeat("y\n", 10_000)
	for range 1000 {
		q.Send(Event{Kind: KindToolOutput, Tool: call, Text: line})
	}
	q.Send(Event{Kind: KindToolOutput, Tool: call, Text: "the last"})
	q.Send(Event{Kind: KindToolEnd, Tool: call})
	var text strings.Builder
	events := q.Take()
	for _, e := range events {
		text.WriteString(e.Text)
	}
	n := len(events)
	if text.Len() > maxOutput || text.Len() < maxOutput/4 || n > 100 || events[0].Kind != KindToolStart || events[n-1].Kind != KindToolEnd ||
		strings.Count(text.String(), leftOut) != 1 || events[1].Text != leftOut || !strings.HasSuffix(text.String(), "the last") {
		t.Errorf("%d events with %d bytes wait, the second is %.60q", n, text.Len(), events[1].Text)
	}
	if q.Send(Event{Kind: KindToolOutput, Tool: call, Text: line}); len(q.Take()) != 1 || q.output != 0 {
		t.Errorf("%d bytes wait of none", q.output)
	}
}
