package widget

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/text"
)

// A BlockKind says what a part of the transcript is.
type BlockKind int

// The kinds.
const (
	BlockUser BlockKind = iota
	BlockAssistant
	BlockThinking
	BlockTool
	BlockCompaction
	BlockBranch
	BlockNotice
	BlockError
	BlockHeader
)

// A Status says how far a tool call is, in a word.
type Status string

// The states. StatusNone is for what is no tool call.
const (
	StatusNone      Status = ""
	StatusWaiting   Status = "waiting" // for a permission or a turn
	StatusRunning   Status = "running"
	StatusDone      Status = "done"
	StatusFailed    Status = "failed"
	StatusDenied    Status = "denied"
	StatusCancelled Status = "cancelled"
)

// A Block is a part of the transcript: a message, a tool call, a box that stands
// for a compaction. What it shows may be changed at any time: it remembers the lines that it
// has drawn until then.
type Block struct {
	shown
	drawn drawn
	lines []string
}

// shown is what a block shows.
type shown struct {
	Kind      BlockKind
	Title     string // what it is about; of a tool call, what it does, in a line
	Text      string // a message, a summary, the result of a tool call
	Diff      string // a unified diff, which a tool call shows in place of its text
	Status    Status // how far a tool call is
	Open      bool   // it is unfolded
	Streaming bool   // more text may come: until then it is shown as it is, without Markdown
}

// drawn is what the lines of a block were made of.
type drawn struct {
	shown
	mode  Mode
	width int
}

// NewBlock returns a block. Thinking, tool calls, compactions and branch
// summaries are folded.
func NewBlock(kind BlockKind, title, text string) *Block {
	return &Block{shown: shown{Kind: kind, Title: title, Text: text}}
}

// Foldable reports whether the block has something to fold.
func (b *Block) Foldable() bool {
	switch b.Kind {
	case BlockThinking, BlockTool, BlockCompaction, BlockBranch:
		return strings.TrimSpace(b.Text) != "" || b.Diff != ""
	case BlockUser:
		return linesOf(b.Text) > userLines || len(b.Text) > userBytes
	default:
		return false
	}
}

// diffLines is how many lines of a diff a folded tool call shows.
const diffLines = 12

// Lines draws the block. The result is not to be changed.
func (b *Block) Lines(t *Theme, width int) []string {
	if now := (drawn{b.shown, t.Mode, width}); b.lines == nil || b.drawn != now {
		b.drawn, b.lines = now, b.draw(t, max(width, 1))
	}
	return b.lines
}

func (b *Block) draw(t *Theme, width int) []string {
	switch b.Kind {
	case BlockUser:
		return b.drawUser(t, width)
	case BlockAssistant:
		if b.Streaming {
			return Wrap(Sanitize(b.Text), width)
		}
		return Markdown(t, b.Text, width)
	case BlockThinking:
		return b.drawThinking(t, width)
	case BlockTool:
		return b.drawTool(t, width)
	case BlockCompaction, BlockBranch:
		return b.drawBox(t, width)
	case BlockHeader:
		return b.drawHeader(t, width)
	case BlockError:
		return marked(t, t.Error, "! ", Sanitize(b.Text), width)
	default:
		return marked(t, t.Dim, "- ", Sanitize(b.Text), width)
	}
}

// What a folded message of the user shows.
const (
	userLines = 20
	userBytes = 4000
)

func (b *Block) drawUser(t *Theme, width int) []string {
	said, more := strings.TrimRight(b.Text, "\n "), ""
	if b.Foldable() && !b.Open {
		shown := text.Head(said, userBytes)
		if lines := strings.SplitAfterN(shown, "\n", userLines/2+1); len(lines) > userLines/2 {
			shown = strings.Join(lines[:userLines/2], "")
		}
		more = countMore(linesOf(said[len(shown):]))
		if !strings.HasSuffix(shown, "\n") {
			more = strconv.Itoa(utf8.RuneCountInString(said[len(shown):])) + " more characters"
		}
		said = shown
	}
	out := marked(t, t.User, "> ", Sanitize(said), width)
	if more != "" {
		out = append(out, Cut(t.Paint(t.Dim, "+ "+ellipsis+" "+more), width))
	}
	return out
}

