package widget

import (
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

var (
	fileToken    = regexp.MustCompile(`(?:^|\s)(@(?:"[^"]*|[^\s"]*))$`)
	commandToken = regexp.MustCompile(`^/[\w-]*$`)
)

// suggest opens, changes or closes the popup for what stands before the cursor.
// One that the user has closed stays so until another token is typed.
func (e *Editor) suggest() {
	e.pop = nil
	token := tokenAt(e.box.before())
	if token == "" || e.closed == "" || !strings.HasPrefix(token, e.closed) {
		e.closed = ""
		if items := e.offers(token); len(items) > 0 {
			e.pop = &popup{items: items}
		}
	}
}

// tokenAt returns what at the end of s can be completed: /command or @file, "" for
// nothing.
func tokenAt(s string) string {
	if commandToken.MatchString(s) {
		return s
	}
	if m := fileToken.FindStringSubmatch(s[strings.LastIndexByte(s, '\n')+1:]); m != nil {
		return m[1]
	}
	return ""
}

// offers returns what can stand in place of a token.
func (e *Editor) offers(token string) (items []popupItem) {
	if strings.HasPrefix(token, "/") {
		return e.commandOffers(strings.ToLower(token[1:]))
	}
	if token == "" || e.complete == nil {
		return nil
	}
	for _, name := range e.complete(strings.TrimPrefix(token[1:], `"`)) {
		if typable(name) != name || strings.ContainsAny(name, "\"\n") {
			continue // can't be typed
		}
		value := "@" + name
		if strings.ContainsAny(name, " \t") {
			value = `@"` + name
			if !strings.HasSuffix(name, "/") {
				value += `"`
			}
		}
		if !strings.HasSuffix(name, "/") {
			value += " "
		}
		items = append(items, popupItem{text: name, value: value})
		if len(items) == 50 {
			break
		}
	}
	return items
}

func (e *Editor) commandOffers(prefix string) []popupItem {
	type scored struct {
		popupItem
		score int
	}
	var found []scored
	for _, c := range e.commands {
		score, ok := fuzzy(prefix, strings.ToLower(c.Name))
		if !ok {
			continue
		}
		it := popupItem{text: "/" + OneLine(c.Name), help: OneLine(c.Help), value: "/" + c.Name + " "}
		if c.Args != "" {
			it.text += " " + OneLine(c.Args)
		}
		found = append(found, scored{it, score})
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	items := make([]popupItem, len(found))
	for i, f := range found {
		items[i] = f.popupItem
	}
	return items
}

// popupKey does what a key means to the popup; false when it means nothing.
func (e *Editor) popupKey(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "up", "ctrl+p", "shift+tab":
		e.pop.move(-1)
	case "down", "ctrl+n":
		e.pop.move(1)
	case "esc":
		e.closed = tokenAt(e.box.before())
		e.pop = nil
	case "tab":
		e.take()
	case "enter":
		if tokenAt(e.box.before())+" " == e.pop.items[e.pop.sel].value {
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
	value := e.pop.items[e.pop.sel].value
	before := e.snapshot()
	head, rest := before.text[:before.at], before.text[before.at:]
	token := tokenAt(head)
	if strings.HasPrefix(rest, " ") {
		value = strings.TrimSuffix(value, " ")
	}
	head = strings.TrimSuffix(head, token) + value
	e.box.set(head+rest, len(head))
	e.changed(before, false)
	if !strings.HasSuffix(value, "/") {
		e.pop = nil
	}
}
