package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A textbox is a text that is being typed, and where the cursor stands. It keeps the text
// as it was given: tabs, any number of lines, and characters that are several
// runes, over which the cursor steps as over one.
type textbox struct {
	prompt string // before the first line
	units  []unit
	at     int // the cursor is before this unit
	goal   int // the column that up and down try to keep, -1 for none

	atoms func(text string) []span // parts of a text that are one unit, in order

	width, height int // columns; most lines that are shown
	rows          []boxRow
	top           int // the first row that is shown
}

// A unit is what the cursor steps over: a character, or an atom.
type unit struct {
	s string
	w int // columns
}

// A boxRow is a line on the screen: the units from one to before another.
type boxRow struct{ from, to int }

// A span is a part of a text, in bytes.
type span struct{ from, to int }

func newTextbox(prompt string) textbox {
	b := textbox{prompt: prompt, goal: -1, width: 80, height: 8}
	b.layout()
	return b
}

func (b *textbox) setSize(width, height int) {
	b.width, b.height = width, max(height, 1)
	b.layout()
}

func (b *textbox) text() string { return joined(b.units) }

func joined(units []unit) string {
	var s strings.Builder
	for _, u := range units {
		s.WriteString(u.s)
	}
	return s.String()
}

func (b *textbox) empty() bool { return len(b.units) == 0 }

// before returns the text before the cursor.
func (b *textbox) before() string { return joined(b.units[:b.at]) }

// typable returns s without what can't be typed: line ends are \n, and what
// nobody would see is left out.
func typable(s string) string {
	if plain(s) {
		return s
	}
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\ufffd"))
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unseen(r) {
			return -1
		}
		return r
	}, s)
}

// set replaces the text and moves the cursor to a byte of it.
func (b *textbox) set(text string, at int) {
	b.put(typable(text), at)
}

func (b *textbox) put(text string, at int) {
	b.units = b.units[:0]
	b.at = -1
	var atoms []span
	if b.atoms != nil {
		atoms = b.atoms(text)
	}
	for i := 0; i < len(text); {
		if i >= at && b.at < 0 {
			b.at = len(b.units)
		}
		u := unit{}
		if len(atoms) > 0 && atoms[0].from == i {
			u.s = text[i:atoms[0].to]
			u.w = Width(u.s)
			atoms = atoms[1:]
		} else {
			u.s, u.w = cluster(text[i:])
			if len(atoms) > 0 {
				u.s = u.s[:min(len(u.s), atoms[0].from-i)]
			}
			switch u.s {
			case "\t":
				u.w = len(tabSpaces)
			case "\n":
				u.w = 0
			}
		}
		b.units = append(b.units, u)
		i += len(u.s)
	}
	if b.at < 0 {
		b.at = len(b.units)
	}
	b.goal = -1
	b.layout()
}

// insert puts s where the cursor is.
func (b *textbox) insert(s string) {
	head := b.before() + typable(s)
	b.put(head+joined(b.units[b.at:]), len(head))
}

// remove takes out the units between two places. The cursor ends up there.
func (b *textbox) remove(from, to int) {
	from, to = max(from, 0), min(to, len(b.units))
	head := joined(b.units[:from])
	b.put(head+joined(b.units[to:]), len(head))
}

func (b *textbox) moveTo(at int) {
	b.at, b.goal = min(max(at, 0), len(b.units)), -1
	b.scroll()
}

// key does what a key means, and reports whether it means anything.
func (b *textbox) key(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "left", "ctrl+b":
		b.moveTo(b.at - 1)
	case "right", "ctrl+f":
		b.moveTo(b.at + 1)
	case "alt+left", "ctrl+left", "alt+b":
		b.moveTo(b.wordLeft())
	case "alt+right", "ctrl+right", "alt+f":
		b.moveTo(b.wordRight())
	case "home", "ctrl+a":
		b.moveTo(b.lineStart())
	case "end", "ctrl+e":
		b.moveTo(b.lineEnd())
	case "ctrl+home", "alt+<":
		b.moveTo(0)
	case "ctrl+end", "alt+>":
		b.moveTo(len(b.units))
	case "up", "ctrl+p":
		b.vertical(-1)
	case "down", "ctrl+n":
		b.vertical(1)
	case "pgup":
		b.vertical(-b.height)
	case "pgdown":
		b.vertical(b.height)
	case "backspace", "ctrl+h", "shift+backspace":
		b.remove(b.at-1, b.at)
	case "delete", "ctrl+d":
		b.remove(b.at, b.at+1)
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		b.remove(b.wordLeft(), b.at)
	case "alt+d", "alt+delete", "ctrl+delete":
		b.remove(b.at, b.wordRight())
	case "ctrl+u":
		b.remove(min(b.lineStart(), max(b.at-1, 0)), b.at)
	case "ctrl+k":
		b.remove(b.at, max(b.lineEnd(), b.at+1))
	case "enter", "shift+enter", "alt+enter", "ctrl+j":
		b.insert("\n")
	default:
		if k.Text == "" {
			return false
		}
		b.insert(k.Text)
	}
	return true
}

