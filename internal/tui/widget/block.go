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

// A Status says how far a tool call is.
type Status int

// The states. StatusNone is for what is no tool call.
const (
	StatusNone    Status = iota
	StatusWaiting        // for a permission or a turn
	StatusRunning
	StatusDone
	StatusFailed
	StatusDenied
	StatusCancelled
)

var statusWords = map[Status]string{
	StatusWaiting: "waiting", StatusRunning: "running", StatusDone: "done", StatusFailed: "failed", StatusDenied: "denied", StatusCancelled: "cancelled",
}

// String is a word for a state.
func (s Status) String() string { return statusWords[s] }

// A Block is a part of the transcript: a message, a tool call, a box that stands
// for a compaction. It remembers the lines that it has drawn until it changes.
type Block struct {
	kind      BlockKind
	title     string
	text      string
	diff      string
	status    Status
	open      bool
	streaming bool

	drawn blockKey
	lines []string
}

type blockKey struct {
	theme *Theme
	width int
}

// NewBlock returns a block. Thinking, tool calls, compactions and branch
// summaries are folded.
func NewBlock(kind BlockKind, title, text string) *Block {
	return &Block{kind: kind, title: title, text: text}
}

// Kind returns what the block is.
func (b *Block) Kind() BlockKind { return b.kind }

// Text returns the text of the block as it was given.
func (b *Block) Text() string { return b.text }

// Title returns what the block is about.
func (b *Block) Title() string { return b.title }

// Status says how far a tool call is.
func (b *Block) Status() Status { return b.status }

// Append adds to the text and says that more may come: until Finish the text is
// shown as it is, without Markdown.
func (b *Block) Append(delta string) {
	b.text += delta
	b.streaming = true
	b.touch()
}

// Finish says that the text is complete.
func (b *Block) Finish() {
	b.streaming = false
	b.touch()
}

// SetText replaces the text: a summary, the result of a tool call.
func (b *Block) SetText(s string) {
	b.text = s
	b.touch()
}

// SetTitle replaces the title: what a tool call does, in a line.
func (b *Block) SetTitle(s string) { b.title = s; b.touch() }

// SetDiff sets a unified diff, which a tool call shows in place of its text.
func (b *Block) SetDiff(s string) { b.diff = s; b.touch() }

// SetStatus says how far a tool call is.
func (b *Block) SetStatus(s Status) { b.status = s; b.touch() }

// Foldable reports whether the block has something to fold.
func (b *Block) Foldable() bool {
	switch b.kind {
	case BlockThinking, BlockTool, BlockCompaction, BlockBranch:
		return strings.TrimSpace(b.text) != "" || b.diff != ""
	case BlockUser:
		return linesOf(b.text) > userLines || len(b.text) > userBytes
	default:
		return false
	}
}

// Open reports whether the block is unfolded.
func (b *Block) Open() bool { return b.open }

// SetOpen folds or unfolds the block.
func (b *Block) SetOpen(open bool) { b.open = open; b.touch() }

func (b *Block) touch() { b.lines = nil }

// diffLines is how many lines of a diff a folded tool call shows.
const diffLines = 12

// Lines draws the block. The result is not to be changed.
func (b *Block) Lines(t *Theme, md *Markdown, width int) []string {
	key := blockKey{t, width}
	if b.lines == nil || b.drawn != key {
		b.drawn, b.lines = key, b.draw(t, md, max(width, 1))
	}
	return b.lines
}

func (b *Block) draw(t *Theme, md *Markdown, width int) []string {
	switch b.kind {
	case BlockUser:
		return b.drawUser(t, width)
	case BlockAssistant:
		return b.body(md, t, width)
	case BlockThinking:
		return b.drawThinking(t, width)
	case BlockTool:
		return b.drawTool(t, width)
	case BlockCompaction, BlockBranch:
		return b.drawBox(t, md, width)
	case BlockHeader:
		return b.drawHeader(t, width)
	case BlockError:
		return marked(t, t.Error, "! ", Wrap(strings.TrimRight(Sanitize(b.text), "\n "), max(width-2, 1)), t.Error, width)
	default:
		return marked(t, t.Dim, "- ", Wrap(strings.TrimRight(Sanitize(b.text), "\n "), max(width-2, 1)), t.Dim, width)
	}
}

// What a folded message of the user shows.
const (
	userLines = 20
	userBytes = 4000
)

func (b *Block) drawUser(t *Theme, width int) []string {
	text, more := strings.TrimRight(b.text, "\n "), ""
	if b.Foldable() && !b.open {
		shown := head(text, userBytes)
		if lines := strings.SplitAfterN(shown, "\n", userLines/2+1); len(lines) > userLines/2 {
			shown = strings.Join(lines[:userLines/2], "")
		}
		more = countMore(linesOf(text[len(shown):]))
		if !strings.HasSuffix(shown, "\n") {
			more = strconv.Itoa(utf8.RuneCountInString(text[len(shown):])) + " more characters"
		}
		text = strings.TrimRight(shown, "\n")
	}
	out := marked(t, t.User, "> ", Wrap(Sanitize(text), max(width-2, 1)), t.User, width)
	if more != "" {
		out = append(out, Cut(t.Paint(t.Dim, "+ "+ellipsis+" "+more), width))
	}
	return out
}

