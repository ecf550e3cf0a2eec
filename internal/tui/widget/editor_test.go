package widget

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// keys are the names of keys in tests.
var keys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "esc": {Code: tea.KeyEscape}, "backspace": {Code: tea.KeyBackspace},
	"delete": {Code: tea.KeyDelete}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight},
	"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
}

// press makes the message of a key: "enter", "ctrl+r", "alt+left", "x".
func press(name string) tea.KeyPressMsg {
	var mod tea.KeyMod
	for {
		switch {
		case strings.HasPrefix(name, "ctrl+"):
			mod |= tea.ModCtrl
		case strings.HasPrefix(name, "alt+"):
			mod |= tea.ModAlt
		case strings.HasPrefix(name, "shift+"):
			mod |= tea.ModShift
		default:
			k, ok := keys[name]
			if !ok {
				k = tea.KeyPressMsg{Code: []rune(name)[0]}
				if mod&^tea.ModShift == 0 {
					k.Text = name
				}
			}
			k.Mod = mod
			return k
		}
		name = name[strings.IndexByte(name, '+')+1:]
	}
}

type updater interface{ Update(tea.Msg) tea.Msg }

// do presses keys, and types what is no name of one: "hello<enter>". It returns
// what came out last that was not nil.
func do(u updater, script string) (out tea.Msg) {
	send := func(m tea.Msg) {
		if o := u.Update(m); o != nil {
			out = o
		}
	}
	for script != "" {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(script, "<"), ">"); ok && script[0] == '<' {
			send(press(name))
			script = rest
			continue
		}
		c, _ := cluster(script)
		send(tea.KeyPressMsg{Text: c, Code: []rune(c)[0]})
		script = script[len(c):]
	}
	return out
}

func none() *Theme { return NewTheme(ModeNone, false) }

