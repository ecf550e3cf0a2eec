package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// look is how a character is drawn. Colours are as CSS has them, "" for the usual ones.
type look struct {
	fg, bg                                     string
	bold, faint, italic, underline, in, strike bool
}

// run is a piece of a line that is drawn alike.
type run struct {
	look
	column, width int
	text          string
}

// parse reads a screen as tmux capture-pane -e prints it: a list of runs for each line.
func parse(screen string) (lines [][]run) {
	now := look{}
	for line := range strings.Lines(screen) {
		line = strings.TrimRight(line, "\r\n")
		var runs []run
		column := 0
		for i := 0; i < len(line); {
			if line[i] == 0x1b {
				n, sgr := sequence(line[i:])
				if sgr != "" {
					now.set(sgr)
				}
				i += n
				continue
			}
			r, n := utf8.DecodeRuneInString(line[i:])
			i += n
			if r < ' ' {
				continue
			}
			w := runewidth.RuneWidth(r)
			if last := len(runs) - 1; last >= 0 && (runs[last].look == now || w == 0) && runs[last].width == utf8.RuneCountInString(runs[last].text) && w <= 1 {
				runs[last].text += string(r)
				runs[last].width += w
			} else {
				runs = append(runs, run{now, column, w, string(r)})
			}
			column += w
		}
		lines = append(lines, runs)
	}
	return lines
}

// sequence returns the length of the sequence that s begins with, and the numbers of one that
// sets how things look.
func sequence(s string) (n int, sgr string) {
	if len(s) < 2 {
		return len(s), ""
	}
	switch s[1] {
	case '[':
		for n = 2; n < len(s); n++ {
			if s[n] >= '@' && s[n] <= '~' {
				if s[n] == 'm' {
					return n + 1, s[2:n] + ";"
				}
				return n + 1, ""
			}
		}
		return len(s), ""
	case ']': // a link or a title, up to its end
		if end := strings.Index(s, "\x1b\\"); end >= 0 {
			return end + 2, ""
		}
		if end := strings.IndexByte(s, '\a'); end >= 0 {
			return end + 1, ""
		}
		return len(s), ""
	}
	return 2, ""
}

// set takes the numbers of a sequence.
func (l *look) set(sgr string) {
	var codes []int
	for part := range strings.SplitSeq(strings.TrimSuffix(sgr, ";"), ";") {
		code, _, _ := strings.Cut(part, ":") // 4:3 is a kind of 4
		n, err := strconv.Atoi(code)
		if err != nil {
			n = 0
		}
		codes = append(codes, n)
	}
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c == 0:
			*l = look{}
		case c == 1:
			l.bold = true
		case c == 2:
			l.faint = true
		case c == 3:
			l.italic = true
		case c == 4:
			l.underline = true
		case c == 7:
			l.in = true
		case c == 9:
			l.strike = true
		case c == 22:
			l.bold, l.faint = false, false
		case c == 23:
			l.italic = false
		case c == 24:
			l.underline = false
		case c == 27:
			l.in = false
		case c == 29:
			l.strike = false
		case c == 39:
			l.fg = ""
		case c == 49:
			l.bg = ""
		case c >= 30 && c <= 37:
			l.fg = palette(c - 30)
		case c >= 90 && c <= 97:
			l.fg = palette(c - 90 + 8)
		case c >= 40 && c <= 47:
			l.bg = palette(c - 40)
		case c >= 100 && c <= 107:
			l.bg = palette(c - 100 + 8)
		case c == 38 || c == 48:
			colour, used := longColour(codes[i+1:])
			i += used
			if c == 38 {
				l.fg = colour
			} else {
				l.bg = colour
			}
		}
	}
}

// longColour reads a colour of the 256, or of red, green and blue.
func longColour(codes []int) (colour string, used int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		return palette(codes[1]), 2
	case len(codes) >= 4 && codes[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", codes[1]&255, codes[2]&255, codes[3]&255), 4
	}
	return "", len(codes)
}

// The usual colours, and the sixteen that have a number of their own: light on dark.
const (
	foreground = "#d8dee9"
	background = "#1c2128"
)

var sixteen = [16]string{
	"#3b4252", "#e06c75", "#8fbf7f", "#d9b36c", "#6ca6e0", "#b48ead", "#6cc0c7", "#c8ccd4",
	"#6b7483", "#f08d95", "#a9d69a", "#ecca86", "#8bbcf0", "#c9a7c7", "#8ad4da", "#eceff4",
}

// palette is one of the 256 colours of a terminal.
func palette(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return sixteen[n]
	case n < 232:
		step := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", step(n/36), step(n/6%6), step(n%6))
	}
	v := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", v, v, v)
}

// How large a character is in the picture, and the space around the screen.
const (
	cellWidth, cellHeight = 8.4, 18.0
	fontSize, baseline    = 14, 13.5
	margin                = 14.0
)

// svg draws a screen of so many columns and rows. It looks the same on a light page and on a
// dark one.
func svg(title, screen string, columns, rows int) string {
	var b strings.Builder
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img">`+"\n", num(width), num(height), num(width), num(height))
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	fmt.Fprintf(&b, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace" font-size="%d" fill="%s" xml:space="preserve">`+"\n", fontSize, foreground)
	for y, runs := range parse(screen) {
		for _, r := range runs {
			b.WriteString(r.svg(y))
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// svg draws a run in the line y.
func (r run) svg(y int) string {
	fg, bg := r.fg, r.bg
	if r.in {
		fg, bg = or(bg, background), or(fg, foreground)
	}
	x, top := margin+float64(r.column)*cellWidth, margin+float64(y)*cellHeight
	out := ""
	if bg != "" && bg != background {
		out = fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", num(x), num(top), num(float64(r.width)*cellWidth), num(cellHeight), bg)
	}
	if strings.TrimSpace(r.text) == "" {
		return out
	}
	// What is blank at the ends need not be drawn.
	text := strings.TrimLeft(r.text, " ")
	blank := len(r.text) - len(text)
	text = strings.TrimRight(text, " ")
	x += float64(blank) * cellWidth
	cells := r.width - blank - (len(r.text) - blank - len(text))
	attrs := ""
	if fg != "" && fg != foreground {
		attrs += ` fill="` + fg + `"`
	}
	if r.bold {
		attrs += ` font-weight="bold"`
	}
	if r.italic {
		attrs += ` font-style="italic"`
	}
	if r.faint {
		attrs += ` opacity=".65"`
	}
	switch {
	case r.underline:
		attrs += ` text-decoration="underline"`
	case r.strike:
		attrs += ` text-decoration="line-through"`
	}
	return out + fmt.Sprintf(`<text x="%s" y="%s" textLength="%s"%s>%s</text>`+"\n", num(x), num(top+baseline), num(float64(cells)*cellWidth), attrs, html.EscapeString(text))
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// num writes a number with no more digits than it needs.
func num(v float64) string { return strconv.FormatFloat(float64(int(v*10+.5))/10, 'f', -1, 64) }
