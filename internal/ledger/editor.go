package ledger

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// openedFile matches how SWE-agent shows the file that its editor works on.
var openedFile = text.Pattern(`\[File: (.{1,400}?) \([0-9]+ lines total\)\]`)

// editorTool reports whether a call may be one of SWE-agent's editor.
func editorTool(c call) bool {
	switch c.act {
	case actOpen, actWrite, actEdit, actShell:
		return true
	default:
		return false
	}
}

// editorCommand takes in a command line that is a command of SWE-agent's editor,
// and reports whether it was one: open, create and the like show a file, edit and
// insert change the one that is open.
func (r *reader) editorCommand(c call, o outcome, id string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(c.command), "\n")
	words := strings.Fields(first)
	if len(words) == 0 {
		return false
	}
	shown := openedFile().FindStringSubmatch(o.text)
	in := call{tool: c.tool, entry: c.entry}
	switch words[0] {
	case "str_replace_editor":
		if len(words) < 3 {
			return false
		}
		in.path = strings.Trim(words[2], `'"`)
		switch words[1] {
		case "view":
			in.act = actRead
		case "create":
			in.act = actWrite
		case "str_replace", "insert", "undo_edit":
			in.act = actEdit
		default:
			return false
		}
	case "open", "goto", "scroll_up", "scroll_down":
		in.act = actRead
	case "create":
		in.act = actWrite
	case "edit", "insert", "append":
		in.act = actEdit
	default:
		return false
	}
	if in.path == "" {
		if shown == nil && (in.act != actEdit || r.opened == "") {
			return false // a program of the same name
		}
		if in.path = r.opened; shown != nil {
			in.path = shown[1]
		}
	}
	if editFailed().MatchString(o.text[:min(len(o.text), 500)]) {
		o.status = StatusFailed
	}
	if in.act == actRead {
		r.read(in, o)
	} else {
		r.write(in, o, id)
	}
	return true
}
