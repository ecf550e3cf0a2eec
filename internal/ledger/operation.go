package ledger

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// OpKind says what a tool call does to a file.
type OpKind string

// The kinds of operations; "" is a call that touches no one file.
const (
	OpRead  OpKind = "read"
	OpWrite OpKind = "write" // the whole file
	OpEdit  OpKind = "edit"  // part of it
	OpPatch OpKind = "patch" // several files
	OpShell OpKind = "shell" // a command line
	OpFind  OpKind = "find"  // a search, a listing, a page of the web
)

// Op is what a tool call asks for.
type Op struct {
	Kind OpKind
	Path string // read, write, edit: as in File
	// Partial says that a read asks for a part of the file.
	Partial bool
	Command string // shell: the command line; patch: the patch
}

// partMembers are the arguments with which a read asks for a part of a file.
var partMembers = []string{
	"offset", "limit", "view_range", "start_line", "end_line", "pages", "line_start", "line_end", "startLine", "endLine",
	"start_line_one_indexed", "end_line_one_indexed", "StartLine", "EndLine",
}

// Operation reads a tool call by its name and arguments, in the vocabularies
// that Read knows.
func Operation(name string, arguments json.RawMessage, opt Options) Op {
	c := parseCall(name, arguments, "")
	switch c.act {
	case actRead, actWrite, actEdit:
		kind := map[action]OpKind{actRead: OpRead, actWrite: OpWrite, actEdit: OpEdit}[c.act]
		op := Op{Kind: kind, Path: newPlace(opt.Cwd).norm(c.path, c.dir)}
		for _, m := range partMembers {
			op.Partial = op.Partial || !jsonx.IsNull(jsonx.Get(arguments, m))
		}
		return op
	case actShell:
		return Op{Kind: OpShell, Command: c.command}
	case actPatch:
		return Op{Kind: OpPatch, Command: c.command}
	case actFind:
		return Op{Kind: OpFind}
	case actScript:
		// The first of its calls that does something stands for the script.
		for _, op := range Operations(name, arguments, opt) {
			if op.Kind != "" {
				return op
			}
		}
	case actNone, actReadMany, actDelete, actMove, actTodo, actTodoNew, actTodoSet, actOpen, actSub:
	}
	return Op{}
}

// Operations reads a tool call as Operation does; of a script that calls other
// tools, each of its calls.
func Operations(name string, arguments json.RawMessage, opt Options) []Op {
	c := parseCall(name, arguments, "")
	if c.act != actScript {
		return []Op{Operation(name, arguments, opt)}
	}
	var out []Op
	for _, in := range c.inner {
		if in.act != actScript {
			out = append(out, Operation(in.tool, in.args, opt))
		}
	}
	return out
}

// PatchFile returns the file that a line of a patch in the apply_patch format says
// the lines after it belong to.
func PatchFile(line string) (path string, ok bool) {
	for mark := range patchMarks {
		if path, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(path), true
		}
	}
	return "", false
}