func (b *textbox) lineStart() int {
	i := b.at
	for i > 0 && b.units[i-1].s != "\n" {
		i--
	}
	return i
}

func (b *textbox) lineEnd() int {
	i := b.at
	for i < len(b.units) && b.units[i].s != "\n" {
		i++
	}
	return i
}

func (b *textbox) wordLeft() int {
	i := b.at
	for i > 0 && !b.units[i-1].word() {
		i--
	}
	for i > 0 && b.units[i-1].word() {
		i--
	}
	return i
}

func (b *textbox) wordRight() int {
	i := b.at
	for i < len(b.units) && !b.units[i].word() {
		i++
	}
	for i < len(b.units) && b.units[i].word() {
		i++
	}
	return i
}

func (u unit) word() bool {
	r, _ := utf8.DecodeRuneInString(u.s)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || len(u.s) > 1 && !unicode.IsSpace(r)
}

// vertical moves the cursor up or down on the screen and reports whether it did.
func (b *textbox) vertical(by int) bool {
	row, col := b.place()
	to := min(max(row+by, 0), len(b.rows)-1)
	if to == row {
		return false
	}
	if b.goal < 0 {
		b.goal = col
	}
	at, w := b.rows[to].from, 0
	for at < b.rowEnd(to) && w+b.units[at].w <= b.goal {
		w += b.units[at].w
		at++
	}
	b.at = at
	b.scroll()
	return true
}

// rowEnd is the last place for the cursor on a row.
func (b *textbox) rowEnd(row int) int {
	r := b.rows[row]
	if row+1 < len(b.rows) && b.rows[row+1].from == r.to {
		return max(r.to-1, r.from) // the place after it is the beginning of the next row
	}
	return r.to
}

// place returns the row and the column of the cursor.
func (b *textbox) place() (row, col int) {
	for row = len(b.rows) - 1; row > 0 && b.rows[row].from > b.at; {
		row--
	}
	for _, u := range b.units[b.rows[row].from:b.at] {
		col += u.w
	}
	return row, col
}

// room is how many columns a row has: one is left for the cursor after it.
func (b *textbox) room() int { return max(b.width-Width(b.prompt)-1, 2) }

// layout breaks the text into rows.
func (b *textbox) layout() {
	room := b.room()
	b.rows = b.rows[:0]
	from, w := 0, 0
	breakAt := -1
	before := rune(0)
	for i, u := range b.units {
		if u.s == "\n" {
			b.rows = append(b.rows, boxRow{from, i})
			from, w, breakAt, before = i+1, 0, -1, 0
			continue
		}
		first, _ := utf8.DecodeRuneInString(u.s)
		if i > from && (before == ' ' && first != ' ' || breaksBetween(before, first)) {
			breakAt = i
		}
		if w+u.w > room && i > from {
			end := i
			if breakAt > from {
				end = breakAt
			}
			b.rows = append(b.rows, boxRow{from, end})
			from, w, breakAt = end, 0, -1
			for _, v := range b.units[from:i] {
				w += v.w
			}
		}
		w += u.w
		before, _ = utf8.DecodeLastRuneInString(u.s)
	}
	b.rows = append(b.rows, boxRow{from, len(b.units)})
	b.scroll()
}

// scroll moves what is shown to where the cursor is.
func (b *textbox) scroll() {
	row, _ := b.place()
	b.top = min(b.top, row, max(len(b.rows)-b.height, 0))
	b.top = max(b.top, row-b.height+1, 0)
}

// lines draws the rows that are shown.
func (b *textbox) lines() []string {
	blank := strings.Repeat(" ", Width(b.prompt))
	var out []string
	for i := b.top; i < min(b.top+b.height, len(b.rows)); i++ {
		line := blank
		if i == 0 {
			line = b.prompt
		}
		text := joined(b.units[b.rows[i].from:b.rows[i].to])
		line += strings.ReplaceAll(text, "\t", tabSpaces)
		out = append(out, Cut(strings.TrimRight(line, " "), b.width))
	}
	return out
}

// cursor returns where the cursor is on the screen, from the corner of the box.
func (b *textbox) cursor() *tea.Cursor {
	row, col := b.place()
	return tea.NewCursor(max(min(col+Width(b.prompt), b.width-1), 0), row-b.top)
}
