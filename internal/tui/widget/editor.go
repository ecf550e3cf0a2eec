package widget

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/text"
)

// SendMsg says that the user sends what was typed. Text has pastes in full.
type SendMsg struct{ Text string }

// An Editor is where the user types.
//
// Enter sends; Alt+Enter, Shift+Enter, Ctrl+J and Enter after a backslash begin a
// line. Up on the first line and Down on the last go through the history; a draft
// comes back where it was left. Ctrl+Z takes back, Ctrl+Y does again. Large pastes are shown as a marker, which is deleted as one. @
// completes file names, / commands.
type Editor struct {
	// Placeholder is shown in place of an empty text.
	Placeholder string
	// Commands are offered after a slash.
	Commands []Command
	// Complete gives the names of files that continue a prefix, the best first. It is called
	// at each key, so it must answer at once. A name that ends with a slash is a folder. A
	// name with a space is put between quotes.
	Complete func(prefix string) []string

	theme         *Theme
	in            *input
	width, height int
	pastes        pastes
	history       history
	pop           *Picker
	closed        string // the token at which the user has closed the popup
}

// NewEditor returns an empty editor of 80 columns on a screen of 24 lines.
func NewEditor(t *Theme) *Editor {
	e := &Editor{theme: t, in: newInput("> "), pastes: pastes{all: map[string]string{}}}
	e.SetSize(80, 24)
	return e
}

// SetSize says how wide the editor is and how high the screen. The text takes at
// most a third of it.
func (e *Editor) SetSize(width, height int) {
	e.width, e.height = max(width, 1), max(height, 1)
	e.in.setSize(e.width, max(e.height/3, 2))
}

// Text returns what was typed, with pastes in full.
func (e *Editor) Text() string { return e.pastes.expand(e.in.text()) }

// Empty reports whether nothing is typed.
func (e *Editor) Empty() bool { return e.in.empty() }

// Offer puts a text into the editor if it is empty, and reports whether it was.
// What the user has typed is never overwritten.
func (e *Editor) Offer(text string) bool {
	if !e.Empty() {
		return false
	}
	text = e.pastes.fold(text, foldOffer)
	e.in.replace(text, len(text))
	e.pop = nil
	return true
}

// Clear removes what was typed. Up and Ctrl+Z bring it back.
func (e *Editor) Clear() {
	e.history.add(e.Text())
	e.in.replace("", 0)
	e.suggest()
}

// Busy reports whether a list is open, so that Escape is for the editor.
func (e *Editor) Busy() bool { return e.pop != nil }

// Update takes a key or a paste; other messages mean nothing to it. The result is
// a SendMsg or nil.
func (e *Editor) Update(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		e.in.insert(e.pastes.fold(msg.Content, foldPaste))
		e.suggest()
	case tea.KeyPressMsg:
		if e.pop == nil || !e.popupKey(msg) {
			return e.key(msg)
		}
	}
	return nil
}

