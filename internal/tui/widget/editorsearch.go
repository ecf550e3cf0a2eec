package widget

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A search looks for something in the history.
type search struct {
	query string
	hits  []int
	pop   popup
}

func (e *Editor) openSearch() {
	e.search, e.pop = &search{}, nil
	e.searchFor("")
}

func (e *Editor) searchFor(query string) {
	s := e.search
	s.query, s.hits, s.pop = query, e.history.find(query, 50), popup{}
	for _, i := range s.hits {
		text := e.history.sent[i]
		s.pop.items = append(s.pop.items, popupItem{text: OneLine(head(text, 1000))})
	}
}

func (e *Editor) searchKey(k tea.KeyPressMsg) {
	s := e.search
	switch k.String() {
	case "esc", "ctrl+c", "ctrl+g":
		e.search = nil
	case "enter", "tab":
		e.search = nil
		if s.pop.sel < len(s.hits) {
			if text, ok := e.history.jump(s.hits[s.pop.sel], e.box.text()); ok {
				e.show(text)
			}
		}
	case "ctrl+r", "down", "ctrl+n":
		s.pop.move(1)
	case "up", "ctrl+p":
		s.pop.move(-1)
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(s.query)
		e.searchFor(s.query[:len(s.query)-n])
	case "ctrl+u":
		e.searchFor("")
	default:
		if k.Text != "" {
			e.searchFor(s.query + strings.ReplaceAll(Sanitize(k.Text), "\n", " "))
		}
	}
}
