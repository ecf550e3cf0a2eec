package summary_test

import (
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// TestWhatPassesIsDone: the last answer of a turn that says that something passes is done where
// a command that had failed bears it out. Where nothing does, it stands in the story or in what comes next; and
// it is in progress while the turn goes on.
func TestWhatPassesIsDone(t *testing.T) {
	const says = "check.sh passes now: 288 needed, 0 missing."
	failed := func(c *testchat.Chat) {
		c.Bash("sh check.sh", "FAIL  needs cinamon\n\nCommand exited with code 1").Failed()
	}
	mended := func(c *testchat.Chat) {
		c.Call("edit", `{"path":"recipes/mains.txt","oldText":"cinamon","newText":"cinnamon"}`, "Successfully replaced text")
	}
	passed := func(c *testchat.Chat) { c.Bash("sh check.sh", "ok: 288 needed, 0 missing") }
	for _, tc := range []struct {
		name  string
		turns []func(c *testchat.Chat)
		end   string
		done  bool
	}{
		{"mended", []func(c *testchat.Chat){failed, mended, passed}, says, true},
		{"failed no less", []func(c *testchat.Chat){failed, mended}, says, false},
		{"never failed", []func(c *testchat.Chat){mended, passed}, says, false},
		{"passed, then failed", []func(c *testchat.Chat){failed, passed, failed}, says, false},
		{"without an edit", []func(c *testchat.Chat){failed, passed}, says, true},
		{"in part", []func(c *testchat.Chat){failed, mended, passed}, "check.sh passes now, but recipes/sweets.txt is still to be read.", false},
		{"earlier turn", []func(c *testchat.Chat){failed, mended, passed, func(c *testchat.Chat) { c.User("and what is in pantry.txt?") }}, "pantry.txt has what works and what passes for food.", false},
		{"goes on", []func(c *testchat.Chat){failed, mended, passed, func(c *testchat.Chat) { c.Say(says) }, func(c *testchat.Chat) { c.Bash("ls", "a") }}, "", false},
	} {
		conv := testchat.New()
		conv.User("Find out why check.sh fails.")
		for _, turn := range tc.turns {
			turn(conv)
		}
		end := tc.end
		if end != "" {
			conv.Say(end)
		} else {
			end = says
		}
		d := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 1400}).Document
		has := func(lines []summary.Line) bool {
			for _, l := range lines {
				if strings.Contains(l.Text, end) {
					return true
				}
			}
			return false
		}
		if has(d.Done) != tc.done || has(d.InProgress) != (tc.end == "") || !tc.done && tc.end != "" && !has(append(d.Story, d.Next...)) {
			t.Errorf("%s: done %+v, in progress %+v, story %+v", tc.name, d.Done, d.InProgress, d.Story)
		}
	}
}
