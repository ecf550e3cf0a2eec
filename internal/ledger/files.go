package ledger

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// PiFiles returns the file lists as pi 0.87.1 computes them for a compaction:
// from calls named exactly read, write and edit with a string path, whatever
// their results, paths as written; read are those not modified. Lists in the
// details of an earlier compaction among the items count, those of branch
// summaries and of hooks do not. Both are sorted by UTF-16 code units, as
// JavaScript sorts, and never nil.
func PiFiles(items []session.Item) (read, modified []string) {
	reads, changes := map[string]bool{}, map[string]bool{}
	for _, it := range items {
		m := it.Message
		switch {
		case m == nil:
		case m.Role == message.RoleCompactionSummary:
			if fromHook(it.Entry) {
				continue
			}
			for _, p := range stringList(jsonx.Get(m.Details, "readFiles")) {
				reads[p] = true
			}
			for _, p := range stringList(jsonx.Get(m.Details, "modifiedFiles")) {
				changes[p] = true
			}
		case m.Role == message.RoleAssistant:
			for _, b := range m.Content {
				if b.Type == message.BlockToolCall {
					piCall(b, reads, changes)
				}
			}
		}
	}
	read, modified = []string{}, []string{}
	for p := range reads {
		if !changes[p] {
			read = append(read, p)
		}
	}
	for p := range changes {
		modified = append(modified, p)
	}
	slices.SortFunc(read, compareUTF16)
	slices.SortFunc(modified, compareUTF16)
	return read, modified
}

func fromHook(e *session.Entry) bool {
	if e == nil {
		return false
	}
	c, _ := e.Compaction()
	return c.FromHook
}

func piCall(b message.Block, reads, changes map[string]bool) {
	path, ok := jsonx.String(jsonx.Get(b.Arguments, "path"))
	if !ok || path == "" {
		return
	}
	switch b.Name {
	case "read":
		reads[path] = true
	case "write", "edit":
		changes[path] = true
	}
}

// compareUTF16 orders strings by their UTF-16 code units: a character beyond
// the basic plane, which is written with surrogates, comes before U+E000.
func compareUTF16(a, b string) int {
	return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
}

// The markers of the apply_patch format.
const (
	patchBegin  = "*** Begin Patch"
	patchAdd    = "*** Add File: "
	patchUpdate = "*** Update File: "
	patchDelete = "*** Delete File: "
	patchMove   = "*** Move to: "
)

// change is one file of a patch.
type change struct {
	path  string
	state State
	to    string // new path of a file that was moved
}

// patchChanges lists the files of a patch in order.
func patchChanges(patch string) []change {
	var out []change
	for line := range strings.SplitSeq(patch, "\n") {
		line = strings.TrimRight(line, " \t\r")
		for mark, state := range patchMarks {
			if name, ok := strings.CutPrefix(line, mark); ok {
				out = append(out, change{path: name, state: state})
			}
		}
		if to, ok := strings.CutPrefix(line, patchMove); ok && len(out) > 0 {
			out[len(out)-1].to = to
		}
	}
	return out
}

// patchMarks says what becomes of a file. A line begins with at most one of
// them, so the order does not matter.
var patchMarks = map[string]State{
	patchAdd:    StateCreated,
	patchUpdate: StateModified,
	patchDelete: StateDeleted,
}

// maxPath is the longest path that is taken for one, in bytes: PATH_MAX of Linux.
const maxPath = 4096

// place resolves paths.
type place struct{ cwd string }

func newPlace(cwd string) place {
	if cwd == "" {
		return place{}
	}
	return place{cwd: clean(cwd)}
}

// norm returns the one spelling of a path: relative to the working directory
// where it lies below it, without "." and "..". dir is the directory that a
// relative path is relative to, "" for the working directory. "" is no path.
func (p place) norm(name, dir string) string {
	if name == "" || len(name) > maxPath || strings.ContainsAny(name, "\x00\n") {
		return ""
	}
	name = clean(strings.ToValidUTF8(name, "\uFFFD"))
	if dir != "" && !absolute(name) {
		name = clean(clean(dir) + "/" + name)
	}
	if p.cwd != "" && absolute(name) {
		if name == p.cwd {
			return "."
		}
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p.cwd, "/")+"/"); ok {
			return rest
		}
	}
	// What leaves the working directory is absolute, where that is known.
	if p.cwd != "" && (name == ".." || strings.HasPrefix(name, "../")) {
		return clean(p.cwd + "/" + name)
	}
	return name
}

func clean(name string) string {
	if windowsPath(name) {
		name = strings.ReplaceAll(name, `\`, "/")
		if len(name) > 1 && name[1] == ':' {
			name = strings.ToUpper(name[:1]) + name[1:]
		}
	}
	return path.Clean(name)
}

// windowsPath reports whether backslashes in a path separate its components.
// Elsewhere they are part of a name.
func windowsPath(name string) bool {
	return driveAt(name) || strings.HasPrefix(name, `\\`) || strings.Contains(name, `\`) && !strings.Contains(name, "/")
}

func driveAt(name string) bool {
	return len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') &&
		(name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

func absolute(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || driveAt(name)
}

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
