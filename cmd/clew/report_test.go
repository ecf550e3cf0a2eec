package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
)

// TestFactsFit: on a terminal a fact is one line, with the entry that it is from at its end.
func TestFactsFit(t *testing.T) {
	f := &ledger.Ledger{Rules: []ledger.Statement{{Text: strings.Repeat("never 界 ", 60), Entry: "1a2b3c4d"}}}
	var out strings.Builder
	for _, screen := range []bool{true, false} {
		out.Reset()
		rep := &report{w: bufio.NewWriter(&out), wide: 80, screen: screen}
		printFacts(rep, f)
		_ = rep.w.Flush() // to a string
		if line := out.String(); (textWidth(line) <= 80) != screen || !strings.HasSuffix(line, " [#1a2b3c4d]\n") {
			t.Errorf("on a screen %t: %q", screen, line)
		}
	}
}

// TestTextIsWrapped: a long line of a text goes on below where its words begin, on a terminal.
func TestTextIsWrapped(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short\n\nlines", "  | short\n  |\n  | lines\n"},
		{"- one two three four five", "  | - one two\n  |   three\n  |   four\n  |   five\n"},
		{"averylongwordwithoutspaces", "  | averylongw\n  | ordwithout\n  | spaces\n"},
		{"你好世界你好世界", "  | 你好世界你\n  | 好世界\n"},
		{strings.Repeat(" ", 50) + "x", "  |      x\n"},
	} {
		var out strings.Builder
		rep := &report{w: bufio.NewWriter(&out), columns: 14, screen: true}
		rep.text(c.text)
		_ = rep.w.Flush() // to a string
		if got := out.String(); got != "\n"+c.want+"\n" {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestPathTail(t *testing.T) {
	if got := cutLeft("packages/agent/src/agent.ts", 12); got != "…rc/agent.ts" {
		t.Errorf("%q", got)
	}
	if got := cutLeft("a.go", 12); got != "a.go" {
		t.Errorf("%q", got)
	}
}

func TestGrouped(t *testing.T) {
	for in, want := range map[string]string{
		"takes 33917 tokens, more than the 23180 for it": "takes 33,917 tokens, more than the 23,180 for it",
		"of 120 tokens": "of 120 tokens", "entry 2edc6c9df0cd871d": "entry 2edc6c9df0cd871d", "": "",
	} {
		if got := grouped(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
