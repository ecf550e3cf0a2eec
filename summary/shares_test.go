package summary_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// prose is sentences without end that name things and say nothing twice.
type prose struct{ r *rand.Rand }

func (p prose) word() string {
	syllable := func() string {
		return string([]byte{"bdfgklmnprst"[p.r.IntN(12)], "aeiou"[p.r.IntN(5)]})
	}
	return syllable() + syllable() + syllable()
}

func (p prose) name() string { return p.word() + strings.ToUpper(p.word()[:1]) + p.word() }

func (p prose) sentence() string {
	return fmt.Sprintf("The %s of %s takes the %s %s from %s.", p.word(), p.name(), p.word(), p.word(), p.name())
}

func (p prose) sentences(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(p.sentence() + " ")
	}
	return strings.TrimSpace(b.String())
}

// busy is a session in which there is more to say of every kind than fits.
func busy(seed uint64, requests int) *testchat.Chat {
	p := prose{rand.New(rand.NewPCG(seed, 71))}
	conv := testchat.New()
	for i := range requests {
		conv.User(fmt.Sprintf("Request %d: %s", i, p.sentences(8)))
		for range 3 {
			conv.SayCall(p.sentence(), "read", testchat.Args("path", fmt.Sprintf("lib/%s.go", p.name())), strings.ReplaceAll(p.sentences(30), ". ", ".\n"))
		}
		conv.Say(fmt.Sprintf("Report %d: %s", i, strings.ReplaceAll(p.sentences(9), ". ", fmt.Sprintf(" in report%d. ", i))))
	}
	return conv
}

// section returns a text from a heading of the second level to the next, or to the end.
func section(s, from, to string) string {
	_, s, _ = strings.Cut("\n"+s, "\n## "+from)
	s, _, _ = strings.Cut(s, "\n## "+to)
	return s
}

// TestShares: of a text with one budget the user's words take about a quarter at most and
// the briefing less than a half, where there is more to say. Without anything else the
// user's words take more.
func TestShares(t *testing.T) {
	for seed := range cases(6) {
		conv := busy(seed, 12)
		const budget = 3000
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: budget})
		percent := func(s string) int64 { return thirds{}.Text(s) * 100 / budget }
		user := percent(section(out.Text, "User Messages", "Recall"))
		briefing := percent(section(out.Text, "Goal", "Files"))
		sources := percent(section(out.Text, "Sources", "User Messages"))
		if user < 15 || user > 26 || briefing < 20 || briefing > 46 || sources < 22 {
			t.Errorf("seed %d: the user's words take %d %%, the briefing %d %%, the sources %d %%", seed, user, briefing, sources)
		}
		talk := testchat.New()
		for _, it := range conv.Items() {
			if it.Message.UserWords() {
				talk.User(it.Message.Text())
				talk.Say("ok")
			}
		}
		out = summarize(t, summary.Input{Items: talk.Items(), Budget: budget})
		if user := percent(section(out.Text, "User Messages", "Recall")); user < 40 {
			t.Errorf("seed %d: the user's words take %d %%, and there is nothing else", seed, user)
		}
	}
}

// TestLastRequestWhole: the last message of the user is whole up to a third of the
// budget; with a budget of its own for quotes, while there is room at all.
func TestLastRequestWhole(t *testing.T) {
	p := prose{rand.New(rand.NewPCG(1, 72))}
	for _, c := range []struct {
		percent     int64 // of the budget that the message takes
		quoteBudget int64
		whole       bool
	}{
		{25, 0, true},
		{30, 0, true},
		{40, 0, false},
		{70, 0, false},
		{30, 500, true},
		{60, 500, true},
		{90, 500, true},
		{120, 500, false},
	} {
		const budget = 3000
		conv := busy(2, 6)
		var last string
		for thirds.Text(thirds{}, last) < budget*c.percent/100 {
			last += p.sentence() + " "
		}
		conv.User(strings.TrimSpace(last))
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: budget, QuoteBudget: c.quoteBudget, ClipLast: true})
		q := out.Document.Quotes[len(out.Document.Quotes)-1]
		if q.Whole() != c.whole || out.Coverage.LastClipped == c.whole || out.Tokens > budget {
			t.Errorf("%d %% of the budget, %d for quotes: whole is %v, want %v; %d tokens", c.percent, c.quoteBudget, q.Whole(), c.whole, out.Tokens)
		}
		if _, shown := q.Bytes(); shown < 300 {
			t.Errorf("%d %% of the budget, %d for quotes: %d bytes are left of the last request", c.percent, c.quoteBudget, shown)
		}
	}
}

// TestNewestHaveMoreRoom: what the agent reported on the newest requests stands there at
// greater length than what it reported on the oldest.
func TestNewestHaveMoreRoom(t *testing.T) {
	requests := strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh last")
	for seed := range cases(6) {
		p := prose{rand.New(rand.NewPCG(seed, 73))}
		conv := testchat.New()
		for _, which := range requests {
			conv.User(fmt.Sprintf("Take the %s of the %s.", p.word(), p.word()))
			var report strings.Builder
			for range 9 { // nothing that is worth more than anything else
				fmt.Fprintf(&report, "The %s %s takes its %s %s, as the %s report says. ", p.word(), p.word(), p.word(), p.word(), which)
			}
			conv.Say(report.String())
		}
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: 2500})
		var n []int
		for _, which := range requests {
			n = append(n, strings.Count(section(out.Text, "Story", "User Messages"), which+" report says"))
		}
		oldest, newest := n[0]+n[1]+n[2]+n[3], n[8]+n[9]+n[10]+n[11]
		if newest < 2*oldest || newest < 12 {
			t.Errorf("seed %d: of the reports there stand %v sentences", seed, n)
		}
	}
}
