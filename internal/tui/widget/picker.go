package widget

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// An Item is a line of a picker.
type Item struct {
	ID     string
	Cells  []string // what the columns say; the first one gets the most room
	Detail string   // shown below the list while the item is selected
	Search string   // what is searched besides the cells and the detail
}

// A PickerKey is a key that a program gives a meaning to.
type PickerKey struct {
	Key  string // such as "ctrl+s"
	Help string // a word or two
}

// PickerOptions say what a picker can do besides picking.
type PickerOptions struct {
	Title  string
	Empty  string // what is shown when there is no item
	Delete bool   // Ctrl+D deletes, after a question
	Rename bool   // Ctrl+R renames: the first cell is the name
	Keys   []PickerKey
}

// What a picker says.
type (
	// PickMsg says that the user takes an item.
	PickMsg struct{ ID string }
	// PickDeleteMsg says that the user wants an item deleted, and has said so twice.
	PickDeleteMsg struct{ ID string }
	// PickRenameMsg says that the user gives an item another name.
	PickRenameMsg struct{ ID, Name string }
	// PickKeyMsg says that a key of PickerOptions was pressed. ID is the selected
	// item, "" for none.
	PickKeyMsg struct{ Key, ID string }
	// PickCancelMsg says that the user takes nothing.
	PickCancelMsg struct{}
)

// A Picker is a list to take one item from. Typing filters: each word must be in an item, or
// its letters in their order; what fits best comes first. Without words the items
// stand as they were given.
type Picker struct {
	theme         *Theme
	o             PickerOptions
	width, height int

	items  []Item
	search []string // of each item, in lower case
	query  string
	shown  []int
	sel    int // in shown, -1 for none
	top    int
	asking bool  // whether to delete
	rename *Form // the name that is typed
}

// NewPicker returns a picker of 80 columns and 24 lines.
func NewPicker(t *Theme, o PickerOptions, items []Item) *Picker {
	p := &Picker{theme: t, o: o, width: 80, height: 24, sel: -1}
	p.SetItems(items)
	return p
}

// SetTheme changes how the picker looks.
func (p *Picker) SetTheme(t *Theme) { p.theme = t }

// SetSize says how many columns and lines the picker has.
func (p *Picker) SetSize(width, height int) {
	p.width, p.height = max(width, 1), max(height, 1)
	if p.rename != nil {
		p.rename.SetSize(p.width, 2)
	}
	p.scroll()
}

// SetItems replaces the items. The selection stays with its id.
func (p *Picker) SetItems(items []Item) {
	selected := p.Selected()
	p.items = slices.Clone(items)
	p.search = make([]string, len(items))
	for i, it := range p.items {
		p.search[i] = strings.ToLower(head(strings.Join(it.Cells, " ")+" "+it.Detail+" "+it.Search, 4000))
	}
	p.filter(selected)
	if p.Selected() != selected {
		p.asking, p.rename = false, nil
	}
}

// Selected returns the id of the selected item, "" for none.
func (p *Picker) Selected() string {
	if p.sel < 0 {
		return ""
	}
	return p.items[p.shown[p.sel]].ID
}

// Select selects an item if it is shown.
func (p *Picker) Select(id string) {
	for i, k := range p.shown {
		if p.items[k].ID == id {
			p.sel = i
			p.scroll()
			return
		}
	}
}

// filter works out what is shown and selects an item, or the first.
func (p *Picker) filter(selected string) {
	words := strings.Fields(strings.ToLower(p.query))
	p.shown = p.shown[:0]
	score := make([]int, len(p.items))
	for i := range p.items {
		s, ok := fuzzyWords(words, p.search[i])
		if ok {
			score[i] = s
			p.shown = append(p.shown, i)
		}
	}
	slices.SortStableFunc(p.shown, func(a, b int) int { return score[b] - score[a] })
	p.sel = min(0, len(p.shown)-1)
	if selected != "" {
		p.Select(selected)
	}
	p.scroll()
}

