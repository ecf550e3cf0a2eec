package demo

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

// The ends of the conversation in a request for a summary.
const (
	beginning = "CONVERSATION\n"
	end       = "END OF CONVERSATION\n"
)

// summarized writes the summary that a request asks for, and reports whether it asks for
// one: the conversation stands in it as labelled text, and below it the headings to use.
func summarized(r *model.Request) (string, bool) {
	if len(r.Messages) != 1 || !strings.HasPrefix(r.Messages[0].Text(), beginning) {
		return "", false
	}
	talk, task, _ := strings.Cut(r.Messages[0].Text(), end)
	asked, answered := heard(talk)
	so := map[string][]string{} // the summary so far, by heading
	heading := ""
	var b strings.Builder
	for line := range strings.Lines(task) {
		line, before := strings.CutPrefix(line, "| ")
		name, ok := strings.TrimSpace(strings.TrimLeft(line, "#")), strings.HasPrefix(line, "##")
		switch {
		case before && ok:
			heading = name
		case before:
			if _, item, ok := strings.Cut(strings.Replace(line, "- [x] ", "- ", 1), "- "); ok {
				so[heading] = append(so[heading], text.Line(item))
			}
		case ok:
			b.WriteString(line)
			items(&b, below(name, so[name], asked, answered))
		}
	}
	return b.String(), true
}

// below is what belongs under a heading.
func below(heading string, so, asked, answered []string) []string {
	switch heading {
	case "Goal", "Project Overview":
		if len(asked) > 0 {
			return asked[len(asked)-1:]
		}
	case "Done", "Story", "Key Results", "Key Points", "Technical Context":
		so = append(so, answered...)
	}
	return so[max(len(so)-8, 0):]
}

func items(b *strings.Builder, lines []string) {
	for _, l := range lines {
		b.WriteString("- " + l + "\n")
	}
}

// heard returns the first lines of what was asked and of what was answered.
func heard(talk string) (asked, answered []string) {
	label := ""
	for line := range strings.Lines(talk) {
		said, ok := strings.CutPrefix(line, "| ")
		if !ok {
			label, _, _ = strings.Cut(line, " [#")
			continue
		}
		switch said = text.Line(said); {
		case said == "":
		case label == "user":
			asked = append(asked, said)
		case label == "assistant":
			answered = append(answered, said)
		case strings.HasPrefix(label, "assistant calls "):
			answered = append(answered, "Called "+strings.TrimPrefix(label, "assistant calls ")+" with "+said)
		}
		label = "" // the first line says enough
	}
	return asked, answered
}
