package tui

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// TestCostFits: no line is wider than the terminal from 74 columns on, and every number is there.
func TestCostFits(t *testing.T) {
	var total agent.Totals
	total.Requests, total.Input, total.Output, total.CacheRead, total.CacheWrite, total.Cost = 1234, 12_345_678, 98_765, 123_456, 654_321, 123.45
	total.ByModel = map[string]agent.ModelTotals{
		"a-provider-with-a-name/and-a-model-with-a-long-name": {Requests: 1200, Input: 12_000_000, Output: 90_000, CacheRead: 120_000, CacheWrite: 600_000, Cost: 120},
		"东西/模型": {Requests: 30, Input: 300_000, Output: 8_000, CacheRead: 3_000, CacheWrite: 4_000},
	}
	for _, width := range []int{60, 73, 74, 80, 120, 200} {
		text := costText(total, width)
		for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
			if strings.HasPrefix(l, "All branches") {
				continue // it is a sentence, and wrapped
			}
			if w := widget.Width(l); w > max(width, 74) {
				t.Errorf("%d columns: a line of %d: %q", width, w, l)
			}
		}
		for _, want := range []string{"1234", "12.35M", "98.8k", "123k", "654k", "$123.45", "1200", "$120.00", "not known", "summaries"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %s in\n%s", width, want, text)
			}
		}
	}
}

func TestPlainSummary(t *testing.T) {
	for _, c := range [][2]string{
		{"## Goal\n- find out why it fails [#4c92bdcd]\n\n## Progress\n### In Progress\n- [ ] read the log\n- [x] run it\n(none)\n1. look", "find out why it fails · read the log · run it · look"},
		{"just words", "just words"},
		{"<read-files>\na.go\n</read-files>", "a.go"},
		{"## Goal", "## Goal"},
		{"", ""},
		{"2) **bold** [#zz] stays", "**bold** [#zz] stays"},
	} {
		if got := plainSummary(c[0]); got != c[1] {
			t.Errorf("%q gives %q, want %q", c[0], got, c[1])
		}
	}
}

func TestNothing(t *testing.T) {
	for _, c := range [][2]string{
		{"", "there is nothing to compact"},
		{"the context is empty", "there is nothing to compact: the context is empty"},
		{"there is nothing old: 3 turns are kept as they are", "there is nothing old: 3 turns are kept as they are"},
		{"there is nothing to compact: all is new", "there is nothing to compact: all is new"},
	} {
		if got := nothing(c[0]); got != c[1] {
			t.Errorf("%q gives %q, want %q", c[0], got, c[1])
		}
	}
}

// TestKeysAreDocumented: the keys that docs/chat.md names are keys.
func TestKeysAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/chat.md")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, k := range Keys() {
		known = append(known, strings.Split(k.Keys, ", ")...)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Commands and keys\n")
	section, _, _ = strings.Cut(section, "\n## ")
	named := regexp.MustCompile("`((?:[A-Z][a-z]+|[+ ])+[A-Z]?)`").FindAllStringSubmatch(section, -1)
	for _, m := range named {
		if !slices.Contains(known, m[1]) {
			t.Errorf("docs/chat.md names the key %s, which Keys does not have", m[1])
		}
	}
	if len(named) < 8 {
		t.Errorf("only %d keys found", len(named))
	}
}
