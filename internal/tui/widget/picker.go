package widget

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/list"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"
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

// rows is the list of bubbles with what a picker and a tree share: a page of rows, one
// of them selected.
type rows struct {
	list.Model
	page int // rows on the screen
}

// oneLine says to the list that an item takes one line; the widgets draw it.
type oneLine struct{}

func (oneLine) Render(io.Writer, list.Model, int, list.Item) {}
func (oneLine) Height() int                                  { return 1 }
func (oneLine) Spacing() int                                 { return 0 }
func (oneLine) Update(tea.Msg, *list.Model) tea.Cmd          { return nil }

func newRows() rows {
	r := rows{Model: list.New(nil, oneLine{}, 80, 24)}
	r.SetShowTitle(false)
	r.SetShowFilter(false)
	r.SetShowStatusBar(false)
	r.SetShowPagination(false)
	r.SetShowHelp(false)
	r.Filter = filterWords
	return r
}

func (r *rows) setPage(width, page int) {
	r.page = max(page, 1)
	r.SetSize(max(width, 1), r.page)
}

// move does what a key means to the selection; false where it means nothing.
func (r *rows) move(k string) bool {
	n := len(r.VisibleItems())
	to := r.Index()
	switch k {
	case "up", "ctrl+p":
		to--
	case "down", "ctrl+n":
		to++
	case "pgup":
		to -= r.page
	case "pgdown":
		to += r.page
	case "home":
		to = 0
	case "end":
		to = n - 1
	default:
		return false
	}
	r.Select(max(min(to, n-1), 0))
	return true
}

// shown returns the places of the first row on the screen and of the one behind the last.
func (r *rows) shown() (from, to int) {
	return r.Paginator.GetSliceBounds(len(r.VisibleItems()))
}

// filterWords finds the texts that have all words of a query, the best first; where
// none has, those whose beginning has the letters in their order.
func filterWords(query string, texts []string) (out []list.Rank) {
	words := strings.Fields(strings.ToLower(query))
	at := make([]int, len(texts))
	for i, text := range texts {
		text = strings.ToLower(text)
		if !containsAll(text, words) {
			continue
		}
		for _, w := range words {
			k := strings.Index(text, w)
			if at[i] += min(k, 500); k > 0 && !strings.ContainsRune(" /-_.:@\n", rune(text[k-1])) {
				at[i] += 500 // not at the beginning of a word
			}
		}
		out = append(out, list.Rank{Index: i})
	}
	slices.SortStableFunc(out, func(a, b list.Rank) int { return at[a.Index] - at[b.Index] })
	if len(out) > 0 {
		return out
	}
	heads := make([]string, len(texts))
	for i, text := range texts {
		heads[i], _, _ = strings.Cut(text, "\n")
	}
	for _, m := range fuzzy.Find(strings.Join(words, ""), heads) {
		out = append(out, list.Rank{Index: m.Index})
	}
	return out
}

// pickRow is an item in the list of bubbles.
type pickRow struct {
	Item
	text string
}

func (r pickRow) FilterValue() string { return r.text }

// A Picker is a list to take one item from. Typing filters: each word must be in an item, or
// its letters in their order; what fits best comes first. Without words the items
// stand as they were given.
type Picker struct {
	theme         *Theme
	o             PickerOptions
	width, height int

	rows   rows
	query  string
	asking bool  // whether to delete
	rename *Form // the name that is typed
}

// NewPicker returns a picker of 80 columns and 24 lines.
func NewPicker(t *Theme, o PickerOptions, items []Item) *Picker {
	p := &Picker{theme: t, o: o, rows: newRows()}
	p.SetSize(80, 24)
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
	page := p.height
	if p.height >= 5 {
		page -= 3 // title, detail, keys
	}
	p.rows.setPage(p.width, page)
}

// SetItems replaces the items. The selection stays with its id.
func (p *Picker) SetItems(items []Item) {
	selected := p.Selected()
	list := make([]list.Item, len(items))
	for i, it := range items {
		list[i] = pickRow{it, head(strings.Join(it.Cells, " ")+"\n"+it.Detail+" "+it.Search, 4000)}
	}
	p.rows.SetItems(list)
	p.filter(selected)
	if p.Selected() != selected {
		p.asking, p.rename = false, nil
	}
}

func (p *Picker) item() (it Item, ok bool) {
	row, ok := p.rows.SelectedItem().(pickRow)
	return row.Item, ok
}

// Selected returns the id of the selected item, "" for none.
func (p *Picker) Selected() string { it, _ := p.item(); return it.ID }

// name is the first cell of the selected item.
func (p *Picker) name() string {
	if it, _ := p.item(); len(it.Cells) > 0 {
		return it.Cells[0]
	}
	return ""
}

// Select selects an item if it is shown.
func (p *Picker) Select(id string) {
	for i, it := range p.rows.VisibleItems() {
		if it.(pickRow).ID == id {
			p.rows.Select(i)
			return
		}
	}
}