// Update takes a key or a paste. The result is a message of the picker or nil.
func (p *Picker) Update(msg tea.Msg) tea.Msg {
	if p.rename != nil {
		return p.renaming(msg)
	}
	switch msg := msg.(type) {
	case tea.PasteMsg:
		p.asking = false
		p.find(p.query + OneLine(msg.Content))
	case tea.KeyPressMsg:
		return p.key(msg)
	}
	return nil
}

func (p *Picker) renaming(msg tea.Msg) tea.Msg {
	switch out := p.rename.Update(msg).(type) {
	case FormMsg:
		p.rename = nil
		return PickRenameMsg{ID: p.Selected(), Name: out.Text}
	case FormCancelMsg:
		p.rename = nil
	}
	return nil
}

func (p *Picker) key(k tea.KeyPressMsg) tea.Msg {
	s := k.String()
	if p.asking {
		p.asking = false
		if s == "y" {
			return PickDeleteMsg{p.Selected()}
		}
		return nil
	}
	if slices.ContainsFunc(p.o.Keys, func(x PickerKey) bool { return x.Key == s }) {
		return PickKeyMsg{Key: s, ID: p.Selected()}
	}
	switch s {
	case "up", "ctrl+p":
		p.goTo(p.sel - 1)
	case "down", "ctrl+n":
		p.goTo(p.sel + 1)
	case "pgup":
		p.goTo(p.sel - p.page())
	case "pgdown":
		p.goTo(p.sel + p.page())
	case "home":
		p.goTo(0)
	case "end":
		p.goTo(len(p.shown) - 1)
	case "enter":
		if p.sel >= 0 {
			return PickMsg{p.Selected()}
		}
	case "esc":
		if p.query == "" {
			return PickCancelMsg{}
		}
		p.find("")
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(p.query)
		p.find(p.query[:len(p.query)-n])
	case "ctrl+u":
		p.find("")
	case "ctrl+d":
		p.asking = p.o.Delete && p.sel >= 0
	case "ctrl+r":
		if p.o.Rename && p.sel >= 0 {
			name := ""
			if c := p.items[p.shown[p.sel]].Cells; len(c) > 0 {
				name = c[0]
			}
			p.rename = NewLineForm(p.theme, "", name)
			p.rename.SetSize(p.width, 2)
		}
	default:
		if k.Text != "" {
			p.find(p.query + strings.ReplaceAll(Sanitize(k.Text), "\n", " "))
		}
	}
	return nil
}

// find changes the words. The best item is selected; without words, the one that was.
func (p *Picker) find(query string) {
	if query == p.query {
		return
	}
	selected := ""
	if p.query = query; query == "" {
		selected = p.Selected()
	}
	p.filter(selected)
}

func (p *Picker) goTo(i int) {
	if len(p.shown) > 0 {
		p.sel = min(max(i, 0), len(p.shown)-1)
		p.scroll()
	}
}

// page is how many items are on the screen.
func (p *Picker) page() int {
	if p.height < 5 {
		return p.height
	}
	return p.height - 3 // title, detail, keys
}

func (p *Picker) scroll() {
	p.top = min(p.top, max(p.sel, 0), max(len(p.shown)-p.page(), 0))
	p.top = max(p.top, p.sel-p.page()+1, 0)
}

// View draws the picker.
func (p *Picker) View() string { return strings.Join(p.lines(), "\n") }

// Cursor returns where the cursor belongs while a name is typed, else nil.
func (p *Picker) Cursor() *tea.Cursor {
	if p.rename == nil {
		return nil
	}
	c := p.rename.box.cursor()
	c.X = min(c.X+Width(renameLabel), p.width-1)
	c.Y = len(p.lines()) - 1
	return c
}

const renameLabel = "new name: "

