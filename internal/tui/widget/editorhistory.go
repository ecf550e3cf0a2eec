package widget

import "slices"

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
	h.keep(sent...)
	h.at, h.edits = len(h.sent), map[int]string{len(h.sent): draft}
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
	if s, ok := h.edits[to]; ok || to == len(h.sent) {
		return s, true
	}
	return h.sent[to], true
}

// SetHistory sets what was sent before, the oldest first.
func (e *Editor) SetHistory(h []string) { e.history.set(h) }

// History returns what was sent, the oldest first: at most 1,000 texts, and none
// twice in a row.
func (e *Editor) History() []string { return slices.Clone(e.history.sent) }
