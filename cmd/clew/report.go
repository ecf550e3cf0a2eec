package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// report writes rows of a name and a text to the output.
type report struct {
	w       *bufio.Writer
	p       painter
	columns int  // of sentences
	wide    int  // of the output
	screen  bool // it is read on a terminal, which breaks long lines anywhere
}

// reportMargin is where the texts of a report begin.
const reportMargin = 11

func newReport(cmd *cobra.Command) *report {
	wide := width(cmd)
	// Beyond 100 columns a line of words is hard to read.
	return &report{w: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10), p: newPainter(cmd), columns: min(wide, 100), wide: wide, screen: isTerminal(cmd.OutOrStdout())}
}

// line writes a line of some parts.
func (r *report) line(parts ...string) {
	r.w.WriteString(strings.TrimRight(strings.Join(parts, ""), " ") + "\n")
}

// wrap writes first and a text, broken between words so that no line is longer than columns
// where that is possible; the lines after the first begin below where the text does.
func (r *report) wrap(first, text string, columns int) {
	margin := textWidth(first)
	at := margin
	r.w.WriteString(first)
	for i, word := range strings.Fields(printable(text)) {
		n := textWidth(word)
		switch {
		case i == 0:
		case at+1+n > columns && at > margin:
			r.w.WriteString("\n" + strings.Repeat(" ", margin))
			at = margin
		default:
			r.w.WriteByte(' ')
			at++
		}
		r.w.WriteString(word)
		at += n
	}
	r.w.WriteByte('\n')
}

// row writes a name and a text, broken between words where it is too long for a
// line. Control characters in it are gone.
func (r *report) row(name, format string, args ...any) {
	first := r.p.paint(styleBold, name) + strings.Repeat(" ", max(reportMargin-textWidth(name), 1))
	if name == "" {
		first = strings.Repeat(" ", reportMargin)
	}
	r.wrap(first, fmt.Sprintf(format, args...), r.columns)
}

// some writes a row where there is something to say.
func (r *report) some(name, text string) {
	if text != "" {
		r.row(name, "%s", text)
	}
}

// sentence writes a text alone, broken likewise.
func (r *report) sentence(format string, args ...any) {
	r.wrap("", fmt.Sprintf(format, args...), r.wide)
}

// verdict says whether a file is sound.
func (r *report) verdict(sound bool) string {
	if sound {
		return r.p.paint(styleGreen, "sound")
	}
	return r.p.paint(styleRed, "not sound")
}

// bar writes how much of the window a context takes.
func (r *report) bar(name string, tokens, window int64) {
	const cells = 20
	share := float64(tokens) / float64(max(window, 1))
	full := min(int(share*cells+0.5), cells)
	color := styleGreen
	switch {
	case share > 0.9:
		color = styleRed
	case share > 0.7:
		color = styleYellow
	}
	r.line(r.p.paint(styleBold, pad(name, reportMargin)), r.p.paint(color, strings.Repeat("█", full)), r.p.paint(styleDim, strings.Repeat("░", cells-full)),
		fmt.Sprintf(" %s tokens, %.0f %% of the window", number(tokens), share*100))
}

// numbers writes lines of a name, a number and a text, the numbers under each other.
func (r *report) numbers(lines []numberLine) {
	digits, names := 0, 0
	for _, l := range lines {
		digits = max(digits, len(number(l.n)))
		names = max(names, len(l.name))
	}
	for _, l := range lines {
		first := strings.Repeat(" ", reportMargin) + pad(l.name, names+2) + padLeft(number(l.n), digits) + "  "
		r.wrap(first, l.text, r.columns)
	}
}

type numberLine struct {
	name string
	n    int64
	text string
}

// maxListed is how many rows of a kind are listed; --json has them all.
const maxListed = 20

// listed writes a row for each of a list, the first of them when there are many.
func listed[T any](r *report, name string, all []T, text func(T) string) {
	for i, v := range all {
		if i == maxListed {
			r.row("", "and %s more", number(int64(len(all)-i)))
			break
		}
		r.row(name, "%s", text(v))
	}
}

// text writes a text of several lines with a margin that sets it off. On a terminal a long
// line goes on below where its words begin.
func (r *report) text(s string) {
	r.w.WriteString("\n")
	bar, columns := r.p.paint(styleDim, "  |"), r.columns-len("  | ")
	for line := range strings.Lines(s) {
		line = strings.TrimRight(printableText(line), " \n")
		lead := min(len(line)-len(strings.TrimLeft(line, " ->")), columns/2)
		parts := []string{line[lead:]}
		if r.screen {
			parts = widget.Wrap(line[lead:], columns-lead)
		}
		margin := " " + line[:lead]
		for _, part := range parts {
			r.w.WriteString(bar + strings.TrimRight(margin+part, " ") + "\n")
			margin = strings.Repeat(" ", 1+lead)
		}
	}
	r.w.WriteString("\n")
}

var longNumber = text.Pattern(`\b[1-9][0-9]{3,14}\b`)

