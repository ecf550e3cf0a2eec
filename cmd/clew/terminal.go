package main

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// isTerminal reports whether w (or r) is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// defaultWidth is the width in columns of what is no terminal: wide enough that
// grep finds something in a line.
const defaultWidth = 160

// width returns how many columns the output has: what the terminal says, else
// $COLUMNS. What goes through a pipe on its way to a terminal (less, head) is
// made as wide as that.
func width(cmd *cobra.Command) int {
	if w := terminalWidth(cmd.OutOrStdout()); w > 0 {
		return w
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 20 {
		return n
	}
	if isPipe(cmd.OutOrStdout()) {
		if w := terminalWidth(cmd.ErrOrStderr()); w > 0 {
			return w
		}
	}
	return defaultWidth
}

func terminalWidth(w any) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

func isPipe(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

func checkColor(cmd *cobra.Command) error {
	switch mode, _ := cmd.Flags().GetString("color"); mode {
	case "auto", "always", "never":
		return nil
	default:
		return usagef("--color %s: it takes auto, always or never", mode)
	}
}

// A style is an SGR sequence; see ECMA-48, 8.3.117.
type style string

// The styles.
const (
	styleBold   style = "1"
	styleDim    style = "2"
	styleRed    style = "31"
	styleGreen  style = "32"
	styleYellow style = "33"
	styleBlue   style = "34"
	stylePurple style = "35"
	styleCyan   style = "36"
)

// painter colours text, or leaves it as it is.
type painter bool

// newPainter decides whether the output takes colours: --color, then NO_COLOR
// (no-color.org), then whether it is a terminal that knows them.
func newPainter(cmd *cobra.Command) painter {
	switch mode, _ := cmd.Flags().GetString("color"); mode {
	case "always":
		return true
	case "never":
		return false
	}
	return painter(os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(cmd.OutOrStdout()))
}

func (p painter) paint(s style, text string) string {
	if !p || text == "" || s == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
