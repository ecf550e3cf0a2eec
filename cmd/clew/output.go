package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// wantsJSON reports whether --json was given.
func wantsJSON(cmd *cobra.Command) bool {
	yes, _ := cmd.Flags().GetBool("json")
	return yes
}

// A result is what a command has found out or done. It is printed as JSON with --json,
// else as text.
type result interface{ text(rep *report) }

// show prints a result. Where it is made for drawing, its method json returns the value
// that --json prints.
func show(cmd *cobra.Command, r result) error {
	if !wantsJSON(cmd) {
		rep := newReport(cmd)
		r.text(rep)
		return rep.w.Flush()
	}
	if made, ok := r.(interface{ json() any }); ok {
		return printJSON(cmd, made.json())
	}
	return printJSON(cmd, r)
}

// printJSON writes one indented JSON value to the output.
func printJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// size prints a number of bytes for people, in decimal units.
func size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	i := -1
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[i])
	}
	return fmt.Sprintf("%.0f %cB", f, units[i])
}

// number prints n with a comma between groups of three digits.
func number(n int64) string { return text.Digits(n, ",") }

// count prints "1 entry", "2 entries"; without a plural it is singular and s.
func count(n int, singular string, plural ...string) string {
	word := singular
	if n != 1 {
		word += "s"
		if len(plural) > 0 {
			word = plural[0]
		}
	}
	return number(int64(n)) + " " + word
}

// clock prints a time for people, in their zone; a time that is not known is dashes.
func clock(t time.Time) string {
	if t.IsZero() {
		return "---------- --:--"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// jsonTime prints a time for programs, "" when it is not known.
func jsonTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// progress tells on the error output what is being done, where that is a
// terminal, and takes it back when it is done. Quick work shows nothing. One
// goroutine at a time may use it.
type progress struct {
	w       io.Writer
	columns int // 0: nobody looks
	begun   time.Time
	text    atomic.Value
	stop    func() // nil while nothing is told
}

const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 200 * time.Millisecond
)

func newProgress(cmd *cobra.Command) *progress {
	p := &progress{w: cmd.ErrOrStderr(), begun: time.Now()}
	if isTerminal(p.w) {
		p.columns = terminalWidth(p.w)
	}
	return p
}

// working says what is being done until done is called.
func working(cmd *cobra.Command, format string, args ...any) (done func()) {
	p := newProgress(cmd)
	p.say(format, args...)
	return p.done
}

// say sets what is being done now.
func (p *progress) say(format string, args ...any) {
	if p.columns == 0 {
		return
	}
	if p.text.Store(headline(fmt.Sprintf(format, args...))); p.stop == nil {
		ended, end := context.WithCancel(context.Background())
		var told sync.WaitGroup
		told.Go(func() { p.tell(ended.Done()) })
		p.stop = func() { end(); told.Wait() }
	}
}

// tell shows what is being done until it has ended.
func (p *progress) tell(ended <-chan struct{}) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for shown := false; ; {
		select {
		case <-ended:
			if shown {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		case now := <-tick.C:
			if since := now.Sub(p.begun); since >= progressAfter {
				shown = true
				end := fmt.Sprintf(" (%d s)", int(since.Seconds()))
				fmt.Fprintf(p.w, "\r\x1b[K%s%s", cut(p.text.Load().(string), p.columns-1-len(end)), end)
			}
		}
	}
}

// done takes away what was shown. It may be called at any time, and again.
func (p *progress) done() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

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
	if f, ok := cmd.OutOrStdout().(*os.File); ok {
		info, err := f.Stat()
		if w := terminalWidth(cmd.ErrOrStderr()); err == nil && info.Mode()&os.ModeNamedPipe != 0 && w > 0 {
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
	n, _, _ := term.GetSize(int(f.Fd())) // 0 of what is no terminal
	return n
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
	switch cmd.Flag("color").Value.String() {
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

// Columns are counted as the terminal program counts them.
var textWidth, cut, pad = widget.Width, widget.Cut, widget.Pad

// headline returns the first line of a text that says something, as one line
// that is safe to print: control characters and direction marks, with which a
// text could rewrite the screen, are gone, and white space is single spaces.
func headline(s string) string {
	return printable(text.FirstLine(s))
}

// printable makes a text one line that is safe to print.
var printable = widget.OneLine

// printableText is printable for a text of several lines: its line breaks and
// tabs stay.
func printableText(s string) string {
	parts := strings.Split(s, "\t")
	for i, part := range parts {
		parts[i] = widget.Sanitize(part)
	}
	return strings.Join(parts, "\t")
}

// shortestOf returns how many characters of the ids of some values tell them apart, at
// least 8. Ids that are equal are not told apart.
func shortestOf[T any](all []T, id func(*T) string) int {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = id(&all[i])
	}
	slices.Sort(ids)
	n := 8
	for i := 1; i < len(ids); i++ {
		a, b := ids[i-1], ids[i]
		same := 0
		for same < len(a) && same < len(b) && a[same] == b[same] {
			same++
		}
		if a != b {
			n = max(n, same+1)
		}
	}
	return min(n, maxID)
}

// maxID is how much of an id is shown at most: a UUID is shown whole.
const maxID = 36

// short returns the first n characters of an id, safe to print.
func short(id string, n int) string { return printable(id[:min(len(id), n)]) }

// readLine reads a line and nothing behind it, which is for who reads next.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < 4096; {
		n, err := in.Read(b)
		switch {
		case n == 1 && b[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, b[0])
		case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
	return string(line), nil
}

// mayAsk fails where there is no terminal on which a command that does something could ask.
func mayAsk(cmd *cobra.Command, does, instead string) error {
	if isTerminal(cmd.InOrStdin()) {
		return nil
	}
	return usagef("%s: it asks before it %s, and there is no terminal to ask on; use %s", cmd.Name(), does, instead)
}

// errDeclined ends a command to which the user said no: exit code 0.
var errDeclined = errors.New("declined")

// confirm asks before a command does something, where there is a terminal to ask on. list,
// which may be nil, writes what is asked about to where the question goes. To no it says
// that nothing was done, and returns errDeclined.
func confirm(cmd *cobra.Command, does, instead, question, nothing string, list func(rep *report)) error {
	if err := mayAsk(cmd, does, instead); err != nil {
		return err
	}
	w := cmd.ErrOrStderr()
	if list != nil {
		rep := &report{w: bufio.NewWriter(w), p: newPainter(cmd), columns: min(width(cmd), 100)}
		list(rep)
		if err := rep.w.Flush(); err != nil {
			return err
		}
	}
	yes, err := askYes(cmd.InOrStdin(), w, question)
	if err == nil && !yes {
		fmt.Fprintln(w, nothing)
		err = errDeclined
	}
	return err
}

// askYes asks a question; all but yes is no, also the end of the input.
func askYes(in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question+" [y/N] ")
	line, err := readLine(in)
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(out)
		return false, nil
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", err
}
