package widget

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/sahilm/fuzzy"

	"github.com/clew-dev/clew/internal/text"
)

// An Item is a line of a picker.
type Item struct {
	ID     string
	Lead   string   // stands before the first cell, such as the lines of a tree
	Cells  []string // what the columns say; the first one gets the most room
	Detail string   // shown below the list while the item is selected
	Search string   // what is searched besides the cells and the detail
	Style  func(*Theme) lipgloss.Style
}

// A PickerKey is a key that a program gives a meaning to.
type PickerKey struct {
	Key  string // such as "ctrl+s"
	Help string // a word or two
}

// PickerOptions say what a picker shows, and what it can do besides picking.
type PickerOptions struct {
	Title string
	Empty string // what is shown when there is no item
	Take  string // what Enter does; default "take"
	Keys  []PickerKey
	// Layout, if any, returns what is shown for what is searched, and which of it is selected
	// where the user has gone to want. Without it, SetItems says what there is to show.
	Layout func(query, want string) (items []Item, at string)
	// Bare leaves out the title, the detail and the keys.
	Bare bool
}

// A Picker is a list to take one item from. Typing filters: each word must be in an item, or
// its letters in their order; what fits best comes first. Without words the items
// stand as they were given.
type Picker struct {
	PickerOptions
	theme         *Theme
	width, height int

	items   []Item // without a layout
	shown   []Item
	at, top int // the selected one, the first that is on the screen
	query   string
	want    string // the item that the user has gone to, shown or not
}

// NewPicker returns a picker of 80 columns and 24 lines.
func NewPicker(t *Theme, o PickerOptions, items []Item) *Picker {
	p := &Picker{PickerOptions: o, theme: t, width: 80, height: 24}
	p.SetItems(items)
	return p
}

// SetSize says how many columns and lines the picker has.
func (p *Picker) SetSize(width, height int) { p.width, p.height = max(width, 1), max(height, 1) }

// full reports whether there is room for a title, a detail and keys.
func (p *Picker) full() bool { return p.height >= 5 && !p.Bare }

// page is how many items are on the screen at once.
func (p *Picker) page() int {
	if p.full() {
		return p.height - 3
	}
	return p.height
}

// SetItems replaces the items. The selection stays with its id.
func (p *Picker) SetItems(items []Item) {
	p.items, p.want = items, p.Selected()
	p.Refresh()
}

// Refresh has the items laid out again.
func (p *Picker) Refresh() {
	layout := p.Layout
	if layout == nil {
		layout = p.best
	}
	items, at := layout(p.query, p.want)
	p.shown, p.at = items, max(slices.IndexFunc(items, func(it Item) bool { return it.ID == at }), 0)
}

// best finds the items that have all words of a query, the best first; where none
// has, those whose cells have the letters in their order.
func (p *Picker) best(query, want string) (out []Item, at string) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return p.items, want
	}
	heads, far := make([]string, len(p.items)), map[string]int{}
	for i, it := range p.items {
		heads[i] = strings.Join(it.Cells, " ")
		all, n := strings.ToLower(text.Head(heads[i]+"\n"+it.Detail+" "+it.Search, 4000)), 0
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) }) {
			continue
		}
		for _, w := range words {
			k := strings.Index(all, w)
			if n += min(k, 500); k > 0 && !strings.ContainsRune(" /-_.:@\n", rune(all[k-1])) {
				n += 500 // not at the beginning of a word
			}
		}
		far[it.ID], out = n, append(out, it)
	}
	slices.SortStableFunc(out, func(a, b Item) int { return far[a.ID] - far[b.ID] })
	if len(out) == 0 {
		for _, m := range fuzzy.Find(strings.Join(words, ""), heads) {
			out = append(out, p.items[m.Index])
		}
	}
	return out, want
}

// Shown returns the items that are shown.
func (p *Picker) Shown() []Item { return p.shown }

// item is the selected one.
func (p *Picker) item() Item {
	if len(p.shown) == 0 {
		return Item{}
	}
	return p.shown[p.at]
}

// Selected returns the id of the selected item, "" for none.
func (p *Picker) Selected() string { return p.item().ID }

// Select says that the user goes to an item.
func (p *Picker) Select(id string) {
	p.want = id
	p.Refresh()
}

// Update takes a key or a paste. The result is a DoneMsg, a KeyMsg, a LeaveMsg or nil.
func (p *Picker) Update(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		p.Find(p.query + OneLine(msg.Content))
	case tea.KeyPressMsg:
		return p.key(msg)
	}
	return nil
}

func (p *Picker) key(k tea.KeyPressMsg) tea.Msg {
	s := k.String()
	switch {
	case slices.ContainsFunc(p.Keys, func(x PickerKey) bool { return x.Key == s }):
		return KeyMsg{Key: s, ID: p.Selected()}
	case s == "enter":
		if len(p.shown) > 0 {
			return DoneMsg{p.Selected()}
		}
	case s == "esc" && p.query == "":
		return LeaveMsg{}
	case s == "esc" || s == "ctrl+u":
		p.Find("")
	case s == "backspace":
		_, n := utf8.DecodeLastRuneInString(p.query)
		p.Find(p.query[:len(p.query)-n])
	case k.Text != "":
		p.Find(p.query + strings.ReplaceAll(Sanitize(k.Text), "\n", " "))
	case len(p.shown) > 0:
		p.move(s)
	}
	return nil
}

