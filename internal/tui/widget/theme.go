package widget

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// A Mode says for which background a theme is made.
type Mode string

// The modes.
const (
	ModeAuto  Mode = "auto"  // as the terminal answers when it is asked for its background
	ModeLight Mode = "light" // dark on light
	ModeDark  Mode = "dark"  // light on dark
	ModeNone  Mode = "none"  // no escape sequences at all: NO_COLOR, screen readers
)

// A Style is how a text looks.
type Style = lipgloss.Style

// A Theme says how everything looks. Widgets share one: it is changed in place once the
// terminal has said what its background is.
type Theme struct {
	Mode Mode // light, dark or none

	Text, Dim, Bold, Accent   lipgloss.Style
	Good, Warning, Error      lipgloss.Style
	User, Thinking, Tool, Box lipgloss.Style
	Match                     lipgloss.Style
	Added, Removed, Hunk      lipgloss.Style
}

// NewTheme returns the theme of a mode. dark says what an auto theme is: whether
// the background of the terminal is dark.
func NewTheme(m Mode, dark bool) *Theme {
	if m != ModeLight && m != ModeDark && m != ModeNone {
		m = ModeLight
		if dark {
			m = ModeDark
		}
	}
	t := &Theme{Mode: m}
	if m == ModeNone {
		return t
	}
	pick := lipgloss.LightDark(m == ModeDark)
	fg := func(light, dark string) lipgloss.Style {
		return lipgloss.NewStyle().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	t.Dim = fg("#6b6b6b", "#8a8a8a")
	t.Bold = lipgloss.NewStyle().Bold(true)
	t.Accent = fg("#005faf", "#5fafff")
	t.Good = fg("#006f1f", "#5fd75f")
	t.Warning = fg("#8a5a00", "#ffaf00")
	t.Error = fg("#c00000", "#ff6b6b")
	t.User = fg("#5f2f9f", "#d7afff").Bold(true)
	t.Thinking = t.Dim.Italic(true)
	t.Tool = fg("#00666b", "#5fd7d7")
	t.Box = fg("#7a4f00", "#d7af5f")
	t.Match = t.Accent.Bold(true)
	on := func(light, dark string) lipgloss.Style {
		return fg("#1f2328", "#e6e6e6").Background(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	t.Added, t.Removed, t.Hunk = on("#d7f5dd", "#12361f"), on("#ffdedb", "#46191c"), t.Tool
	return t
}

// Paint draws a line of text in a style; without colour it returns it unchanged.
func (t *Theme) Paint(s lipgloss.Style, text string) string {
	if t.Mode == ModeNone || text == "" {
		return text
	}
	return s.Inline(true).Render(text)
}

// Rule draws a line over the whole width, with a title.
func (t *Theme) Rule(s lipgloss.Style, title string, width int) string {
	title = Cut("── "+OneLine(title)+" ", width)
	return t.Paint(s, title+strings.Repeat("─", max(width-Width(title), 0)))
}
