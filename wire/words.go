package wire

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// What wire says itself. These texts are part of the rendered bytes: a change of
// one changes the prefix of every request that holds it.
const (
	textCallClosed  = "[interrupted] This call has no result: it was stopped before it ended, or its result was lost."
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
	switch {
	case m.Cancelled:
		b.WriteString("The user stopped it. ")
	case m.ExitCode != nil:
		fmt.Fprintf(&b, "Exit status: %d. ", *m.ExitCode)
	}
	switch {
	case m.Truncated && m.FullOutputPath != "":
		b.WriteString("The output was cut; the whole of it is in " + m.FullOutputPath + ".")
	case m.Truncated:
		b.WriteString("The output was cut.")
	}
	return strings.TrimRight(b.String(), " \n")
}

// fenced writes text between fences that are longer than any run of back
// quotes in it, so that it cannot end its own fence.
func fenced(b *strings.Builder, lang, text string) {
	longest := 2
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	b.WriteString(fence + lang + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(fence + "\n")
}

// pi turns what is no message of a model into user messages and leaves the rest as
// it is stored, as pi does before its provider layer.
func (n *normalizer) pi() {
	add := func(i int, raw []byte) {
		n.emit(&Turn{TurnStored, []Part{{Kind: PartStored, From: i, Raw: jsonx.Clean(raw)}}})
	}
	user := func(i int, content []byte) {
		var o jsonx.Object
		o.Str("role", string(message.RoleUser))
		o.Raw("content", content)
		o.Int("timestamp", n.msgs[i].Timestamp)
		add(i, o.Bytes())
	}
	text := func(i int, text string) {
		user(i, message.EncodeBlocks([]message.Block{message.TextBlock(strings.ToValidUTF8(text, "\uFFFD"))}))
	}
	for i, m := range n.msgs {
		switch m.Role {
		case message.RoleSystem, message.RoleUser, message.RoleAssistant, message.RoleToolResult:
			add(i, m.JSON())
		case message.RoleCustom:
			user(i, message.EncodeBlocks(m.Content))
		case message.RoleBashExecution:
			if m.ExcludeFromContext {
				n.note(NoteExcluded, i, "the user kept this command out of the context")
				continue
			}
			text(i, shellText(m))
		case message.RoleBranchSummary, message.RoleCompactionSummary:
			text(i, SummaryForm(m).Wrap(m.Summary))
		default:
			n.note(NoteUnknownRole, i, "a message of role %q is not sent", m.Role)
		}
	}
}
