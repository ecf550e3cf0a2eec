package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/admin"
)

func listing(n int) (l admin.Listing) {
	l.Requests, l.Rescued, l.NotSent, l.Input, l.Read, l.Cost, l.Saved = 50, 2, 1_234_567, 100, 93, 1, .5
	for i := range n {
		t := admin.Talk{ID: fmt.Sprintf("%016x", i+1), Model: "qwen3\x1b[31m", Last: time.Unix(1_800_000_000, 0), Before: 140_000, After: 14_000, Window: 32_000}
		t.Requests, t.Rescued = 25, 1
		if i == 4 {
			t.About, t.Client = "Fix the clock\x1b[31m, and keep calendar.go as it is", "claude-cli/2.1.197"
		}
		l.Sessions = append(l.Sessions, t)
	}
	return l
}

// The screen has what there is room for, at any size, and says where to look further.
func TestScreen(t *testing.T) {
	calls := 0
	s := newScreen(context.Background(), Config{Page: "http://127.0.0.1:8791", Plain: true, Every: 1, Fetch: func(context.Context) (admin.Listing, error) {
		if calls++; calls == 2 {
			return admin.Listing{}, errors.New("no gateway answers")
		}
		return listing(40), nil
	}})
	_, next := s.Update(s.Init()())
	for _, size := range [][2]int{{200, 50}, {80, 24}, {20, 6}, {1, 1}, {120, 30}} {
		s.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		if out := s.content(); size[0] >= 20 {
			for line := range strings.Lines(out) {
				if w := lipgloss.Width(strings.TrimRight(line, "\n")); w > size[0] {
					t.Errorf("at %v a line is %d wide: %q", size, w, line)
				}
			}
			if n := strings.Count(out, "\n") + 1; n > size[1]+1 {
				t.Errorf("at %v there are %d lines", size, n)
			}
		}
	}
	out := s.content()
	for _, want := range []string{"50 requests, 0 epochs, 2 rescued", "Fix the clock", "1.23M tokens not sent, 93% of the input", "0000000000000001", "████░░░░░░ 44% of 32k", "/session/0000000000000001"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q:\n%s", want, out)
		}
	}
	s.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	if out := s.content(); !strings.Contains(out, "/session/0000000000000002") {
		t.Errorf("down does not choose:\n%s", out)
	}
	moved := listing(40)
	moved.Sessions = append(moved.Sessions[5:], moved.Sessions[:5]...)
	s.Update(fetched{list: moved})
	if out := s.content(); !strings.Contains(out, "/session/0000000000000002") {
		t.Errorf("the choice did not move with its conversation:\n%s", out)
	}
	if _, ok := next().(again); !ok {
		t.Fatal("it does not ask again")
	}
	_, next = s.Update(again{})
	s.Update(next())
	if out := s.content(); !strings.Contains(out, "no gateway answers") || !strings.Contains(out, "0000000000000002") {
		t.Errorf("an error is not shown, or the list is gone:\n%s", out)
	}
	if _, cmd := s.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not end")
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	l := listing(2)
	if err := Text(&b, &l); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.Count(out, "\n") != 5 || strings.Contains(out, "\x1b") || !strings.Contains(out, "████░░░░░░ 44% of 32k") {
		t.Errorf("%s", out)
	}
}
