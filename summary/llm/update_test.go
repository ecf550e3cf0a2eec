package llm_test

import (
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

// A model is asked for the sections of the template that the summary has.
func TestAskedForTheTemplatesSections(t *testing.T) {
	for template, want := range map[*summary.Template]string{
		summary.Structured: "Goal, Constraints & Preferences, Progress, Key Decisions, Next Steps, Critical Context",
		summary.Technical:  "Technical Context, Project Overview, Debugging & Issues, Current Status, Pending Tasks, User Preferences, Key Decisions",
		summary.Brief:      "Summary, Key Points",
		summary.Notes:      "Goal, Constraints & Preferences, Progress, Key Results, Snippets, Open Questions",
	} {
		m := &scripted{window: 200_000, answers: []answer{{text: good}}}
		summarize(t, m, summary.Input{Items: items(t, conversation(12)), Template: template})
		var got []string
		for line := range strings.Lines(m.asked[0].Messages[0].Text()) {
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				got = append(got, strings.TrimSpace(heading))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("template %s: asked for %s", template.Name(), s)
		}
	}
}