// filter shows what fits the query, and selects an item, or the first.
func (p *Picker) filter(selected string) {
	p.rows.ResetFilter()
	if strings.TrimSpace(p.query) != "" {
		p.rows.SetFilterText(p.query)
	}
	p.rows.ResetSelected()
	if selected != "" {
		p.Select(selected)
	}
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
	_, some := p.item()
	switch {
	case p.asking:
		p.asking = false
		if s == "y" {
			return PickDeleteMsg{p.Selected()}
		}
	case slices.ContainsFunc(p.o.Keys, func(x PickerKey) bool { return x.Key == s }):
		return PickKeyMsg{Key: s, ID: p.Selected()}
	case p.rows.move(s):
	case s == "enter":
		if some {
			return PickMsg{p.Selected()}
		}
	case s == "esc":
		if p.query == "" {
			return PickCancelMsg{}
		}
		p.find("")
	case s == "ctrl+d":
		p.asking = p.o.Delete && some
	case s == "ctrl+r":
		if p.o.Rename && some {
			p.rename = NewLineForm(p.theme, "", p.name())
			p.rename.SetSize(p.width, 2)
		}
	default:
		if query, ok := typeQuery(p.query, k); ok {
			p.find(query)
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

// View draws the picker.
func (p *Picker) View() string { return strings.Join(p.lines(), "\n") }

// Cursor returns where the cursor belongs while a name is typed, else nil.
func (p *Picker) Cursor() *tea.Cursor {
	if p.rename == nil {
		return nil
	}
	c := p.rename.in.cursor()
	c.X = min(c.X+Width(renameLabel), p.width-1)
	c.Y = len(p.lines()) - 1
	return c
}

const renameLabel = "new name: "

func (p *Picker) lines() []string {
	t := p.theme
	full := p.height >= 5
	items := p.rows.VisibleItems()
	var out []string
	if full {
		title := OneLine(p.o.Title) + " · " + strconv.Itoa(min(p.rows.Index()+1, len(items))) + "/" + strconv.Itoa(len(items))
		if n := len(p.rows.Items()); n != len(items) {
			title += " of " + strconv.Itoa(n)
		}
		if p.query != "" {
			title += " · search: " + OneLine(p.query)
		}
		out = append(out, t.Paint(t.Accent, Cut(title, p.width)))
	}
	from, to := p.rows.shown()
	widths := p.columnWidths(items[from:to])
	for i := from; i < to; i++ {
		out = append(out, p.row(items[i].(pickRow).Item, i == p.rows.Index(), widths))
	}
	if len(items) == 0 {
		text := OneLine(p.o.Empty)
		if len(p.rows.Items()) > 0 {
			text = "nothing fits; Backspace shortens the search"
		}
		out = append(out, t.Paint(t.Dim, Cut("  "+text, p.width)))
	}
	for full && len(out) < p.height-2 {
		out = append(out, "")
	}
	if full {
		it, _ := p.item()
		out = append(out, t.Paint(t.Dim, Cut(OneLine(head(it.Detail, 2000)), p.width)))
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
		const ask, keys = "delete ", "? y deletes it, any other key keeps it"
		return t.Paint(t.Error, Cut(ask+strconv.Quote(Cut(OneLine(p.name()), max(p.width-len(ask+keys)-2, 8)))+keys, p.width))
	}
	if p.rename != nil {
		return Cut(t.Paint(t.Accent, renameLabel)+p.rename.in.lines()[0], p.width)
	}
	keys := []string{"Enter", "take", "Esc", "leave"}
	for _, k := range p.o.Keys {
		keys = append(keys, keyName(k.Key), OneLine(k.Help))
	}
	if p.o.Rename {
		keys = append(keys, "Ctrl+R", "rename")
	}
	if p.o.Delete {
		keys = append(keys, "Ctrl+D", "delete")
	}
	return Hints(t, p.width, append(keys, "type", "to search")...)
}

// Hints draws pairs of a key and what it does, as many as there is room for.
func Hints(t *Theme, width int, pairs ...string) string {
	h := help.New()
	h.Styles = help.Styles{}
	if t.Mode() != ModeNone {
		h.Styles.ShortKey, h.Styles.ShortDesc, h.Styles.ShortSeparator, h.Styles.Ellipsis = t.Accent, t.Dim, t.Dim, t.Dim
	}
	h.ShortSeparator = meterGap
	h.SetWidth(width)
	var keys []key.Binding
	for i := 0; i+1 < len(pairs); i += 2 {
		keys = append(keys, key.NewBinding(key.WithKeys(pairs[i]), key.WithHelp(pairs[i], pairs[i+1])))
	}
	return Cut(h.ShortHelpView(keys), width)
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
func (p *Picker) columnWidths(shown []list.Item) []int {
	var widths []int
	for _, it := range shown {
		for c, text := range it.(pickRow).Cells {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], Width(OneLine(head(text, 1000))))
		}
	}
	if len(widths) == 0 {
		return nil
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

func (p *Picker) row(it Item, selected bool, widths []int) string {
	t := p.theme
	mark, style := "  ", t.Text
	if selected {
		mark, style = "> ", t.Match
	}
	line := t.Paint(style, mark)
	for c, text := range it.Cells {
		if widths[c] == 0 {
			continue
		}
		if c > 0 {
			line += strings.Repeat(" ", columnGap)
			if !selected {
				style = t.Dim
			}
		}
		line += t.Paint(style, Pad(Cut(OneLine(head(text, 1000)), widths[c]), widths[c]))
	}
	return Cut(trimStyled(line), p.width)
}
