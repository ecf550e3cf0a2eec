package tui

import (
	"slices"

	"github.com/clew-dev/clew/internal/tui/widget"
)

// item is a part of the transcript.
type item struct {
	*widget.Block
	entry string   // the entry it is of; "" for a note of the program
	call  string   // the tool call it is of
	after string   // of a note: the entry behind which it stands
	fresh bool     // of a note: it is about what is going on now
	pass  []string // of a note that tells of a pass: the entries that it has written
	said  string   // what plain has printed of it

	name string // of a call that streams in: its tool
	size int    // in bytes, of its arguments
}

// transcript is what is shown of the conversation, and which part of it is on the
// screen. Only what is on the screen is ever drawn.
type transcript struct {
	theme *widget.Theme
	width int

	items []*item
	live  []*item          // of the answer that streams in, behind items
	calls map[string]*item // tool calls by their ids
	more  bool             // there is something before it that was not read

	openTools, openThinking bool

	scrolled bool // the user has moved up: the end is not followed
	top, off int  // where the screen begins while scrolled: an item, a line of it
	below    int  // items that have come since
}

func newTranscript(theme *widget.Theme) *transcript {
	return &transcript{theme: theme, width: 80, calls: map[string]*item{}}
}

func (t *transcript) len() int { return len(t.items) + len(t.live) }

func (t *transcript) at(i int) *item {
	if i < len(t.items) {
		return t.items[i]
	}
	return t.live[i-len(t.items)]
}

// add puts an item at the end of what is complete.
func (t *transcript) add(it *item) *item {
	t.dress(it)
	t.items = append(t.items, it)
	if it.call != "" {
		t.calls[it.call] = it
	}
	if t.scrolled {
		t.below++
	}
	t.trim()
	return it
}

// tight reports whether two blocks stand together without an empty line.
func tight(before, now widget.BlockKind) bool {
	return before == now && (now == widget.BlockTool || now == widget.BlockNotice) ||
		before == widget.BlockThinking && now == widget.BlockTool
}

// dress gives an item the fold that is wanted.
func (t *transcript) dress(it *item) {
	switch it.Kind {
	case widget.BlockTool, widget.BlockCompaction, widget.BlockBranch, widget.BlockUser:
		it.Open = t.openTools
	case widget.BlockThinking:
		it.Open = t.openThinking
	default:
	}
}

// mostKept is how many items are kept for showing. The session has all of it.
const mostKept = 8_000

// trim drops the oldest items where there are too many.
func (t *transcript) trim() {
	n := len(t.items) - mostKept
	if n < mostKept/10 {
		return // so that not each new item makes the list anew
	}
	t.items, t.more = slices.Clone(t.items[n:]), true
	if t.top -= n; t.top < 0 {
		t.top, t.off = 0, 0
	}
}

// lastEntry is the id of the last entry that is shown.
func (t *transcript) lastEntry() string {
	for _, it := range slices.Backward(t.items) {
		if it.entry != "" {
			return it.entry
		}
	}
	return ""
}

// note adds something that the program says.
func (t *transcript) note(kind widget.BlockKind, title, text string) *item {
	return t.add(&item{Block: widget.NewBlock(kind, title, text), after: t.lastEntry(), fresh: true})
}

// clear takes away all that is shown.
func (t *transcript) clear() {
	t.items, t.live, t.more, t.calls = nil, nil, false, map[string]*item{}
	t.end()
}

// fixNotes marks the notes as done with: from now on they stay where they are.
func (t *transcript) fixNotes() {
	for _, it := range t.items {
		it.fresh = false
	}
}

