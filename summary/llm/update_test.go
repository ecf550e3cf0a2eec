package llm_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// A later summary is asked for with the one before it and what was said since, and with
// the words that say to bring it up to date; the first is not.
func TestUpdate(t *testing.T) {
	m := &scripted{window: 200_000, answers: []answer{{text: good}}}
	all := items(t, conversation(12))
	summarize(t, m, summary.Input{Items: all})
	first := m.asked[0].Messages[0].Text()
	for _, want := range []string{"user [#", "assistant [#", "assistant calls read [#", "result of read [#"} {
		if !strings.Contains(first, want) {
			t.Errorf("no label %q", want)
		}
	}
	before := session.Item{Message: &message.Message{Role: message.RoleCompactionSummary, Summary: "## Goal\n- the goal of the summary before\n"}, Entry: all[0].Entry}
	summarize(t, m, summary.Input{Items: append([]session.Item{before}, all[24:]...)})
	second := m.asked[1].Messages[0].Text()
	for _, part := range []string{"SUMMARY SO FAR\n", "| - the goal of the summary before", "Bring it up to date"} {
		if strings.Contains(first, part) || !strings.Contains(second, part) {
			t.Errorf("%q: in the first request %v, in the second %v", part, strings.Contains(first, part), strings.Contains(second, part))
		}
	}
	if strings.Contains(second, "step 1:") || !strings.Contains(second, "step 11:") {
		t.Error("the second request is not of what was said since")
	}
}

// The length that a summary is to have is told, in words.
func TestLengthIsTold(t *testing.T) {
	words := regexp.MustCompile(`Use at most ([0-9]+) words`)
	length := map[int64]int{}
	for _, budget := range []int64{2000, 8000} {
		m := &scripted{window: 200_000, answers: []answer{{text: good}}}
		summarize(t, m, summary.Input{Items: items(t, conversation(40)), Template: summary.Technical, Budget: budget})
		found := words.FindStringSubmatch(m.asked[0].Messages[0].Text())
		if found == nil {
			t.Fatal("no length is told")
		}
		length[budget], _ = strconv.Atoi(found[1])
	}
	// A word of this conversation is about 2.5 tokens; the user's words and the files take some of the room.
	if a, b := length[2000], length[8000]; b-a < 2000 || b > 3600 || a < 100 || a > 1000 {
		t.Errorf("%d and %d words for 2,000 and 8,000 tokens", a, b)
	}
}
