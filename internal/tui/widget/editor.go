package widget

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// SendMsg says that the user sends what was typed. Text has pastes in full.
type SendMsg struct{ Text string }

// A Command is offered when a text begins with a slash.
type Command struct {
	Name string // without the slash
	Args string // how its arguments are written, "" for none
	Help string // a few words
}

// An Editor is where the user types.
//
// Enter sends; Alt+Enter, Shift+Enter, Ctrl+J and Enter after a backslash begin a
// line. Up on the first line and Down on the last go through the history, Ctrl+R
// searches it; a draft comes back where it was left. Ctrl+Z takes back, Ctrl+Y
// does again. Large pastes are shown as a marker, which is one character to the
// cursor. @ completes file names, / commands.
type Editor struct {
	theme         *Theme
	box           textbox
	width, height int
	placeholder   string

	pastes  *pastes
	history history
	undo    undoStack

	complete func(prefix string) []string
	commands []Command
	pop      *popup
	closed   string // the token at which the user has closed the popup
	search   *search
}

// NewEditor returns an empty editor of 80 columns on a screen of 24 lines.
func NewEditor(t *Theme) *Editor {
	e := &Editor{theme: t, box: newTextbox("> "), pastes: &pastes{}, history: history{edits: map[int]string{}}}
	e.box.atoms = e.pastes.markersIn
	e.SetSize(80, 24)
	return e
}

// SetTheme changes how the editor looks.
func (e *Editor) SetTheme(t *Theme) { e.theme = t }

// SetSize says how wide the editor is and how high the screen. The text takes at
// most a third of it.
func (e *Editor) SetSize(width, height int) {
	e.width, e.height = max(width, 1), max(height, 1)
	e.box.setSize(e.width, max(e.height/3, 2))
}

// SetPlaceholder sets what is shown in place of an empty text.
func (e *Editor) SetPlaceholder(s string) { e.placeholder = OneLine(s) }

// SetCommands sets what is offered after a slash.
func (e *Editor) SetCommands(c []Command) { e.commands = c }

// SetComplete sets what gives the names of files that continue a prefix, the best
// first. It is called at each key, so it must answer at once. A name that ends
// with a slash is a folder. A name with a space is put between quotes.
func (e *Editor) SetComplete(fn func(prefix string) []string) { e.complete = fn }

// SetHistory sets what was sent before, the oldest first.
func (e *Editor) SetHistory(h []string) { e.history.set(h) }

// History returns what was sent, the oldest first: at most 1,000 texts, and none
// twice in a row.
func (e *Editor) History() []string { return slices.Clone(e.history.sent) }

// Text returns what was typed, with pastes in full.
func (e *Editor) Text() string { return e.pastes.expand(e.box.text()) }

// Empty reports whether nothing is typed.
func (e *Editor) Empty() bool { return e.box.empty() }

// Offer puts a text into the editor if it is empty, and reports whether it was.
// What the user has typed is never overwritten.
func (e *Editor) Offer(text string) bool {
	if !e.Empty() || e.search != nil {
		return false
	}
	e.replace(e.pastes.fold(text, foldOffer))
	e.pop = nil
	return true
}

// Clear removes what was typed. Ctrl+Z brings it back.
func (e *Editor) Clear() {
	e.search = nil
	e.replace("")
}

// Busy reports whether a list or a search is open, so that Escape is for the
// editor.
func (e *Editor) Busy() bool { return e.pop != nil || e.search != nil }

// Update takes a key or a paste; other messages mean nothing to it. The result is
// a SendMsg or nil.
func (e *Editor) Update(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		if e.search != nil {
			e.searchFor(e.search.query + OneLine(msg.Content))
			return nil
		}
		before := e.snapshot()
		e.box.insert(e.pastes.fold(msg.Content, foldPaste))
		e.changed(before, false)
	case tea.KeyPressMsg:
		if e.search != nil {
			e.searchKey(msg)
			return nil
		}
		return e.key(msg)
	}
	return nil
}

func (e *Editor) key(k tea.KeyPressMsg) tea.Msg {
	if e.pop != nil && e.popupKey(k) {
		return nil
	}
	before := e.snapshot()
	switch k.String() {
	case "enter":
		return e.enter(before)
	case "ctrl+r":
		e.openSearch()
	case "ctrl+z", "ctrl+_":
		e.restore(e.undo.back(before))
	case "ctrl+y", "ctrl+shift+z":
		e.restore(e.undo.forth(before))
	case "up", "ctrl+p":
		e.vertical(-1)
	case "down", "ctrl+n":
		e.vertical(1)
	default:
		if e.box.key(k) {
			e.changed(before, k.Text != "" && k.Text != " ")
		}
	}
	return nil
}

// enter sends, or begins a line after a backslash.
func (e *Editor) enter(before snapshot) tea.Msg {
	if at := e.box.at; at > 0 && e.box.units[at-1].s == `\` {
		e.box.remove(at-1, at)
		e.box.insert("\n")
		e.changed(before, false)
		return nil
	}
	text := strings.TrimSpace(e.Text())
	if text == "" {
		return nil
	}
	draft := e.history.add(text)
	e.pop, e.undo = nil, undoStack{}
	if draft == "" {
		e.pastes.all = nil
	}
	e.box.set(draft, len(draft))
	return SendMsg{Text: text}
}

// vertical moves the cursor, or goes through the history where it can't move.
func (e *Editor) vertical(by int) {
	if e.box.vertical(by) {
		e.suggest()
		return
	}
	if text, ok := e.history.jump(e.history.at+by, e.box.text()); ok {
		e.show(text)
	}
}

// show puts a text of the history into the editor.
func (e *Editor) show(text string) {
	if len(e.pastes.markersIn(text)) == 0 {
		text = e.pastes.fold(text, foldOffer)
	}
	e.box.set(text, len(text))
	e.undo, e.pop = undoStack{}, nil
}

func (e *Editor) replace(s string) {
	before := e.snapshot()
	e.box.set(s, len(s))
	e.changed(before, false)
}

func (e *Editor) snapshot() snapshot {
	return snapshot{e.box.text(), len(e.box.before())}
}

func (e *Editor) restore(s snapshot, ok bool) {
	if ok {
		e.box.set(s.text, s.at)
		e.suggest()
	}
}

// changed remembers what was there before a change, and looks what to offer.
// typed says that a character was typed: a word of them is one change.
func (e *Editor) changed(before snapshot, typed bool) {
	if e.box.text() != before.text {
		e.undo.push(before, typed)
	} else {
		e.undo.typing = false
	}
	e.suggest()
}