// rebuild replaces what is shown by what an agent's path says. Notes stay behind
// the entry that they stood behind; those of what was left behind go, but for the newest, and
// of those that tell of a pass the ones to be kept stay.
func (t *transcript) rebuild(items []*item, keep func(pass []string) bool) {
	anchor, off := "", t.off // what the screen begins with
	for i := t.top; t.scrolled && i < len(t.items) && anchor == ""; i++ {
		anchor = t.items[i].entry
	}
	last := map[string]int{} // of an entry: its last item
	for i, it := range items {
		last[it.entry] = i
	}
	behind := map[int][]*item{}
	for _, it := range t.items {
		if it.entry != "" || it.pass != nil && !keep(it.pass) {
			continue
		}
		i, ok := last[it.after]
		switch {
		case ok:
		case it.after == "" && !it.fresh:
			i = -1
		case it.fresh:
			i, it.fresh = len(items)-1, false
			if i >= 0 {
				it.after = items[i].entry
			}
		default:
			continue
		}
		behind[i] = append(behind[i], it)
	}
	t.clear()
	for i := -1; i < len(items); i++ {
		if i >= 0 {
			t.add(items[i])
		}
		for _, n := range behind[i] {
			open := n.Open
			t.add(n).Open = open
		}
	}
	if i := slices.IndexFunc(t.items, func(it *item) bool { return it.entry == anchor }); anchor != "" && i >= 0 {
		t.scrolled, t.top, t.off = true, i, min(off, max(len(t.lines(i))-1, 0))
	}
}

// fold folds or unfolds all tool calls and summaries, and thinking.
func (t *transcript) fold(tools, thinking bool) {
	t.openTools, t.openThinking = tools, thinking
	for i := range t.len() {
		t.dress(t.at(i))
	}
}

// lines draws an item, with the empty line before it.
func (t *transcript) lines(i int) []string {
	lines := t.at(i).Lines(t.theme, t.width)
	switch {
	case i == 0 && t.more:
		head := t.theme.Paint(t.theme.Dim, widget.Cut("- earlier parts are read when you go up; /recall finds them, /export writes all", t.width))
		return append([]string{head, ""}, lines...)
	case i == 0 || len(lines) == 0 || tight(t.at(i-1).Kind, t.at(i).Kind):
		return lines
	}
	return append([]string{""}, lines...)
}

// view draws height lines.
func (t *transcript) view(height int) []string {
	if height <= 0 {
		return nil
	}
	if t.scrolled {
		var out []string
		off := t.off
		for i := t.top; i < t.len(); i++ {
			l := t.lines(i)
			out = append(out, l[min(off, len(l)):]...)
			off = 0
			if len(out) > height {
				return out[:height]
			}
		}
		t.end() // what is left does not fill the screen
	}
	var out []string
	for i := t.len() - 1; i >= 0 && len(out) < height; i-- {
		out = append(slices.Clone(t.lines(i)), out...)
	}
	return out[max(len(out)-height, 0):]
}

// end follows the end again.
func (t *transcript) end() { t.scrolled, t.top, t.off, t.below = false, 0, 0, 0 }

// home goes to the beginning.
func (t *transcript) home() {
	if t.len() > 0 {
		t.scrolled, t.top, t.off = true, 0, 0
	}
}

// scroll moves by lines, up where n is below 0; height is that of the screen.
func (t *transcript) scroll(n, height int) {
	if t.len() == 0 || n > 0 && !t.scrolled {
		return
	}
	if !t.scrolled { // begin where the screen begins now
		t.top, t.off = t.len()-1, 0
		for rows := 0; ; t.top-- {
			rows += len(t.lines(t.top))
			if rows >= height || t.top == 0 {
				t.off = max(rows-height, 0)
				break
			}
		}
		if t.top == 0 && t.off == 0 {
			return // all is on the screen
		}
		t.scrolled = true
	}
	t.off += n
	for t.off < 0 && t.top > 0 {
		t.top--
		t.off += len(t.lines(t.top))
	}
	t.off = max(t.off, 0)
	for t.top < t.len()-1 && t.off >= len(t.lines(t.top)) {
		t.off -= len(t.lines(t.top))
		t.top++
	}
}
