package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"github.com/clew-dev/clew/internal/text"
)

// A Command is offered when a text begins with a slash.
type Command struct {
	Name string // without the slash
	Args string // how its arguments are written, "" for none
	Help string // a few words
}

var (
	fileToken    = text.Pattern(`(?:^|\s)(@(?:"[^"]*|[^\s"]*))$`)
	commandToken = text.Pattern(`^/[\w:-]*$`)
)

// suggest opens, changes or closes the popup for what stands before the cursor.
// One that the user has closed stays so until another token is typed.
func (e *Editor) suggest() {
	e.pop = nil
	token := tokenAt(e.in.before())
	if token == "" || e.closed == "" || !strings.HasPrefix(token, e.closed) {
		e.closed = ""
		if items := e.offers(token); len(items) > 0 {
			e.pop = NewPicker(e.theme, PickerOptions{Bare: true}, items)
		}
	}
}

// tokenAt returns what at the end of s can be completed: /command or @file, "" for
// nothing.
func tokenAt(s string) string {
	if commandToken().MatchString(s) {
		return s
	}
	if m := fileToken().FindStringSubmatch(s[strings.LastIndexByte(s, '\n')+1:]); m != nil {
		return m[1]
	}
	return ""
}

// offers returns what can stand in place of a token, as the ids of items.
func (e *Editor) offers(token string) (items []Item) {
	if strings.HasPrefix(token, "/") {
		return e.commandOffers(token[1:])
	}
	if token == "" || e.Complete == nil {
		return nil
	}
	for _, name := range e.Complete(strings.TrimPrefix(token[1:], `"`)) {
		if typable(name) != name || strings.ContainsAny(name, "\"\n") {
			continue // can't be typed
		}
		value, end := "@"+name, " "
		if strings.Contains(name, " ") {
			value, end = `@"`+name, `" `
		}
		if !strings.HasSuffix(name, "/") {
			value += end
		}
		items = append(items, Item{ID: value, Cells: []string{name}})
	}
	return items
}

// commandOffers returns the commands that fit what was typed of a name, the best first;
// all of them where nothing was.
func (e *Editor) commandOffers(typed string) (items []Item) {
	var names []string
	for _, c := range e.Commands {
		names = append(names, c.Name)
	}
	found := fuzzy.Find(typed, names)
	if typed == "" {
		for i := range names {
			found = append(found, fuzzy.Match{Index: i})
		}
	}
	for _, m := range found {
		c := e.Commands[m.Index]
		items = append(items, Item{ID: "/" + c.Name + " ", Cells: []string{"/" + c.Name + " " + c.Args, c.Help}})
	}
	return items
}

// popupKey does what a key means to the popup; false when it means nothing.
func (e *Editor) popupKey(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "up", "ctrl+p", "shift+tab", "down", "ctrl+n":
		e.pop.Update(k)
	case "esc":
		e.closed = tokenAt(e.in.before())
		e.pop = nil
	case "tab":
		e.take()
	case "enter":
		if tokenAt(e.in.before())+" " == e.pop.Selected() {
			return false // typed in full: Enter means the text
		}
		e.take()
	default:
		return false
	}
	return true
}

// take puts the selected item in place of what was typed of it.
func (e *Editor) take() {
	value := e.pop.Selected()
	was := e.in.now()
	head, rest := was.text[:was.at], was.text[was.at:]
	if strings.HasPrefix(rest, " ") {
		value = strings.TrimSuffix(value, " ")
	}
	head = strings.TrimSuffix(head, tokenAt(head)) + value
	e.in.replace(head+rest, len(head))
	e.suggest()
	if !strings.HasSuffix(value, "/") {
		e.pop = nil
	}
}
