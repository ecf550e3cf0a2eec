// Package top shows the conversations of a gateway in the terminal.
//
//	err := top.Run(ctx, top.Config{Fetch: fetch, Page: "http://127.0.0.1:8791"})
package top

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/table"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/admin"
	"github.com/clew-dev/clew/internal/text"
)

// Config says what is shown.
type Config struct {
	// Fetch asks the gateway.
	Fetch func(context.Context) (admin.Listing, error)
	// Page is the address of the page in a browser.
	Page string
	// Every is how often the gateway is asked. Default: 2 s.
	Every time.Duration
	In    io.Reader
	Out   io.Writer
	Plain bool // no colours
}

// Run shows it until the user has seen enough.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Every <= 0 {
		cfg.Every = 2 * time.Second
	}
	_, err := tea.NewProgram(newScreen(ctx, cfg), tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out)).Run()
	return err
}

// screen is what is shown.
type screen struct {
	ctx   context.Context
	cfg   Config
	table table.Model
	list  admin.Listing
	err   error
	width int
}

func newScreen(ctx context.Context, cfg Config) *screen {
	styles := table.DefaultStyles()
	if cfg.Plain {
		styles.Selected, styles.Header = lipgloss.NewStyle().Reverse(true), lipgloss.NewStyle()
	}
	styles.Header, styles.Cell = styles.Header.Padding(0, 1, 0, 0), lipgloss.NewStyle().Padding(0, 1, 0, 0)
	s := &screen{ctx: ctx, cfg: cfg, table: table.New(table.WithFocused(true), table.WithStyles(styles))}
	s.resize(80, 24)
	return s
}

type (
	fetched struct {
		list admin.Listing
		err  error
	}
	again struct{}
)

func (s *screen) fetch() tea.Msg {
	list, err := s.cfg.Fetch(s.ctx)
	return fetched{list, err}
}

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return s.fetch }

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.resize(msg.Width, msg.Height)
		return s, nil
	case fetched:
		if s.err = msg.err; msg.err == nil {
			chosen := s.chosen()
			s.list = msg.list
			s.rows(chosen)
		}
		return s, tea.Tick(s.cfg.Every, func(time.Time) tea.Msg { return again{} })
	case again:
		return s, s.fetch
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			return s, tea.Quit
		}
	}
	var cmd tea.Cmd
	s.table, cmd = s.table.Update(msg)
	return s, cmd
}

// columns are those of the table, the most important first.
var columns = []struct {
	title string
	width int
	value func(*admin.Talk) string
}{
	{"conversation", 30, func(t *admin.Talk) string { return text.OneLine(cmp.Or(text.Visible(t.About), t.ID), 30) }},
	{"window in use", 22, Full},
	{"req", 5, func(t *admin.Talk) string { return fmt.Sprint(t.Requests) }},
	{"epochs", 6, func(t *admin.Talk) string { return fmt.Sprint(t.Epochs) }},
	{"rescued", 7, func(t *admin.Talk) string { return fmt.Sprint(t.Rescued) }},
	{"cache", 5, func(t *admin.Talk) string { return fmt.Sprintf("%.0f%%", 100*t.CacheShare()) }},
	{"not sent", 8, func(t *admin.Talk) string { return text.Tokens(t.NotSent) }},
	{"list", 6, func(t *admin.Talk) string { return text.Tokens(t.Before) }},
	{"saved", 9, func(t *admin.Talk) string { return fmt.Sprintf("$%.2f", t.Saved) }},
	{"last", 8, func(t *admin.Talk) string { return t.Last.Local().Format(time.TimeOnly) }},
	{"client", 20, func(t *admin.Talk) string { return text.OneLine(text.Visible(t.Client), 20) }},
	{"model", 24, func(t *admin.Talk) string { return text.Clip(text.Visible(t.Model), 24) }},
}

// Full draws how much of its window a conversation uses.
func Full(t *admin.Talk) string {
	if t.Window <= 0 {
		return text.Tokens(t.After)
	}
	n := min(int(10*t.Full()+.5), 10)
	return strings.Repeat("█", n) + strings.Repeat("░", 10-n) + fmt.Sprintf(" %.0f%% of %s", 100*t.Full(), text.Tokens(t.Window))
}

// resize takes the columns that there is room for.
func (s *screen) resize(width, height int) {
	s.width = width
	var taken []table.Column
	room := width
	for _, c := range columns {
		if room -= c.width + 1; room < 0 {
			break
		}
		taken = append(taken, table.Column{Title: c.title, Width: c.width})
	}
	chosen := s.chosen()
	s.table.SetRows(nil) // a row must not have more cells than there are columns
	s.table.SetColumns(taken)
	s.table.SetWidth(width)
	s.table.SetHeight(max(height-5, 2))
	s.rows(chosen)
}

// chosen is the conversation that the cursor is at, "" for none.
func (s *screen) chosen() string {
	if i := s.table.Cursor(); i >= 0 && i < len(s.list.Sessions) {
		return s.list.Sessions[i].ID
	}
	return ""
}

// rows fills the table; the cursor goes where the chosen conversation has gone.
func (s *screen) rows(chosen string) {
	rows := make([]table.Row, len(s.list.Sessions))
	for i := range s.list.Sessions {
		for _, c := range columns[:len(s.table.Columns())] {
			rows[i] = append(rows[i], c.value(&s.list.Sessions[i]))
		}
	}
	s.table.SetRows(rows)
	if len(rows) > 0 {
		s.table.GotoTop() // moving scrolls, setting does not
		s.table.MoveDown(max(slices.IndexFunc(s.list.Sessions, func(t admin.Talk) bool { return t.ID == chosen }), 0))
	}
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	v := tea.NewView(s.content())
	v.AltScreen, v.WindowTitle = true, "clew top"
	return v
}

func (s *screen) content() string {
	foot := "q ends; ↑ ↓ choose; " + s.cfg.Page
	if id := s.chosen(); id != "" {
		foot += "/session/" + id
	}
	if s.err != nil {
		foot = text.OneLine(s.err.Error(), max(s.width, 20))
	}
	lines := []string{text.Clip(Summary(&s.list), max(s.width, 20)), "", s.table.View(), "", text.Clip(foot, max(s.width, 20))}
	return strings.Join(lines, "\n")
}

// Summary is one line on all of it.
func Summary(l *admin.Listing) string {
	out := fmt.Sprintf("%s, %s, %d rescued, %d too long; %s tokens not sent, %.0f%% of the input from the cache",
		text.Counted(l.Requests, "request"), text.Counted(l.Epochs, "epoch"), l.Rescued, l.TooLong, text.Tokens(l.NotSent), 100*l.CacheShare())
	if l.Cost > 0 {
		out += fmt.Sprintf("; $%.2f paid, about $%.2f saved", l.Cost, l.Saved)
	}
	return out
}

// Text writes it once, for a pipe.
func Text(w io.Writer, l *admin.Listing) error {
	var b strings.Builder
	b.WriteString(Summary(l) + "\n")
	if len(l.Sessions) > 0 {
		b.WriteString("\n")
		row := func(cell func(i int) string) {
			line := ""
			for i, c := range columns {
				line += cell(i) + strings.Repeat(" ", max(c.width+1-lipgloss.Width(cell(i)), 1))
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		row(func(i int) string { return columns[i].title })
		for k := range l.Sessions {
			row(func(i int) string { return columns[i].value(&l.Sessions[k]) })
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