func (p *Picker) lines() []string {
	t := p.theme
	full := p.height >= 5
	var out []string
	if full {
		title := OneLine(p.o.Title) + " · " + strconv.Itoa(p.sel+1) + "/" + strconv.Itoa(len(p.shown))
		if n := len(p.items); n != len(p.shown) {
			title += " of " + strconv.Itoa(n)
		}
		if p.query != "" {
			title += " · search: " + OneLine(p.query)
		}
		out = append(out, t.Paint(t.Accent, Cut(title, p.width)))
	}
	end := min(p.top+p.page(), len(p.shown))
	widths := p.columnWidths(p.shown[p.top:end])
	for i := p.top; i < end; i++ {
		out = append(out, p.row(i, widths))
	}
	if len(p.shown) == 0 {
		text := OneLine(p.o.Empty)
		if len(p.items) > 0 {
			text = "nothing fits; Backspace shortens the search"
		}
		out = append(out, t.Paint(t.Dim, Cut("  "+text, p.width)))
	}
	for full && len(out) < p.height-2 {
		out = append(out, "")
	}
	if full {
		detail := ""
		if p.sel >= 0 {
			detail = OneLine(head(p.items[p.shown[p.sel]].Detail, 2000))
		}
		out = append(out, t.Paint(t.Dim, Cut(detail, p.width)))
	}
	if full || p.asking || p.rename != nil {
		if len(out) >= p.height {
			out = out[:p.height-1]
		}
		out = append(out, p.bottom())
	}
	return out
}

// bottom is the last line: what the picker asks, or its keys.
func (p *Picker) bottom() string {
	t := p.theme
	if p.asking {
		name := ""
		if c := p.items[p.shown[p.sel]].Cells; len(c) > 0 {
			name = OneLine(c[0])
		}
		const ask, keys = "delete ", "? y deletes it, any other key keeps it"
		return t.Paint(t.Error, Cut(ask+strconv.Quote(Cut(name, max(p.width-len(ask+keys)-2, 8)))+keys, p.width))
	}
	if p.rename != nil {
		return Cut(t.Paint(t.Accent, renameLabel)+p.rename.box.lines()[0], p.width)
	}
	help := "Enter take · Esc leave"
	for _, k := range p.o.Keys {
		help += " · " + keyName(k.Key) + " " + OneLine(k.Help)
	}
	if p.o.Rename {
		help += " · Ctrl+R rename"
	}
	if p.o.Delete {
		help += " · Ctrl+D delete"
	}
	return t.Paint(t.Dim, Cut(help+" · type to search", p.width))
}

// keyName writes "ctrl+s" as people do.
func keyName(s string) string {
	parts := strings.Split(s, "+")
	for i, x := range parts {
		if x != "" {
			parts[i] = strings.ToUpper(x[:1]) + x[1:]
		}
	}
	return strings.Join(parts, "+")
}

const columnGap = 2

// columnWidths shares the line out: each column gets what it needs; where that is too
// much, the first one gives up to half of the line, then the others from the right.
func (p *Picker) columnWidths(shown []int) []int {
	var need []int
	for _, k := range shown {
		for c, text := range p.items[k].Cells {
			if c == len(need) {
				need = append(need, 0)
			}
			need[c] = max(need[c], Width(OneLine(head(text, 1000))))
		}
	}
	room := p.width - 2 - columnGap*max(len(need)-1, 0)
	over := -room
	for _, n := range need {
		over += n
	}
	if over > 0 && len(need) > 0 {
		least := min(need[0], max(room/2, 1))
		give := min(over, need[0]-least)
		need[0] -= give
		over -= give
	}
	for c := len(need) - 1; c >= 0 && over > 0; c-- {
		give := min(over, need[c])
		if c == 0 {
			give = min(over, max(need[0]-1, 0))
		}
		need[c] -= give
		over -= give
	}
	return need
}

func (p *Picker) row(i int, widths []int) string {
	t := p.theme
	it := p.items[p.shown[i]]
	mark, style := "  ", t.Text
	if i == p.sel {
		mark, style = "> ", t.Match
	}
	line := t.Paint(style, mark)
	for c, text := range it.Cells {
		if widths[c] == 0 {
			continue
		}
		if c > 0 {
			line += strings.Repeat(" ", columnGap)
			if i != p.sel {
				style = t.Dim
			}
		}
		line += t.Paint(style, pad(Cut(OneLine(head(text, 1000)), widths[c]), widths[c]))
	}
	return Cut(trimStyled(line), p.width)
}