// move goes to the item that a key means. Of a bare list the ends meet.
func (p *Picker) move(key string) {
	at, last := p.at, len(p.shown)-1
	switch key {
	case "up", "ctrl+p", "shift+tab":
		at--
	case "down", "ctrl+n":
		at++
	case "pgup":
		at -= p.page()
	case "pgdown":
		at += p.page()
	case "home":
		at = 0
	case "end":
		at = last
	}
	switch {
	case p.Bare && at < 0:
		at = last
	case p.Bare && at > last:
		at = 0
	}
	p.at = max(min(at, last), 0)
	p.want = p.Selected()
}

// Find changes the words. The best item is selected; without words, the one that was.
func (p *Picker) Find(query string) {
	if query == p.query {
		return
	}
	if p.Layout == nil {
		p.want = ""
		if query == "" {
			p.want = p.Selected()
		}
	}
	p.query = query
	p.Refresh()
}

// Lines draws the picker.
func (p *Picker) Lines() []string {
	t := p.theme
	items := p.shown
	var out []string
	if p.full() {
		title := OneLine(p.Title) + " · " + strconv.Itoa(min(p.at+1, len(items))) + "/" + strconv.Itoa(len(items))
		if p.Layout == nil && len(p.items) != len(items) {
			title += " of " + strconv.Itoa(len(p.items))
		}
		if p.query != "" {
			title += " · search: " + OneLine(p.query)
		}
		out = append(out, t.Paint(t.Accent, Cut(title, p.width)))
	}
	page := p.page() // it scrolls by lines: at the end stands what is before it
	p.top = max(min(p.top, p.at, len(items)-page), p.at-page+1, 0)
	shown := items[p.top:min(p.top+page, len(items))]
	widths := p.columnWidths(shown)
	for i, it := range shown {
		out = append(out, p.row(it, p.top+i == p.at, widths))
	}
	if len(items) == 0 {
		text := OneLine(p.Empty)
		if p.query != "" {
			text = "nothing fits; Backspace shortens the search"
		}
		out = append(out, t.Paint(t.Dim, Cut("  "+text, p.width)))
	}
	if p.full() {
		for len(out) < p.height-2 {
			out = append(out, "")
		}
		out = append(out, t.Paint(t.Dim, Cut(OneLine(text.Head(p.item().Detail, 2000)), p.width)), p.hints())
	}
	return out
}

// initials are the letters that are large in the name of a key, such as Ctrl+S.
var initials = text.Pattern(`\b\w`)

func (p *Picker) hints() string {
	keys := []string{"Enter", cmp.Or(p.Take, "take"), "Esc", "leave", "type", "to search"}
	for _, k := range p.Keys {
		keys = append(keys, initials().ReplaceAllStringFunc(k.Key, strings.ToUpper), OneLine(k.Help))
	}
	return Hints(p.theme, p.width, keys...)
}

// Hints draws pairs of a key and what it does, as many as there is room for.
func Hints(t *Theme, width int, pairs ...string) string {
	h := help.New()
	h.Styles = help.Styles{}
	if t.Mode != ModeNone {
		h.Styles.ShortKey, h.Styles.ShortDesc, h.Styles.ShortSeparator, h.Styles.Ellipsis = t.Accent, t.Dim, t.Dim, t.Dim
	}
	h.ShortSeparator = Gap
	h.SetWidth(width)
	var keys []key.Binding
	for i := 0; i+1 < len(pairs); i += 2 {
		keys = append(keys, key.NewBinding(key.WithKeys(pairs[i]), key.WithHelp(pairs[i], pairs[i+1])))
	}
	return Cut(h.ShortHelpView(keys), width)
}

const columnGap = 2

// columnWidths shares the line out: each column gets what it needs; where that is too
// much, the first one gives up to half of the line, then the others from the right.
// What stands alone on its line takes all of it.
func (p *Picker) columnWidths(shown []Item) []int {
	widths := []int{0}
	for _, it := range shown {
		for c, text := range it.Cells {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			w := Width(oneCell(text))
			switch {
			case c > 0:
				widths[c] = max(widths[c], w)
			case len(it.Cells) > 1:
				widths[c] = max(widths[c], Width(it.Lead)+w)
			}
		}
	}
	room := p.width - 2
	rest := 0
	for _, w := range widths[1:] {
		rest += columnGap + w
	}
	widths[0] = min(widths[0], max(room-rest, room/2, 1))
	room -= widths[0]
	for c := 1; c < len(widths); c++ {
		widths[c] = max(min(widths[c], room-columnGap), 0)
		room -= columnGap + widths[c]
	}
	return widths
}

func oneCell(s string) string { return OneLine(text.Head(s, 1000)) }

func (p *Picker) row(it Item, selected bool, widths []int) string {
	t := p.theme
	mark, style := "  ", t.Text
	if it.Style != nil {
		style = it.Style(t)
	}
	if selected {
		mark, style = "> ", t.Match
	}
	line := t.Paint(style, mark) + t.Paint(t.Dim, it.Lead)
	room := widths[0] - Width(it.Lead)
	for c, text := range it.Cells {
		if c > 0 {
			if room = widths[c]; room == 0 {
				continue
			}
			line += strings.Repeat(" ", columnGap)
			if !selected {
				style = t.Dim
			}
		}
		if text = oneCell(text); c < len(it.Cells)-1 {
			text = Pad(Cut(text, room), room)
		}
		line += t.Paint(style, text)
	}
	return Cut(trimStyled(line), p.width)
}
