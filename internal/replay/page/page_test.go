package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/page"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// hostile is a name that would break out of a page that does not escape it.
const hostile = `<script>alert(1)</script>"'><img src=http://example.org/x onerror=alert(2)>`

// report plays a made-up session, long enough for points and plots.
func report(t *testing.T, name string) *replay.Report {
	t.Helper()
	ctx := context.Background()
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	n := 0
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "s", Version: 3}), session.Options{
		Clock: func() time.Time { return at },
		NewID: func() string { n++; return fmt.Sprintf("%016x", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	words := func(n, from, wide int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "the step handleCase%d reads what the table holds", from+rng.IntN(wide))
			if i%2 == 1 {
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
	var drafts []session.Draft
	drafts = append(drafts, session.Message(message.User("Mend the table. Never touch main.go", at)))
	for i := range 90 {
		args, err := json.Marshal(map[string]string{"path": fmt.Sprintf("src/f%d.go", i%13)})
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("c%d", i)
		answer := message.Assistant(at, message.TextBlock(words(8, 0, 400)), message.ToolCallBlock(id, "read", args))
		answer.Model = name
		answer.Usage = &message.Usage{Input: int64(1000 + 1100*i), Output: 100}
		drafts = append(drafts, session.Message(answer),
			session.Message(message.ToolResult(id, "read", words(60, 4*i, 9), false, at)))
	}
	if _, err := log.Append(ctx, drafts...); err != nil {
		t.Fatal(err)
	}
	path, err := log.Path(ctx)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := replay.FindPolicies([]string{"clew", "mask", "extract", "truncate", "tail"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := replay.Run(ctx, []replay.Session{{Name: "dir/" + name, Path: path}, {Name: name}}, replay.Options{
		Policies: policies, Cost: replay.CostOptions{Window: 60_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sessions[0].Points) == 0 || len(r.Costs.Sessions) == 0 {
		t.Fatalf("nothing to draw: %s", r.Sessions[0].Skipped)
	}
	return r
}

func write(t *testing.T, r *replay.Report, notes page.Notes) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r, notes); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Nothing that comes from a session can be anything but text, and nothing is
// fetched.
func TestPageIsEscapedAndAlone(t *testing.T) {
	notes := page.Notes{Unread: []replay.Note{{Path: hostile, Why: hostile}}, Damaged: []replay.Note{{Path: "x", Why: hostile}}, Passed: 3}
	html := write(t, report(t, hostile), notes)
	for _, bad := range []string{`(?i)<script`, `(?i)<(img|link|iframe|object|embed|base|form)\b`, `(?i)<[^>]*\b(src|href|action)\s*=`, `(?i)url\(`, `(?i)@import`, `<[^>]*\bon[a-z]+=`, `ZgotmplZ`} {
		if m := regexp.MustCompile(bad).FindString(html); m != "" {
			t.Errorf("%q is in the page", m)
		}
	}
	if n := strings.Count(html, "&lt;script&gt;"); n < 4 {
		t.Errorf("the name is in the page %d times as text", n)
	}
	if !strings.Contains(html, `content="default-src 'none'; style-src 'unsafe-inline'`) {
		t.Error("the page allows more than its own style")
	}
	for _, want := range []string{"<h2>Recall</h2>", "<h2>Cost</h2>", "<h2 id=\"s\">Sessions</h2>", "<h2>Not measured</h2>", "<h2>Meter</h2>", "<polyline", "<polygon"} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is not in the page", want)
		}
	}
	if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
		t.Error("a figure is no number")
	}
}

func TestPageIsTheSameEachTime(t *testing.T) {
	if a, b := write(t, report(t, "m"), page.Notes{}), write(t, report(t, "m"), page.Notes{}); a != b {
		t.Error("two pages of the same sessions differ")
	}
}

// Every element that is opened is closed, in order.
func TestPageIsWellFormed(t *testing.T) {
	html := write(t, report(t, hostile), page.Notes{Passed: 1})
	var open []string
	for _, m := range regexp.MustCompile(`<(/?)([a-zA-Z0-9]+)([^<>]*?)(/?)>`).FindAllStringSubmatch(html, -1) {
		name := strings.ToLower(m[2])
		switch {
		case m[4] != "" || name == "meta":
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %v", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
}

func TestPageOfNothing(t *testing.T) {
	r, err := replay.Run(context.Background(), nil, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if html := write(t, r, page.Notes{}); !strings.Contains(html, "0 points in 0 sessions") || strings.Contains(html, "NaN") {
		t.Error(html)
	}
}
