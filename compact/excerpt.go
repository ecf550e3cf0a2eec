package compact

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// ExcerptLimit is how much of one output the log has, in bytes, where the whole is kept beside it.
const ExcerptLimit = 48 << 10

// Source says what an excerpt is of.
type Source struct {
	// Tool is its name, Subject the path or the command that it was called with; "" where they are not known.
	Tool, Subject string
	Exit          *int   // exit code, nil for none
	Handle        string // by which the whole can be recalled

	path string // file in which tools can read the whole, "" for none
}

// Excerpt keeps limit bytes of a text, a third of it from the end: errors stand at the end
// of a log. A note between says how much is missing and how to have the whole. A first line
// says what it is of; it is left out of what stays behind its call, which says that, and has
// neither Tool nor Subject. A text that would get no shorter comes back as it is.
func (s Source) Excerpt(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	a := cutBefore(text, limit-limit/3)
	b := cutAfter(text, len(text)-limit/3)
	if b <= a {
		return text
	}
	gone := text[a:b]
	var out strings.Builder
	out.Grow(a + len(text) - b + 120)
	if of := strings.Fields(s.Tool + " " + s.Subject[:cutBefore(s.Subject, maxSubject)]); len(of) > 0 {
		out.WriteString("[excerpt of " + strings.Join(of, " "))
		if s.Exit != nil {
			fmt.Fprintf(&out, ", exit code %d", *s.Exit)
		}
		fmt.Fprintf(&out, ": %d lines, %d bytes, %s]\n", strings.Count(text, "\n")+1, len(text), s.Handle)
	}
	out.WriteString(text[:a])
	if a > 0 && text[a-1] != '\n' {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "[%d of %d characters, %d lines, left out here; %s]\n",
		utf8.RuneCountInString(gone), utf8.RuneCountInString(text), strings.Count(gone, "\n")+1, s.forWhole())
	out.WriteString(text[b:])
	if out.Len() >= len(text) {
		return text
	}
	return out.String()
}

// maxSubject is how much of a path or a command the first line of an excerpt has, in bytes.
const maxSubject = 200

// cutBefore returns where a text may be cut: behind a line break not far before at, else at a character.
func cutBefore(text string, at int) int {
	at = min(at, len(text))
	from := max(at-max(at/8, 40), 0)
	if k := strings.LastIndexByte(text[from:at], '\n'); k >= 0 {
		return from + k + 1
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// cutAfter is cutBefore for a place at or behind at.
func cutAfter(text string, at int) int {
	to := min(at+max((len(text)-at)/8, 40), len(text))
	if k := strings.IndexByte(text[at:to], '\n'); k >= 0 {
		return at + k + 1
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

func handle(entryID string) string { return "#" + entryID }

// source is that of an entry.
func (p *planner) source(e *session.Entry) Source {
	of := Source{Handle: handle(e.ID)}
	if p.policy.Offload.Path != nil {
		of.path = p.policy.Offload.Path(e)
	}
	return of
}

// forWhole says how to have the whole of what an excerpt is of.
func (s Source) forWhole() string {
	if s.path == "" {
		return "recall " + s.Handle + " for the whole"
	}
	return "read " + s.path + " for the whole, or recall " + s.Handle
}

// elsewhere stands in the place of a whole tool result in preset synapse.
func (s Source) elsewhere() string {
	if s.path == "" {
		return "[the tool result is not here; " + s.forWhole() + "]"
	}
	return "Tool result is at: " + s.path + " (or recall " + s.Handle + ")"
}

// excerptBlocks shortens texts to limit bytes each and puts a line in the place of images, but not in signed blocks.
func excerptBlocks(blocks []message.Block, limit int, images bool, of Source) ([]message.Block, bool) {
	out := make([]message.Block, 0, len(blocks))
	changed := false
	for _, b := range blocks {
		switch {
		case b.Type == message.BlockText && b.Signature == "":
			if short := of.Excerpt(b.Text, limit); len(short) < len(b.Text) {
				b, changed = message.TextBlock(short), true
			}
		case b.Type == message.BlockImage && images:
			b = message.TextBlock(fmt.Sprintf("[an image, %s, %d bytes, left out here; recall %s for it]",
				b.MIMEType, len(b.Data)*3/4, of.Handle))
			changed = true
		}
		out = append(out, b)
	}
	return out, changed
}

// level returns the limit to which sizes are to be cut to come to sum: what is smaller leaves its share to the others.
func level(sizes []int, sum int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		share := sum / (len(sorted) - i)
		if size > share {
			return max(share, 0)
		}
		sum -= size
	}
	return math.MaxInt
}