func (e *Editor) key(k tea.KeyPressMsg) tea.Msg {
	switch s := k.String(); {
	case s == "enter" && strings.HasSuffix(e.in.before(), `\`): // begin a line
		was := e.in.now()
		e.in.replace(was.text[:was.at-1]+"\n"+was.text[was.at:], was.at)
	case s == "enter":
		return e.send()
	case (s == "up" || s == "ctrl+p") && e.in.onFirstLine():
		e.Recall(e.history.at - 1)
		return nil
	case (s == "down" || s == "ctrl+n") && e.in.onLastLine():
		e.Recall(e.history.at + 1)
		return nil
	default:
		was := e.in.now()
		e.in.key(k)
		e.wholeMarkers(was)
	}
	e.suggest()
	return nil
}

// send sends what was typed.
func (e *Editor) send() tea.Msg {
	text := strings.TrimSpace(e.Text())
	if text == "" {
		return nil
	}
	draft := e.history.add(text)
	e.pop = nil
	if draft == "" {
		clear(e.pastes.all)
	}
	e.in.set(draft, len(draft))
	e.in.forget()
	return SendMsg{Text: text}
}

// Recall puts the text at a place of History into the editor. What was typed comes back
// with the key Down; changes of a text of the history do not.
func (e *Editor) Recall(at int) {
	h := &e.history
	if at < 0 || at > len(h.sent) || at == h.at {
		return
	}
	if h.at == len(h.sent) {
		h.draft = e.in.text()
	}
	h.at = at
	text := append(e.History(), h.draft)[at]
	if len(e.pastes.markersIn(text)) == 0 {
		text = e.pastes.fold(text, foldOffer)
	}
	e.in.set(text, len(text))
	e.in.forget()
	e.pop = nil
}

// wholeMarkers keeps the markers of pastes whole: one that a key has deleted a part of
// goes as a whole, and the cursor does not stay inside one.
func (e *Editor) wholeMarkers(was snapshot) {
	now := e.in.now()
	if len(now.text) < len(was.text) {
		from := 0
		for from < len(now.text) && now.text[from] == was.text[from] && from < now.at {
			from++
		}
		to := from + len(was.text) - len(now.text)
		for _, m := range e.pastes.markersIn(was.text) {
			if m[0] < to && from < m[1] {
				from, to = min(from, m[0]), max(to, m[1])
			}
		}
		if text := was.text[:from] + was.text[to:]; text != now.text {
			e.in.set(text, from)
		}
		return
	}
	for _, m := range e.pastes.markersIn(now.text) {
		switch {
		case now.at <= m[0] || now.at >= m[1]:
		case now.at < was.at:
			e.in.set(now.text, m[0])
		default:
			e.in.set(now.text, m[1])
		}
	}
}

// Cursor returns where the cursor of the terminal belongs, counted from the corner of
// the view.
func (e *Editor) Cursor() *tea.Cursor {
	c := e.in.cursor()
	c.Y += len(e.offered()) + 1
	return c
}

// Lines draws the editor: what is offered, a rule, and the text.
func (e *Editor) Lines() []string {
	out := append(e.offered(), e.theme.Paint(e.theme.Dim, strings.Repeat("─", e.width)))
	if e.Empty() {
		return append(out, Cut(strings.TrimRight("> "+e.theme.Paint(e.theme.Dim, e.Placeholder), " "), e.width))
	}
	return append(out, e.in.lines()...)
}

// maxPopup is how many lines the list above the editor takes.
const maxPopup = 8

// offered is the list above the editor, which takes a third of the screen at most.
func (e *Editor) offered() []string {
	if e.pop == nil {
		return nil
	}
	e.pop.SetSize(e.width, min(maxPopup, max(e.height/3, 1)))
	return e.pop.Lines()
}

const maxHistory = 1000

// A history is what was sent, and where the user stands in it. What was typed before going
// into it comes back after its end.
type history struct {
	sent  []string
	at    int // len(sent): not in the history
	draft string
}

// keep adds texts: none that is empty, and none twice in a row.
func (h *history) keep(sent ...string) {
	all := slices.Concat(h.sent, sent)
	all = slices.Compact(slices.DeleteFunc(all, func(s string) bool { return s == "" }))
	h.sent = all[max(len(all)-maxHistory, 0):]
}

// add keeps what was sent. It returns the draft that the user had left for it.
func (h *history) add(sent string) (draft string) {
	if h.at < len(h.sent) {
		draft = h.draft
	}
	h.keep(sent)
	h.at, h.draft = len(h.sent), ""
	return draft
}

// SetHistory sets what was sent before, the oldest first.
func (e *Editor) SetHistory(sent []string) {
	e.history.sent = nil
	e.history.keep(sent...)
	e.history.at = len(e.history.sent)
}

// History returns what was sent, the oldest first: at most 1,000 texts, and none
// twice in a row.
func (e *Editor) History() []string { return slices.Clone(e.history.sent) }

// pastes are texts that are not shown in the editor: too large, or with tabs, which an
// editor can't keep. A marker stands for each.
type pastes struct {
	next int
	all  map[string]string // by their markers
}

var pasteMarker = text.Pattern(`\[paste \d+: \d+ (?:lines|characters)\]`)

// A foldLimit says which texts are too large to be shown.
type foldLimit struct{ lines, runes int }

var (
	foldPaste = foldLimit{10, 2_000}
	foldOffer = foldLimit{200, 20_000} // the user may want to change it
)

// fold returns s as it can be typed, or the marker that stands for it.
func (p *pastes) fold(s string, limit foldLimit) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\ufffd"))
	lines := 1 + strings.Count(strings.TrimSuffix(s, "\n"), "\n")
	runes := utf8.RuneCountInString(s)
	if lines <= limit.lines && runes <= limit.runes && !strings.Contains(s, "\t") {
		return typable(s)
	}
	p.next++
	marker := fmt.Sprintf("[paste %d: %d lines]", p.next, lines)
	if lines <= limit.lines && runes > limit.runes || lines == 1 {
		marker = fmt.Sprintf("[paste %d: %d characters]", p.next, runes)
	}
	p.all[marker] = seen(s, "\n\t")
	return marker
}

// expand puts the texts in place of their markers. What looks like a marker in a
// text that was pasted stays.
func (p *pastes) expand(s string) string {
	return pasteMarker().ReplaceAllStringFunc(s, func(marker string) string {
		if text, ok := p.all[marker]; ok {
			return text
		}
		return marker
	})
}

// markersIn returns where markers stand in s, in bytes: each begins at the first number and
// ends before the second.
func (p *pastes) markersIn(s string) [][]int {
	return slices.DeleteFunc(pasteMarker().FindAllStringIndex(s, -1), func(at []int) bool {
		_, ok := p.all[s[at[0]:at[1]]]
		return !ok
	})
}