// grouped writes the numbers of a sentence as the rest of a report does.
func grouped(s string) string {
	return longNumber().ReplaceAllStringFunc(s, func(digits string) string {
		n, _ := strconv.ParseInt(digits, 10, 64) // it is not too long
		return number(n)
	})
}

// window writes the preset, where it is not clew's, the window and what is left of it.
func (r *report) window(pl *compact.Plan, from string) {
	if pl.Policy != compact.PresetClew {
		r.row("preset", "%s", pl.Policy)
	}
	b := pl.Budget
	r.row("window", "%s tokens%s, %s of them reserved for the answer: %s for the context",
		number(b.Window), from, number(b.Reserve), number(b.Limit))
	for _, c := range pl.Clamps {
		r.row("clamped", "%s: %s instead of %s; %s", c.Setting, number(c.Got), number(c.Asked), c.Why)
	}
}

// before writes what the context takes, and how that is known.
func (r *report) before(name string, pl *compact.Plan) {
	b := pl.Before
	r.bar(name, b.Tokens, pl.Budget.Window)
	switch {
	case b.Estimated == 0:
		r.row("", "as the provider reported")
	case b.Measured == 0:
		r.row("", "estimated")
	case b.Anchor < 0:
		r.row("", "estimated, with %s that the usage before the pass has shown", number(b.Measured))
	default:
		r.row("", "%s reported, %s estimated", number(b.Measured), number(b.Estimated))
	}
}

// after writes what the context would take, of which nothing was reported yet.
func (r *report) after(name string, pl *compact.Plan) {
	r.bar(name, pl.After.Tokens, pl.Budget.Window)
	line := "estimated"
	if n := pl.After.Categories[token.Unattributed]; n > 0 {
		line += "; " + number(n) + " of it is what requests carried so far beside what the session has"
	}
	if g := pl.After.Guarded(); g > pl.After.Tokens {
		line += "; at most " + number(g) + " with the usual error of estimates"
	}
	r.row("", "%s", line)
}

// stageWords say what a stage does.
var stageWords = map[string]string{
	"offload":   "large tool results; their beginning and end stay",
	"elide":     "results made stale by later ones, old reasoning, long old arguments",
	"summarize": "everything before the cut",
	"tighten":   "with a shorter tail and summary",
	"thinking":  "signed reasoning, which is bound to the messages before it",
	"strip":     "reasoning, calls and results of older turns",
	"split":     "the beginning of messages larger than the tail",
	"clip":      "what is too large to be kept whole",
}

// freed writes what each stage has freed.
func (r *report) freed(pl *compact.Plan) {
	r.row("freed", "%s tokens", number(pl.Before.Tokens-pl.After.Tokens))
	var lines []numberLine
	for _, stage := range pl.Stages {
		lines = append(lines, numberLine{stage.Name, stage.Freed, stageText(stage)})
	}
	r.numbers(lines)
	if pl.Guarded {
		r.row("guard", "what the preset does would not have fit; the ladder did it instead")
	}
}

// stageText says what a stage did, and to how many messages.
func stageText(s compact.Stage) string {
	if s.Entries == 0 {
		return stageWords[s.Name]
	}
	return count(s.Entries, "message") + ": " + stageWords[s.Name]
}

// cut writes where the cut is and why.
func (r *report) cut(c *compact.Cut) {
	if c == nil {
		return
	}
	at := "after the newest message"
	if c.FirstKept != "" {
		at = "before " + short(c.FirstKept, maxID)
	}
	r.row("cut", "%s: %s summarized, %s kept", at, count(c.Summarized, "message"), number(int64(c.Kept)))
	r.row("", "%s", grouped(c.Why))
	if c.SplitTurn {
		r.row("", "inside the turn that began with %s; its beginning is summarized too", short(c.TurnStart, maxID))
	}
}

// maxFiles is how many files of a kind a report lists; --json has them all.
const maxFiles = 12

// fileLists writes which files were read and which were modified.
func (r *report) fileLists(read, modified []string) {
	r.row("files", "%s read, %s modified", number(int64(len(read))), number(int64(len(modified))))
	for _, kind := range []struct {
		word  string
		paths []string
	}{{"read     ", read}, {"modified ", modified}} {
		for i, path := range kind.paths {
			if i == maxFiles {
				r.row("", "%sand %s more", kind.word, number(int64(len(kind.paths)-i)))
				break
			}
			path = printable(path)
			if r.screen {
				path = cutLeft(path, r.columns-reportMargin-len(kind.word))
			}
			r.w.WriteString(strings.Repeat(" ", reportMargin) + kind.word + path + "\n")
		}
	}
}

// modelName is a model as provider/id, "" where it is not known.
func modelName(m session.Model) string { return strings.Trim(m.Provider+"/"+m.ID, "/") }

// windowFrom says, for a report, how the window is known, where it was not given.
func windowFrom(by string, m session.Model) string {
	switch by {
	case clew.WindowCatalogue:
		return " (of " + printable(m.ID) + ")"
	case clew.WindowPreset:
		return " (as much as the preset uses)"
	case clew.WindowAssumed:
		return " (assumed: the model is not known)"
	case windowGateway:
		return " (that the gateway kept to)"
	}
	return ""
}