// drawHeader draws a title with lines beside a rule.
func (b *Block) drawHeader(t *Theme, width int) []string {
	out := []string{t.Paint(t.Match, Cut("▍ "+OneLine(b.title), width))}
	for i, l := range strings.Split(b.text, "\n") {
		style := t.Dim
		if i == 0 {
			style = t.Text
		}
		out = append(out, Cut(t.Paint(t.Match, "▍ ")+t.Paint(style, OneLine(l)), width))
	}
	return out
}

// body is the text: plain while it streams in, then Markdown.
func (b *Block) body(md *Markdown, t *Theme, width int) []string {
	if !b.streaming {
		return md.Lines(t, b.text, width)
	}
	return Wrap(Sanitize(b.text), width)
}

func (b *Block) drawThinking(t *Theme, width int) []string {
	what := "thinking"
	if !b.streaming {
		what = "thought, " + Counted(linesOf(b.text), "line")
	}
	out := []string{t.Paint(t.Thinking, Cut(b.foldMark()+what, width))}
	if b.open {
		lines := Wrap(strings.TrimSpace(Sanitize(b.text)), max(width-2, 1))
		out = append(out, marked(t, t.Thinking, "  ", lines, t.Thinking, width)...)
	}
	return out
}

func (b *Block) drawTool(t *Theme, width int) []string {
	title := OneLine(strings.ReplaceAll(strings.TrimSpace(b.title), "\n", " ⏎ "))
	note, style := statusWords[b.status], t.Dim
	switch b.status {
	case StatusDone:
		style = t.Good
	case StatusFailed, StatusDenied:
		style = t.Error
	case StatusWaiting, StatusRunning, StatusCancelled:
		style = t.Warning
	case StatusNone:
	}
	if note != "" {
		note = "  " + note
	}
	if !b.open && b.diff == "" && strings.TrimSpace(b.text) != "" {
		note += ", " + Counted(linesOf(b.text), "line")
	}
	room := width - Width(note) - 2
	if room < 8 { // a narrow screen: the title matters more
		note, room = "", width-2
	}
	out := []string{Cut(t.Paint(t.Tool, b.foldMark()+Cut(title, room))+t.Paint(style, note), width)}
	switch {
	case b.open && b.diff != "":
		out = append(out, indented(Diff(t, b.diff, max(width-2, 1), 0), width)...)
	case b.diff != "":
		out = append(out, indented(Diff(t, b.diff, max(width-2, 1), diffLines), width)...)
	}
	if text := b.shownResult(); text != "" {
		lines := Wrap(text, max(width-2, 1))
		if !b.open {
			lines = lines[max(len(lines)-runningLines, 0):]
		}
		out = append(out, marked(t, t.Dim, "  ", lines, t.Dim, width)...)
	}
	return out
}

// runningLines is how much of its output a folded call shows while it runs.
const runningLines = 3

// shownResult is what is shown of the result of a tool call.
func (b *Block) shownResult() string {
	switch {
	case b.open:
		return strings.TrimRight(Sanitize(b.text), "\n ")
	case b.status == StatusRunning:
		return strings.TrimRight(Sanitize(Tail(b.text, 2000)), "\n ")
	}
	return ""
}

// Tail returns the end of s, about n bytes.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	return s[strings.IndexByte(s, '\n')+1:]
}

func linesOf(s string) int { return 1 + strings.Count(strings.TrimRight(s, "\r\n "), "\n") }

func (b *Block) drawBox(t *Theme, md *Markdown, width int) []string {
	word := "compaction"
	if b.kind == BlockBranch {
		word = "branch summary"
	}
	line := b.foldMark() + "[" + word + "]"
	if title := OneLine(b.title); title != "" {
		line += " " + title
	}
	out := []string{t.Paint(t.Box, Cut(line, width))}
	if b.open && strings.TrimSpace(b.text) != "" {
		for _, l := range md.Lines(t, b.text, max(width-2, 1)) {
			out = append(out, Cut(t.Paint(t.Box, "│ ")+l, width))
		}
	}
	return out
}

func (b *Block) foldMark() string {
	switch {
	case !b.Foldable():
		return "  "
	case b.open:
		return "- "
	}
	return "+ "
}

// marked puts a mark of two columns before the first line and indents the others.
func marked(t *Theme, markStyle lipgloss.Style, first string, lines []string, style lipgloss.Style, width int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		mark := "  "
		if i == 0 {
			mark = first
		}
		out[i] = Cut(strings.TrimRight(t.Paint(markStyle, mark)+t.Paint(style, l), " "), width)
	}
	return out
}

func indented(lines []string, width int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = Cut("  "+l, width)
	}
	return out
}

// Counted writes "1 message", "2 messages".
func Counted(n int, word string) string {
	return text.Counted(n, word)
}
