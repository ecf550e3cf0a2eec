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

// ExcerptLimit is how much of one output the log has, in bytes, where the whole is kept
// beside it.
const ExcerptLimit = 48 << 10

// Source says what an excerpt is of.
type Source struct {
	// Tool is its name, Subject the path or the command that it was called with; "" where
	// they are not known.
	Tool, Subject string
	Exit          *int   // exit code, nil for none
	Handle        string // by which the whole can be recalled

	path string // file in which tools can read the whole, "" for none
}

// Excerpt keeps limit bytes of a text, a third of it from the end: errors stand at the end
// of a log. A first line says what it is of. A text that is not longer comes back as it is.
func (s Source) Excerpt(text string, limit int) string {
	short := s.shorten(text, limit)
	if len(short) >= len(text) {
		return text
	}
	of := strings.TrimSpace(s.Tool + " " + strings.Join(strings.Fields(s.Subject[:cutAt(s.Subject, maxSubject, true)]), " "))
	if of == "" {
		of = "output"
	}
	if s.Exit != nil {
		of += fmt.Sprintf(", exit code %d", *s.Exit)
	}
	return fmt.Sprintf("[excerpt of %s: %d lines, %d bytes, %s]\n%s", of, strings.Count(text, "\n")+1, len(text), s.Handle, short)
}

// maxSubject is how much of a path or a command the first line of an excerpt has, in bytes.
const maxSubject = 200

// shorten is Excerpt without the first line: for results that stay behind their calls,
// which say what they are of. Contexts that other programs were shown have that form.
// A note in the middle says how much is missing and how to have the whole. Cuts are at
// line breaks where one is near, and never inside a character.
func (s Source) shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	a := cutAt(text, limit-limit/3, true)
	b := cutAt(text, len(text)-limit/3, false)
	if b <= a {
		return text
	}
	gone := text[a:b]
	var out strings.Builder
	out.Grow(a + len(text) - b + 120)
	out.WriteString(text[:a])
	if a > 0 && text[a-1] != '\n' {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "[%d of %d characters, %d lines, left out here; %s]\n",
		utf8.RuneCountInString(gone), utf8.RuneCountInString(text), strings.Count(gone, "\n")+1, s.forWhole())
	out.WriteString(text[b:])
	return out.String()
}

// cutAt returns an offset near at where a text may be cut: behind a line break
// within an eighth of the distance, else at a character.
func cutAt(text string, at int, before bool) int {
	at = min(max(at, 0), len(text))
	slack := max(at/8, 40)
	if before {
		if k := strings.LastIndexByte(text[max(at-slack, 0):at], '\n'); k >= 0 {
			return max(at-slack, 0) + k + 1
		}
	} else {
		slack = max((len(text)-at)/8, 40)
		if k := strings.IndexByte(text[at:min(at+slack, len(text))], '\n'); k >= 0 {
			return at + k + 1
		}
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		if before {
			at--
		} else {
			at++
		}
	}
	return at
}

// handle is how an entry is named where it can be recalled.
func handle(entryID string) string { return "#" + entryID }

// source is that of an entry.
func (p *planner) source(e *session.Entry) Source {
	of := Source{Handle: handle(e.ID)}
	if p.policy.Offload.Path != nil {
		of.path = p.policy.Offload.Path(e)
	}
	return of
}

// forWhole says how to have the whole of what an excerpt is of: by its handle,
// and from a file where there is one.
func (s Source) forWhole() string {
	if s.path == "" {
		return "recall " + s.Handle + " for the whole"
	}
	return "read " + s.path + " for the whole, or recall " + s.Handle
}

// excerptBlocks shortens the texts of a message to limit bytes each and puts a line
// in the place of images. Signed blocks stay as they are.
func excerptBlocks(blocks []message.Block, limit int, images bool, of Source) ([]message.Block, bool) {
	out := make([]message.Block, 0, len(blocks))
	changed := false
	for _, b := range blocks {
		switch {
		case b.Type == message.BlockText && b.Signature == "":
			if short := of.shorten(b.Text, limit); len(short) < len(b.Text) {
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

// level returns the limit to which sizes are to be cut, so that they come to sum
// together: what is smaller than the limit leaves its share to the others.
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
