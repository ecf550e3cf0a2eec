package widget

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// clock is a clock that a test sets.
type clock struct{ at time.Time }

func newClock() *clock                { return &clock{time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }
func (c *clock) now() time.Time       { return c.at }
func (c *clock) wait(d time.Duration) { c.at = c.at.Add(d) }

func permission() Question {
	return Question{
		Title: "bash wants to run",
		Body:  "go test -race ./... \\\n  && rm -rf \x1b]0;nothing\a/tmp/x",
		Options: []Option{
			{Key: "y", Text: "yes, this time"},
			{Key: "a", Text: "yes, and do not ask again for go test"},
			{Key: "n", Text: "no"},
		},
		Safe: 2,
	}
}

// TestDialogIsNotAnsweredByAccident: keys that were meant for the editor do not
// answer, and are given back.
func TestDialogIsNotAnsweredByAccident(t *testing.T) {
	c := newClock()
	d := NewDialog(none(), permission(), c.now)
	for i, step := range []struct {
		wait  time.Duration
		msg   tea.Msg
		early bool
	}{
		{10 * time.Millisecond, press("y"), true},
		{200 * time.Millisecond, press("enter"), true},
		{299 * time.Millisecond, press("a"), true}, // 509 ms after it appeared, but still typing
		{200 * time.Millisecond, tea.PasteMsg{Content: "y\n"}, true},
		{150 * time.Millisecond, press("esc"), true},
		{300 * time.Millisecond, press("y"), false},
	} {
		c.wait(step.wait)
		out := d.Update(step.msg)
		want := tea.Msg(IgnoredMsg{step.msg})
		if !step.early {
			want = DoneMsg{"y"}
		}
		if out != want {
			t.Errorf("step %d: %#v, want %#v", i, out, want)
		}
	}
	// A paste never answers, however late.
	c.wait(time.Hour)
	if out := d.Update(tea.PasteMsg{Content: "y"}); out != (IgnoredMsg{tea.PasteMsg{Content: "y"}}) {
		t.Errorf("a paste: %#v", out)
	}
	// One that stood behind another appears when it is shown.
	d.Appear()
	c.wait(100 * time.Millisecond)
	if out := d.Update(press("y")); out != (IgnoredMsg{press("y")}) {
		t.Errorf("just shown: %#v", out)
	}
	// A clock that is set back locks nobody out.
	d.Appear()
	c.wait(-time.Hour)
	if out := d.Update(press("n")); out != (DoneMsg{"n"}) {
		t.Errorf("clock set back: %#v", out)
	}
}

func TestDialogAnswers(t *testing.T) {
	for _, x := range []struct {
		keys string
		want tea.Msg
	}{
		{"<enter>", DoneMsg{"n"}},
		{"<esc>", DoneMsg{"n"}},
		{"<up><esc>", DoneMsg{"n"}},
		{"<up><enter>", DoneMsg{"a"}},
		{"<down><enter>", DoneMsg{"n"}}, // beyond the last one is not the first
		{"<tab><tab><enter>", DoneMsg{"n"}},
		{"<up><up><up><enter>", DoneMsg{"y"}},
		{"<up><up><up><down><enter>", DoneMsg{"a"}},
		{"a", DoneMsg{"a"}},
		{"Y", IgnoredMsg{tea.KeyPressMsg{Text: "Y", Code: 'Y'}}},
		{"<ctrl+y>", IgnoredMsg{press("ctrl+y")}},
	} {
		c := newClock()
		d := NewDialog(none(), permission(), c.now)
		c.wait(time.Second)
		if out := do(d, x.keys); out != x.want {
			t.Errorf("%s: %#v, want %#v", x.keys, out, x.want)
		}
	}
}

// TestDialogHidesNothing: all of a long body can be read, at any width.
func TestDialogHidesNothing(t *testing.T) {
	body := ""
	for i := range 60 {
		body += strings.Repeat("x", i*3) + "<" + string(rune('A'+i%26)) + ">\n"
	}
	for _, width := range []int{20, 80, 200} {
		c := newClock()
		q := permission()
		q.Body = body
		d := NewDialog(none(), q, c.now)
		d.SetSize(width, 12)
		c.wait(time.Second)
		seen := map[string]bool{}
		for range 100 {
			lines := d.Lines()
			checkWidth(t, "dialog", lines, width)
			if len(lines) > 12 {
				t.Fatalf("%d lines in 12", len(lines))
			}
			for _, l := range lines {
				seen[l] = true
			}
			do(d, "<pgdown>")
		}
		for _, l := range d.lines {
			if l = strings.TrimRight("  "+l, " "); !seen[l] {
				t.Fatalf("%d columns: %q can't be read", width, l)
			}
		}
		if got := strings.Join(d.lines, ""); strings.Count(got, "x") != strings.Count(body, "x") {
			t.Errorf("%d columns: characters are missing", width)
		}
		if do(d, "<home>"); d.top != 0 {
			t.Error("Home does not go to the beginning")
		}
	}
}

func TestDialogGolden(t *testing.T) {
	golden(t, "dialog", func(theme *Theme, width, height int) (out []string) {
		c := newClock()
		long := permission()
		long.Title, long.Text, long.Body, long.Diff = "edit wants to change agent/loop.go", "It is outside of the project.", "", sampleDiff+strings.Repeat("+more\n", 30)
		for _, q := range []Question{permission(), long, {Title: "leave the branch?", Text: "12 entries stay behind.", Options: []Option{{Key: "l", Text: "leave"}, {Key: "s", Text: "摘要してから"}}}, {Title: "x", Options: []Option{{Key: "a", Text: "always allow " + strings.Repeat("go test ./internal/... ", 9)}, {Key: "n", Text: "no"}}, Safe: 1}} {
			d := NewDialog(theme, q, c.now)
			d.SetSize(width, 14)
			out = append(append(out, d.Lines()...), "")
		}
		f := NewForm(theme, "summary, before it is applied", "## Goal\n\nMake the test pass.\n\n- one\n- 二つ目の項目\n")
		f.SetSize(width, 12)
		out = append(out, f.Lines()...)
		do(f, "x<esc>")
		out = append(out, f.Lines()...)
		l := NewLineForm(theme, "label", "two ways")
		l.SetSize(width, 3)
		return append(out, l.Lines()...)
	})
}

func TestDialogWidth(t *testing.T) {
	r := newRand(t, 14)
	for range rounds(400) {
		c := newClock()
		q := Question{Title: randomText(r, 5), Text: randomText(r, 20), Body: randomText(r, 40), Diff: randomText(r, 20)}
		for range 1 + r.IntN(4) {
			q.Options = append(q.Options, Option{Key: pieces[r.IntN(len(pieces))], Text: randomText(r, 8)})
		}
		theme := []*Theme{none(), NewTheme(ModeLight, false)}[r.IntN(2)]
		d := NewDialog(theme, q, c.now)
		width, height := 1+r.IntN(100), 1+r.IntN(30)
		d.SetSize(width, height)
		c.wait(time.Second)
		do(d, "<pgdown><down>")
		checkWidth(t, "dialog", d.Lines(), width)
		if len(d.Lines()) > height {
			t.Fatalf("%d lines in %d", len(d.Lines()), height)
		}
		f := NewForm(theme, q.Title, q.Body)
		f.SetSize(width, height)
		do(f, "<end>x<pgdown>中<esc>")
		checkWidth(t, "form", f.Lines(), width)
		if len(f.Lines()) > height {
			t.Fatalf("form: %d lines in %d", len(f.Lines()), height)
		}
		if cur := f.Cursor(); cur.X >= width || cur.Y >= max(len(f.Lines()), 1) {
			t.Fatalf("cursor at %d,%d in %dx%d", cur.X, cur.Y, width, len(f.Lines()))
		}
	}
}

func TestForm(t *testing.T) {
	given := "a\tb\u200b\n" + strings.Repeat("line\n", 20_000)
	if out := do(NewForm(none(), "summary", given), "<ctrl+s>"); out != (DoneMsg{given}) {
		t.Error("a text that was not changed was changed")
	}
	if out := do(NewForm(none(), "summary", given[4:]), "x<ctrl+s>"); out != (DoneMsg{"x" + typable(given[4:])}) {
		t.Error("what is too long for the form was lost")
	}
	f := NewForm(none(), "summary", "one\ntwo")
	if out := do(f, "<down><enter>x<ctrl+s>"); out != (DoneMsg{"one\n\nxtwo"}) {
		t.Errorf("got %#v", out)
	}
	if out := do(f, "<esc>"); out != nil {
		t.Errorf("changes are thrown away at once: %#v", out)
	}
	if out := do(f, "y<esc>"); out != nil {
		t.Errorf("a key does not go on: %#v", out)
	}
	if out := do(f, "<esc>"); out != (LeaveMsg{}) {
		t.Errorf("got %#v", out)
	}
	f = NewForm(none(), "summary", "one")
	if out := do(f, "x<ctrl+z><esc>"); out != (LeaveMsg{}) {
		t.Errorf("nothing is changed: %#v", out)
	}
	l := NewLineForm(none(), "label", "two\nways")
	l.Update(tea.PasteMsg{Content: "!\n!"})
	if out := do(l, "<alt+enter><enter>"); out != (DoneMsg{"two ways! !"}) {
		t.Errorf("got %#v", out)
	}
}

func samplePicker(theme *Theme, width int) *Picker {
	p := NewPicker(theme, PickerOptions{
		Title: "resume a session", Empty: "there are no sessions here", Keys: []PickerKey{{"tab", "all folders"}, {"ctrl+s", "sort"}, {"ctrl+x", "copy"}},
	}, []Item{
		{ID: "1", Cells: []string{"fix the parser", "2 hours ago", "812 entries"}, Detail: "~/src/clew · why does the lexer read past the end?"},
		{ID: "2", Cells: []string{"会話の圧縮について、そしてもっと長い名前", "yesterday", "40 entries"}, Detail: "/tmp"},
		{ID: "3", Cells: []string{strings.Repeat("a very long name ", 20), "3 May", "1 entry"}, Search: "hidden words"},
		{ID: "4", Cells: []string{"evil \x1b[2J\n name", "4 May", "2 entries"}},
	})
	p.SetSize(width, 10)
	return p
}

func TestPickerGolden(t *testing.T) {
	golden(t, "picker", func(theme *Theme, width, _ int) (out []string) {
		for _, keys := range []string{"", "<down>", "fix", "zzz"} {
			p := samplePicker(theme, width)
			do(p, keys)
			out = append(append(out, "# "+keys), p.Lines()...)
		}
		return append(out, NewPicker(theme, PickerOptions{Title: "models", Empty: "no key is set; see clew models"}, nil).Lines()[:2]...)
	})
}

func TestPicker(t *testing.T) {
	for _, x := range []struct {
		keys string
		want tea.Msg
	}{
		{"<enter>", DoneMsg{"1"}},
		{"<down><down><up><enter>", DoneMsg{"2"}},
		{"<end><enter>", DoneMsg{"4"}},
		{"parser fix<enter>", DoneMsg{"1"}},
		{"fxprs<enter>", DoneMsg{"1"}},
		{"lexer<enter>", DoneMsg{"1"}},
		{"hidden<enter>", DoneMsg{"3"}},
		{"圧縮<enter>", DoneMsg{"2"}},
		{"zzz<enter>", nil},
		{"zzz<esc><enter>", DoneMsg{"1"}},
		{"<esc>", LeaveMsg{}},
		{"<down><ctrl+s>", KeyMsg{"ctrl+s", "2"}},
		{"zzz<tab>", KeyMsg{"tab", ""}},
	} {
		if out := do(samplePicker(none(), 80), x.keys); out != x.want {
			t.Errorf("%s: %#v, want %#v", x.keys, out, x.want)
		}
	}
	p := samplePicker(none(), 80)
	do(p, "<down><down>")
	p.SetItems(append([]Item{{ID: "0", Cells: []string{"new"}}}, p.Shown()...))
	if p.Selected() != "3" {
		t.Errorf("new items: %q is selected", p.Selected())
	}
}

func TestPickerPutsTheBestFirst(t *testing.T) {
	p := NewPicker(none(), PickerOptions{}, []Item{
		{ID: "scattered", Cells: []string{"g.p.t. something five"}}, {ID: "no", Cells: []string{"claude"}}, {ID: "inside", Cells: []string{"xgpt-5"}}, {ID: "start", Cells: []string{"openai/gpt-5"}},
	})
	shown := func() (got []string) {
		for _, it := range p.Shown() {
			got = append(got, it.ID)
		}
		return got
	}
	do(p, "gpt")
	if got, want := shown(), []string{"start", "inside"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	do(p, "<ctrl+u>gptfi") // in no item as it stands
	if got, want := shown(), []string{"scattered"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPickerWidth(t *testing.T) {
	r := newRand(t, 15)
	for range rounds(200) {
		items := make([]Item, r.IntN(40))
		for i := range items {
			items[i] = Item{ID: string(rune('a' + i)), Detail: randomText(r, 20)}
			for range r.IntN(5) {
				items[i].Cells = append(items[i].Cells, randomText(r, 12))
			}
		}
		p := NewPicker([]*Theme{none(), NewTheme(ModeDark, true)}[r.IntN(2)], PickerOptions{Title: randomText(r, 5), Empty: randomText(r, 5)}, items)
		for range 20 {
			p.SetSize(1+r.IntN(120), 1+r.IntN(30))
			do(p, []string{"<up>", "<down>", "<pgdown>", "<end>", "a", "中", "<backspace>", "<esc>", "<enter>"}[r.IntN(9)])
			lines := p.Lines()
			checkWidth(t, "picker", lines, p.width)
			if len(lines) > p.height {
				t.Fatalf("%d lines in %d", len(lines), p.height)
			}
		}
	}
}