// drawHeader draws a title with lines beside a rule.
func (b *Block) drawHeader(t *Theme, width int) []string {
	out := []string{t.Paint(t.Match, Cut("▍ "+OneLine(b.Title), width))}
	style := t.Text // of the first line
	for l := range strings.SplitSeq(b.Text, "\n") {
		out = append(out, Cut(t.Paint(t.Match, "▍ ")+t.Paint(style, OneLine(l)), width))
		style = t.Dim
	}
	return out
}

func (b *Block) drawThinking(t *Theme, width int) []string {
	what := "thinking"
	if !b.Streaming {
		what = "thought, " + text.Counted(linesOf(b.Text), "line")
	}
	out := []string{t.Paint(t.Thinking, Cut(b.foldMark()+what, width))}
	if b.Open {
		out = append(out, marked(t, t.Thinking, "  ", strings.TrimSpace(Sanitize(b.Text)), width)...)
	}
	return out
}

func (b *Block) drawTool(t *Theme, width int) []string {
	title := OneLine(strings.ReplaceAll(strings.TrimSpace(b.Title), "\n", " ⏎ "))
	styles := map[Status]Style{
		StatusNone: t.Dim, StatusWaiting: t.Warning, StatusRunning: t.Warning, StatusDone: t.Good,
		StatusFailed: t.Error, StatusDenied: t.Error, StatusCancelled: t.Warning,
	}
	note := strings.TrimRight("  "+string(b.Status), " ")
	if !b.Open && b.Diff == "" && strings.TrimSpace(b.Text) != "" {
		note += ", " + text.Counted(linesOf(b.Text), "line")
	}
	room := width - Width(note) - 2
	if room < 8 { // a narrow screen: the title matters more
		note, room = "", width-2
	}
	out := []string{Cut(t.Paint(t.Tool, b.foldMark()+Cut(title, room))+t.Paint(styles[b.Status], note), width)}
	most, result := diffLines, ""
	switch {
	case b.Open:
		most, result = 0, Sanitize(b.Text)
	case b.Status == StatusRunning:
		result = Sanitize(text.Tail(b.Text, 2000))
	}
	if b.Diff != "" {
		for _, l := range Diff(t, b.Diff, max(width-2, 1), most) {
			out = append(out, Cut("  "+l, width))
		}
	}
	if strings.TrimSpace(result) == "" {
		return out
	}
	lines := marked(t, t.Dim, "  ", result, width)
	if !b.Open {
		lines = lines[max(len(lines)-runningLines, 0):]
	}
	return append(out, lines...)
}

// runningLines is how much of its output a folded call shows while it runs.
const runningLines = 3

func linesOf(s string) int { return 1 + strings.Count(strings.TrimRight(s, "\r\n "), "\n") }

func (b *Block) drawBox(t *Theme, width int) []string {
	word := "compaction"
	if b.Kind == BlockBranch {
		word = "branch summary"
	}
	line := b.foldMark() + "[" + word + "]"
	if title := OneLine(b.Title); title != "" {
		line += " " + title
	}
	out := []string{t.Paint(t.Box, Cut(line, width))}
	if b.Open && strings.TrimSpace(b.Text) != "" {
		for _, l := range Markdown(t, b.Text, max(width-2, 1)) {
			out = append(out, Cut(t.Paint(t.Box, "│ ")+l, width))
		}
	}
	return out
}

func (b *Block) foldMark() string {
	switch {
	case !b.Foldable():
		return "  "
	case b.Open:
		return "- "
	}
	return "+ "
}

// marked puts a mark of two columns before the first line of a text and indents the others.
func marked(t *Theme, style lipgloss.Style, mark, text string, width int) (out []string) {
	for _, l := range Wrap(strings.TrimRight(text, "\n "), max(width-2, 1)) {
		out = append(out, Cut(strings.TrimRight(t.Paint(style, mark)+t.Paint(style, l), " "), width))
		mark = "  "
	}
	return out
}
