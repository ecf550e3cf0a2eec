package wire

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/message"
)

// What wire says itself. These texts are part of the rendered bytes: a change of
// one changes the prefix of every request that holds it.
const (
	textSettled     = "[interrupted] This call has no result: it was stopped before it ended, or its result was lost."
	textNoOutput    = "(no output)"
	textImagesBelow = "(no text; the images follow after the results)"
	textFirst       = "[The conversation goes on from here.]"
	textBetween     = "[Go on.]"
)

func textImageOut(mime string) string {
	// The type comes from whoever made the image, and is put into words of ours.
	if mime == "" || len(mime) > 64 || !idChars(strings.NewReplacer("/", "", "+", "", ".", "").Replace(mime)) {
		mime = "of an unknown kind"
	}
	return "[image left out: " + mime + "]"
}

func textImagesOf(name, id string) string {
	return fmt.Sprintf("Images in the result of %s (%s):", name, id)
}

// shellText tells the model of a command that the user ran.
func shellText(m *message.Message) string {
	var b strings.Builder
	b.WriteString("The user ran a shell command:\n")
	fenced(&b, "sh", m.Command)
	if strings.TrimSpace(m.Output) == "" {
		b.WriteString("It printed nothing.\n")
	} else {
		b.WriteString("Output:\n")
		fenced(&b, "", m.Output)
	}
	b.WriteString(shellEnd(m))
	return strings.TrimSuffix(b.String(), "\n")
}

func shellEnd(m *message.Message) string {
	var said []string
	switch {
	case m.Cancelled:
		said = append(said, "The user stopped it.")
	case m.ExitCode != nil:
		said = append(said, fmt.Sprintf("Exit status: %d.", *m.ExitCode))
	}
	switch {
	case m.Truncated && m.FullOutputPath != "":
		said = append(said, "The output was cut; the whole of it is in "+m.FullOutputPath+".")
	case m.Truncated:
		said = append(said, "The output was cut.")
	}
	return strings.Join(said, " ")
}

// fenced writes text between fences that are longer than any run of back
// quotes in it, so that it cannot end its own fence.
func fenced(b *strings.Builder, lang, text string) {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	b.WriteString(fence + lang + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(fence + "\n")
}

func longestRun(s string, c byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}