func TestEditorKeys(t *testing.T) {
	for _, c := range []struct{ name, keys, want string }{
		{"types", "hello", "hello|"},
		{"newline keys", "a<alt+enter>b<shift+enter>c<ctrl+j>d", "a\nb\nc\nd|"},
		{"backslash and enter", `a\<enter>b`, "a\nb|"},
		{"backslash not before the cursor", `\a`, `\a|`},
		{"moves", "abc<left><left>x<home>y<end>z", "yaxbcz|"},
		{"words", "one two  three<alt+left><alt+left>x<alt+right>y", "one xtwoy|  three"},
		{"deletes a word", "one two<ctrl+w>", "one |"},
		{"deletes a word forward", "one two<home><alt+d>", "| two"},
		{"deletes to the end and a line end", "ab<alt+enter>cd<up><home><right><ctrl+k>", "a|\ncd"},
		{"joins lines", "ab<alt+enter>cd<up><end><ctrl+k>", "ab|cd"},
		{"deletes to the beginning", "ab<alt+enter>cd<left><ctrl+u>", "ab\n|d"},
		{"a character of several runes is one", "a👩‍👩‍👧‍👦é<left><backspace>", "a|é"},
		{"combining mark joins", "e\u0301x<left><backspace>", "|x"},
		{"column is kept", "abcdef<alt+enter>x<alt+enter>abcdef<up><up>", "abcdef|\nx\nabcdef"},
		{"undo a word", "one two<ctrl+z>", "one |"},
		{"undo and redo", "one two<ctrl+z><ctrl+z><ctrl+y>", "one |"},
		{"undo after newline", "a<alt+enter>b<ctrl+z><ctrl+z>", "a|"},
		{"undo beyond the beginning", "a<ctrl+z><ctrl+z><ctrl+z>", "|"},
		{"keys without meaning", "a<ctrl+x><alt+q><tab><esc>b", "ab|"},
		{"delete at the ends", "<backspace><delete>a<delete><home><backspace>", "|a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := NewEditor(none())
			do(e, c.keys)
			if got := e.in.before() + "|" + e.in.text()[len(e.in.before()):]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEditorSends(t *testing.T) {
	e := NewEditor(none())
	if out := do(e, "<enter>  <enter>"); out != nil {
		t.Errorf("nothing typed, got %#v", out)
	}
	e.Clear()
	if out := do(e, " do it 中 <enter>"); out != (SendMsg{"do it 中"}) {
		t.Errorf("got %#v", out)
	}
	if !e.Empty() {
		t.Errorf("%q is left", e.Text())
	}
}

func TestEditorHistory(t *testing.T) {
	e := NewEditor(none())
	e.SetHistory([]string{"one", "two", "two", "", "three\nlines"})
	if got := e.History(); !slices.Equal(got, []string{"one", "two", "three\nlines"}) {
		t.Fatalf("History = %q", got)
	}
	step := func(keys, want string) {
		t.Helper()
		do(e, keys)
		if e.Text() != want {
			t.Fatalf("after %s: %q, want %q", keys, e.Text(), want)
		}
	}
	step("draft<up>", "three\nlines")
	step("<up>", "three\nlines") // the cursor was on the second line
	step("<up>", "two")
	step("!<up>", "one")
	step("<up>", "one")
	step("<down>", "two") // what was made of it is gone
	step("<down>", "three\nlines")
	step("<down>", "draft")
	step("<down>", "draft")
	step("<up><up><up><up><up>", "one")
	if out := do(e, "<enter>"); out != (SendMsg{"one"}) {
		t.Fatalf("got %#v", out)
	}
	if e.Text() != "draft" {
		t.Errorf("the draft was lost: %q", e.Text())
	}
	if out := do(e, "<enter>"); out != (SendMsg{"draft"}) || !e.Empty() {
		t.Errorf("got %#v, %q is left", out, e.Text())
	}
	if got := e.History(); !slices.Equal(got, []string{"one", "two", "three\nlines", "one", "draft"}) {
		t.Errorf("History = %q", got)
	}
}

func TestEditorRecall(t *testing.T) {
	e := NewEditor(none())
	e.SetHistory([]string{"fix the parser", "run tests", "fix the tests"})
	do(e, "my draft")
	e.Recall(1)
	if e.Text() != "run tests" {
		t.Errorf("recalled %q", e.Text())
	}
	if do(e, "<down><down>"); e.Text() != "my draft" {
		t.Errorf("the draft was lost: %q", e.Text())
	}
}

// TestPi112OfferNeverOverwrites: what is typed while something else runs stays.
func TestPi112OfferNeverOverwrites(t *testing.T) {
	e := NewEditor(none())
	if !e.Offer("from the tree") || e.Text() != "from the tree" {
		t.Fatalf("an empty editor refused: %q", e.Text())
	}
	for _, typed := range []string{"x", " ", "<alt+enter>"} {
		e := NewEditor(none())
		do(e, typed)
		was := e.Text()
		if e.Offer("from the tree") || e.Text() != was {
			t.Errorf("after %q: overwritten with %q", typed, e.Text())
		}
	}
	do(e, "<ctrl+z>")
	if !e.Empty() {
		t.Errorf("an offer can't be taken back: %q", e.Text())
	}
}

func TestEditorPaste(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("line\r\n", n) }
	e := NewEditor(none())
	e.Update(tea.PasteMsg{Content: lines(10)})
	if got := e.in.text(); got != strings.Repeat("line\n", 10) {
		t.Fatalf("a small paste is %q", got)
	}
	e.Clear()
	do(e, "look: ")
	e.Update(tea.PasteMsg{Content: lines(120)})
	do(e, " and ")
	e.Update(tea.PasteMsg{Content: "[paste 1: 120 lines]" + strings.Repeat("x", 2000)})
	if got := e.in.text(); got != "look: [paste 1: 120 lines] and [paste 2: 2020 characters]" {
		t.Fatalf("shown as %q", got)
	}
	want := "look: " + strings.Repeat("line\n", 120) + " and [paste 1: 120 lines]" + strings.Repeat("x", 2000)
	if e.Text() != want {
		t.Error("a marker inside a paste was expanded")
	}
	// A marker is one character.
	do(e, "<left><left>y<right><right><backspace>")
	if got := e.in.text(); got != "look: [paste 1: 120 lines] andy " {
		t.Fatalf("after deleting: %q", got)
	}
	do(e, "<home><right><right><right><right><right><right><right>!<ctrl+z><left><delete>")
	if got := e.in.text(); got != "look:  andy " {
		t.Fatalf("after deleting the other: %q", got)
	}
	do(e, "<ctrl+z>")
	if out := do(e, "<enter>"); out != (SendMsg{"look: " + strings.Repeat("line\n", 120) + " andy"}) {
		t.Errorf("sent %q", out)
	}
}

func TestEditorPasteKeepsTabs(t *testing.T) {
	e := NewEditor(none())
	e.Update(tea.PasteMsg{Content: "all:\n\tgo build\x1b[31m\x00\n"})
	if got := e.Text(); got != "all:\n\tgo build[31m\n" {
		t.Errorf("got %q", got)
	}
	checkWidth(t, "editor", e.Lines(), 80)
}

func TestEditorCompletesFiles(t *testing.T) {
	files := []string{"main.go", "main_test.go", "my notes.txt", "docs/", "bad\x1bname"}
	e := NewEditor(none())
	e.Complete = func(p string) (out []string) {
		for _, f := range files {
			if strings.HasPrefix(f, p) {
				out = append(out, f)
			}
		}
		return out
	}
	for _, c := range []struct{ name, keys, want string }{
		{"tab", "see @ma<tab>", "see @main.go "},
		{"enter", "see @ma<enter>", "see @main.go "},
		{"down", "see @ma<down><tab>", "see @main_test.go "},
		{"around", "see @ma<up><tab>", "see @main_test.go "},
		{"space in the name", "@my<tab>x", `@"my notes.txt" x`},
		{"between quotes", `@"my n<tab>x`, `@"my notes.txt" x`},
		{"folder goes on", "@do<tab>x", "@docs/x"},
		{"before a space", "@ma and<home><right><right><right><tab>!", "@main.go! and"},
		{"escape closes", "@ma<esc>i<tab>n", "@main"},
		{"escape closes for this name only", "@ma<esc> @ma<tab>", "@ma @main.go "},
		{"not in a word", "me@ma<tab>", "me@ma"},
		{"second line", "x<alt+enter>@mai<tab>", "x\n@main.go "},
		{"name that can't be typed", "@ba<tab>", "@ba"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.Clear()
			if do(e, c.keys); e.Text() != c.want {
				t.Errorf("got %q, want %q", e.Text(), c.want)
			}
		})
	}
	e.Clear()
	if out := do(e, "@main.go<enter>"); out != (SendMsg{"@main.go"}) {
		t.Errorf("a name typed in full: %#v", out)
	}
}

func TestEditorCompletesCommands(t *testing.T) {
	e := NewEditor(none())
	e.Commands = []Command{
		{Name: "context", Help: "what the model is sent"}, {Name: "compact", Args: "[instructions]", Help: "summarize"}, {Name: "undo", Help: "undo the last pass"},
	}
	do(e, "/com")
	if got := strings.Join(e.Lines(), "\n"); !strings.HasPrefix(got, "> /compact [instructions]  summarize\n") {
		t.Errorf("shows\n%s", got)
	}
	if do(e, "<tab>now"); e.Text() != "/compact now" || e.Busy() {
		t.Errorf("took %q", e.Text())
	}
	e.Clear()
	if out := do(e, "/undo<enter>"); out != (SendMsg{"/undo"}) {
		t.Errorf("sent %#v", out)
	}
	if out := do(e, "/und<enter><enter>"); out != (SendMsg{"/undo"}) {
		t.Errorf("sent %#v", out)
	}
	if do(e, "a /co"); e.Busy() {
		t.Error("offers commands inside a text")
	}
}

// TestEditorWidth types random things at random sizes.
func TestEditorWidth(t *testing.T) {
	r := newRand(t, 3)
	names := []string{"enter", "tab", "esc", "backspace", "delete", "up", "down", "left", "right", "home", "end", "pgup", "pgdown", "ctrl+z", "ctrl+y", "ctrl+w", "ctrl+k", "ctrl+u", "alt+enter", "alt+left", "alt+d", "ctrl+n"}
	for _, theme := range []*Theme{none(), NewTheme(ModeDark, true)} {
		e := NewEditor(theme)
		e.Commands = []Command{{Name: "compact", Help: "中文帮助" + strings.Repeat(" long", 50)}}
		e.Complete = func(string) []string { return []string{"中文/文件名.go", strings.Repeat("long", 60)} }
		e.Placeholder = "say 中文 something that is very long indeed, longer than the line"
		for range rounds(1000) {
			switch r.IntN(8) {
			case 0, 1, 2:
				do(e, "<"+names[r.IntN(len(names))]+">")
			case 3:
				e.Update(tea.PasteMsg{Content: randomText(r, 10)})
			case 4:
				e.SetSize(1+r.IntN(100), 1+r.IntN(60))
			case 5:
				do(e, []string{"@", "/", "/c", "\\"}[r.IntN(4)])
			default:
				e.Update(tea.KeyPressMsg{Text: pieces[r.IntN(10)], Code: 'x'})
			}
			lines := e.Lines()
			checkWidth(t, "editor", lines, e.width)
			if most := max(e.height/3, 2) + max(e.height/3, 1) + 1; len(lines) > most {
				t.Fatalf("%d lines on a screen of %d", len(lines), e.height)
			}
			c := e.Cursor()
			if c.X < 0 || c.X >= e.width || c.Y < 0 || c.Y >= len(lines) {
				t.Fatalf("cursor at %d,%d in %dx%d", c.X, c.Y, e.width, len(lines))
			}
			if theme.Mode == ModeNone && strings.Contains(strings.Join(e.Lines(), "\n"), "\x1b") {
				t.Fatalf("escape without colour: %q", strings.Join(e.Lines(), "\n"))
			}
		}
	}
}

// TestEditorCursorIsAtTheText: the cursor stands behind what was typed last.
func TestEditorCursorIsAtTheText(t *testing.T) {
	e := NewEditor(none())
	e.SetSize(12, 24) // nine columns for text
	for _, c := range []struct {
		keys string
		x, y int
	}{
		{"", 2, 1}, {"abc", 5, 1}, {" 中", 8, 1}, {"文中", 8, 2}, {"<alt+enter>", 2, 3}, {"x", 3, 3}, {"<up>", 4, 2}, {"<end>", 8, 2},
	} {
		do(e, c.keys)
		if got := e.Cursor(); got.X != c.x || got.Y != c.y {
			t.Errorf("after %q: cursor at %d,%d, want %d,%d\n%s", c.keys, got.X, got.Y, c.x, c.y, strings.Join(e.Lines(), "\n"))
		}
	}
}
