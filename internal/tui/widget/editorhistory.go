package widget

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

const maxHistory = 1000

// A history is what was sent, and where the user stands in it. What the user makes of
// a text of the history stays there until something is sent; what was typed
// before going into the history stays for ever.
type history struct {
	sent  []string
	at    int            // len(sent): not in the history
	edits map[int]string // by place; the draft at len(sent)
}

func (h *history) set(sent []string) {
	draft := h.edits[len(h.sent)]
	h.sent = nil
	for _, s := range sent {
		h.keep(s)
	}
	h.at, h.edits = len(h.sent), map[int]string{}
	if draft != "" {
		h.edits[h.at] = draft
	}
}

func (h *history) keep(s string) {
	if s == "" || len(h.sent) > 0 && h.sent[len(h.sent)-1] == s {
		return
	}
	h.sent = append(h.sent, s)
	if len(h.sent) > maxHistory {
		h.sent = h.sent[len(h.sent)-maxHistory:]
	}
}

// add keeps what was sent. It returns the draft that the user had left for it.
func (h *history) add(sent string) (draft string) {
	if h.at < len(h.sent) {
		draft = h.edits[len(h.sent)]
	}
	h.keep(sent)
	h.at, h.edits = len(h.sent), map[int]string{}
	return draft
}

// jump goes to the text at a place; now is what stands in the editor.
func (h *history) jump(to int, now string) (string, bool) {
	if to < 0 || to > len(h.sent) || to == h.at {
		return "", false
	}
	h.edits[h.at] = now
	h.at = to
	if s, ok := h.edits[to]; ok {
		return s, true
	}
	if to == len(h.sent) {
		return "", true
	}
	return h.sent[to], true
}

// find returns the places of texts that hold all words, the newest first, and
// equal ones once.
func (h *history) find(query string, most int) []int {
	words := strings.Fields(strings.ToLower(query))
	seen := map[string]bool{}
	var out []int
	for i := len(h.sent) - 1; i >= 0 && len(out) < most; i-- {
		s := h.sent[i]
		if !seen[s] && containsAll(strings.ToLower(s), words) {
			seen[s] = true
			out = append(out, i)
		}
	}
	return out
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// SetHistory sets what was sent before, the oldest first.
func (e *Editor) SetHistory(h []string) { e.history.set(h) }

// History returns what was sent, the oldest first: at most 1,000 texts, and none
// twice in a row.
func (e *Editor) History() []string { return slices.Clone(e.history.sent) }

const searchLabel = "search history: "

// A search looks for something in the history.
type search struct {
	query string
	hits  []int
	pop   popup
}

func (e *Editor) searchFor(query string) {
	s := e.search
	s.query, s.hits, s.pop = query, e.history.find(query, 50), popup{}
	for _, i := range s.hits {
		s.pop.items = append(s.pop.items, popupItem{text: OneLine(head(e.history.sent[i], 1000))})
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
			e.recall(s.hits[s.pop.sel])
		}
	case "ctrl+r", "down", "ctrl+n":
		s.pop.move(1)
	case "up", "ctrl+p":
		s.pop.move(-1)
	default:
		if query, ok := typeQuery(s.query, k); ok {
			e.searchFor(query)
		}
	}
}

// shownQuery is the end of the query, which is where the user types.
func (e *Editor) shownQuery() string {
	q := e.search.query
	for room := max(e.width-len(searchLabel)-1, 1); Width(q) > room; {
		c, _ := cluster(q)
		q = q[len(c):]
	}
	return q
}

// typeQuery is what a key makes of words to search for; false where it means nothing.
func typeQuery(query string, k tea.KeyPressMsg) (string, bool) {
	switch {
	case k.String() == "backspace":
		_, n := utf8.DecodeLastRuneInString(query)
		return query[:len(query)-n], true
	case k.String() == "ctrl+u":
		return "", true
	case k.Text != "":
		return query + strings.ReplaceAll(Sanitize(k.Text), "\n", " "), true
	}
	return query, false
}
