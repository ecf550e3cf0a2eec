package widget

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

// An input is a text that is being typed: the text area of bubbles, which lays out all of
// it, with undo, and a window over the lines around the cursor.
type input struct {
	area          textarea.Model
	width, height int // columns; most lines that are shown
	top           int // the first line that is shown

	past, future []snapshot
	typing       bool // the last change was a character
}

// A snapshot is a text and where the cursor stood in it, in bytes.
type snapshot struct {
	text string
	at   int
}

// maxUndo is how many changes can be taken back.
const maxUndo = 200

// newInput returns an empty input; prompt stands before the first line.
func newInput(prompt string) *input {
	a := textarea.New()
	a.SetStyles(textarea.Styles{})
	a.SetVirtualCursor(false)
	a.Prompt, a.ShowLineNumbers = "", false
	a.CharLimit, a.MaxWidth, a.MaxHeight, a.DynamicHeight = 0, 0, 0, true
	a.SetPromptFunc(Width(prompt), func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return prompt
		}
		return ""
	})
	k := &a.KeyMap
	k.InsertNewline.SetKeys("enter", "shift+enter", "alt+enter", "ctrl+j")
	k.DeleteCharacterBackward.SetKeys("backspace", "ctrl+h", "shift+backspace")
	for _, b := range []*key.Binding{
		&k.Paste, &k.TransposeCharacterBackward, &k.SelectAll, &k.CopySelection, &k.SelectCharacterForward, &k.SelectCharacterBackward,
		&k.SelectWordForward, &k.SelectWordBackward, &k.SelectLineUp, &k.SelectLineDown,
	} {
		b.SetEnabled(false)
	}
	a.Focus()
	in := &input{area: a}
	in.setSize(80, 8)
	return in
}

func (in *input) setSize(width, height int) {
	in.width, in.height = max(width, 1), max(height, 1)
	in.area.SetWidth(in.width)
}

func (in *input) text() string { return in.area.Value() }

func (in *input) empty() bool { return in.area.Length() == 0 }

// before returns the text before the cursor.
func (in *input) before() string {
	lines := strings.Split(in.text(), "\n")
	row := in.area.Line()
	lines[row] = string([]rune(lines[row])[:in.area.Column()])
	return strings.Join(lines[:row+1], "\n")
}

func (in *input) now() snapshot { return snapshot{in.text(), len(in.before())} }

// set replaces the text and moves the cursor to a byte of it. What was there can't be
// brought back; see replace.
func (in *input) set(text string, at int) {
	in.area.SetValue(text[at:])
	in.area.MoveToBegin()
	in.area.InsertString(text[:at])
}

// replace is set, as one change.
func (in *input) replace(text string, at int) {
	before := in.now()
	in.set(text, at)
	in.changed(before, false)
}

// insert puts s where the cursor is.
func (in *input) insert(s string) {
	before := in.now()
	in.area.InsertString(typable(s))
	in.changed(before, false)
}

// key does what a key means.
func (in *input) key(k tea.KeyPressMsg) {
	before := in.now()
	switch k.String() {
	case "ctrl+z", "ctrl+_":
		in.shift(&in.past, &in.future)
		return
	case "ctrl+y", "ctrl+shift+z":
		in.shift(&in.future, &in.past)
		return
	}
	k.Text = typable(k.Text)
	for range in.runes(k.String()) {
		in.area, _ = in.area.Update(k)
	}
	in.changed(before, k.Text != "" && k.Text != " ")
}

// runes is how many runes a key goes over: all of a character, as people count them.
func (in *input) runes(key string) int {
	s := in.now()
	last := ""
	switch key {
	case "left", "ctrl+b", "backspace", "ctrl+h", "shift+backspace":
		for rest := s.text[strings.LastIndexByte(s.text[:s.at], '\n')+1 : s.at]; rest != ""; rest = rest[len(last):] {
			last, _ = cluster(rest)
		}
	case "right", "delete", "ctrl+d":
		last, _ = cluster(s.text[s.at:] + "\n")
	}
	return max(utf8.RuneCountInString(last), 1)
}

// changed remembers what was there before a change. typed says that a character was
// typed: a word of them is one change.
func (in *input) changed(before snapshot, typed bool) {
	switch {
	case in.text() == before.text:
		in.typing = false
	case typed && in.typing:
		in.future = nil
	default:
		in.past, in.future, in.typing = append(in.past, before), nil, typed
		in.past = in.past[max(len(in.past)-maxUndo, 0):]
	}
}

// forget drops what could be taken back.
func (in *input) forget() { in.past, in.future, in.typing = nil, nil, false }

func (in *input) shift(from, to *[]snapshot) {
	in.typing = false
	n := len(*from)
	if n == 0 {
		return
	}
	*to = append(*to, in.now())
	s := (*from)[n-1]
	*from = (*from)[:n-1]
	in.set(s.text, s.at)
}

// onFirstLine and onLastLine say where the cursor is on the screen.
func (in *input) onFirstLine() bool { return in.area.Line() == 0 && in.area.LineInfo().RowOffset == 0 }

func (in *input) onLastLine() bool {
	i := in.area.LineInfo()
	return in.area.Line() == in.area.LineCount()-1 && i.RowOffset >= i.Height-1
}

// lines draws the lines around the cursor.
func (in *input) lines() []string {
	all := strings.Split(in.area.View(), "\n")
	y := in.area.Cursor().Y
	in.top = min(in.top, y, max(len(all)-in.height, 0))
	in.top = max(in.top, y-in.height+1, 0)
	all = all[min(in.top, len(all)-1):]
	all = all[:min(in.height, len(all))]
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = Cut(strings.TrimRight(l, " "), in.width)
	}
	return out
}

// cursor returns where the cursor is on the screen, from the corner of the input.
func (in *input) cursor() *tea.Cursor {
	n := len(in.lines())
	c := in.area.Cursor()
	return tea.NewCursor(min(max(c.X, 0), in.width-1), min(max(c.Y-in.top, 0), n-1))
}

// typable returns s without what can't be typed: line ends are \n, tabs are spaces, and
// what nobody would see is left out.
func typable(s string) string {
	if plain(s) {
		return s
	}
	s = seen(oneSpace.Replace(strings.ToValidUTF8(s, "")), "\n")
	return strings.ReplaceAll(s, "\ufffd", "")
}
