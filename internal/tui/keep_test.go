package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/model/modeltest"
)

// DraftFile is where a draft is kept.
func (h *fakeHost) DraftFile() (string, error) { return filepath.Join(h.dir, "x", "draft"), nil }

// TestDraftIsKept: Ctrl+C twice leaves only where nothing is typed between, and what stands
// in the editor then is offered the next time.
func TestDraftIsKept(t *testing.T) {
	x := newTerm(t, nil)
	x.press("ctrl+c")
	x.typed("a draft")
	x.press("ctrl+c")
	if x.quit || x.u.quitting {
		t.Fatal("it has left with a draft")
	}
	x.update(tea.PasteMsg{Content: "pasted"})
	x.press("ctrl+c")
	if x.quit || x.u.quitting {
		t.Fatal("it has left with a paste")
	}
	x.press("up", "up")
	if got := x.u.ed.Text(); got != "a draft" {
		t.Errorf("Ctrl+C has thrown %q away", got)
	}
	if err := x.u.keepDraft(); err != nil {
		t.Fatal(err)
	}
	y := newTerm(t, func(h *fakeHost, _ *Config) { h.dir, h.files = x.h.dir, []string{"another"} })
	y.until("the draft", func() bool { return y.u.ed.Text() == "a draft" })
	if _, err := os.Stat(filepath.Join(x.h.dir, "x", "draft")); !os.IsNotExist(err) {
		t.Errorf("it would be offered again: %v", err)
	}
}

// TestOutcomesAfterResume: what was denied and cancelled is shown as such when the log is
// read again.
func TestOutcomesAfterResume(t *testing.T) {
	slow, _ := gate("look")
	x := newTerm(t, withTools(ask("bash"), slow))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Answer(modeltest.Call("b", "look", "{}")))
	x.say("push")
	x.sees("allow bash?")
	x.h.clock.add(1e9)
	x.press("n")
	x.sees("look for the gate  running")
	x.press("esc")
	x.idle()
	for range 2 {
		status := map[string]bool{}
		for _, it := range x.u.log.items {
			if it.Kind() == widget.BlockTool {
				status[strings.Join(it.Lines(x.u.theme, x.u.log.md, 80), "")] = true
			}
		}
		for line := range status {
			if !strings.Contains(line, "denied") && !strings.Contains(line, "cancelled") || len(status) != 2 {
				t.Errorf("%q", line)
			}
		}
		x.u.load()
		x.exec(x.u.flush())
		x.until("the reading", func() bool { return !x.u.loading })
	}
}

// TestOwnCommandIsSent: a command that a file defines is expanded and sent.
func TestOwnCommandIsSent(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text("Tidied."), modeltest.Text("As it is."))
	x.typed("/tid")
	x.sees("/tidy  Tidy up")
	x.press("tab")
	x.typed("the kitchen")
	x.press("enter")
	x.sees("Tidied.")
	x.say("//tidy")
	x.sees("As it is.")
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "Tidy up: the kitchen|/tidy" {
		t.Errorf("sent %q", got)
	}
}

// TestLongSessionIsReadFromItsEnd: what is shown costs what is shown; going up reads more.
func TestLongSessionIsReadFromItsEnd(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(12)
	x.u.page = 4
	x.u.load()
	x.exec(x.u.flush())
	x.until("the end", func() bool { return !x.u.loading })
	said := func() (out string) {
		for _, it := range x.u.log.items {
			out += it.Text() + "\n"
		}
		return out
	}
	if got := said(); !strings.Contains(got, "question 11") || strings.Contains(got, "question 8") {
		t.Errorf("of the last 4 entries the screen has\n%s", got)
	}
	for x.u.more {
		x.press("home")
		x.until("more", func() bool { return !x.u.loading })
	}
	if got := said(); !strings.Contains(got, "question 0") {
		t.Errorf("who goes up gets\n%s", got)
	}
}
