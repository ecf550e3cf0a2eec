package ledger

import (
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
// details of an earlier compaction among the items count, and unlike in pi 0.87.1
// those of branch summaries, for so pi's documentation has it. What a hook stored in
// their place does not; beside the summary of a hook in clew the lists are ours. Both are
// sorted by UTF-16 code units, as JavaScript sorts, and never nil.
func PiFiles(items []session.Item) (read, modified []string) {
	changed := map[string]bool{} // by path; false is only read
	note := func(change bool, paths ...string) {
		for _, p := range paths {
			changed[p] = changed[p] || change
		}
	}
	for _, it := range items {
		m := it.Message
		switch {
		case m == nil:
		case m.Role == message.RoleCompactionSummary || m.Role == message.RoleBranchSummary:
			if jsonx.Get(m.Details, "clew") != nil || it.Entry == nil || !jsonx.Bool(it.Entry.Field("fromHook")) {
				note(false, stringList(jsonx.Get(m.Details, "readFiles"))...)
				note(true, stringList(jsonx.Get(m.Details, "modifiedFiles"))...)
			}
		case m.Role == message.RoleAssistant:
			for _, b := range m.Content {
				known := b.Name == "read" || b.Name == "write" || b.Name == "edit"
				path := jsonx.StringAt(b.Arguments, "path")
				if known && path != "" && b.Type == message.BlockToolCall {
					note(b.Name != "read", path)
				}
			}
		}
	}
	read, modified = []string{}, []string{}
	for p, change := range changed {
		if change {
			modified = append(modified, p)
		} else {
			read = append(read, p)
		}
	}
	for _, list := range [][]string{read, modified} {
		slices.SortFunc(list, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
	}
	return read, modified
}

// patchMarks says what becomes of a file, by what stands before its path in a patch.
var patchMarks = map[string]State{
	"*** Add File: ": StateCreated, "*** Update File: ": StateModified, "*** Delete File: ": StateDeleted,
}

// fileChange is what becomes of one file.
type fileChange struct {
	path  string
	state State
	to    string // new path of a file that was moved
}

// PatchFile returns the file that a line of a patch in the apply_patch format says
// the lines after it belong to.
func PatchFile(line string) (path string, ok bool) {
	path, state := patchLine(line)
	return path, state != ""
}

func patchLine(line string) (path string, state State) {
	for mark, state := range patchMarks {
		if path, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(path), state
		}
	}
	return "", ""
}

// patchChanges lists the files of a patch in order.
func patchChanges(patch string) []fileChange {
	var out []fileChange
	for line := range strings.SplitSeq(patch, "\n") {
		if path, state := patchLine(line); state != "" {
			out = append(out, fileChange{path: path, state: state})
		} else if to, ok := strings.CutPrefix(line, "*** Move to: "); ok && len(out) > 0 {
			out[len(out)-1].to = strings.TrimSpace(to)
		}
	}
	return out
}

// place resolves paths.
type place struct{ cwd string }

func newPlace(cwd string) place { return place{clean(cwd)} }

// norm returns the one spelling of a path: relative to the working directory
// where it lies below it, without "." and "..". dir is the directory that a
// relative path is relative to, "" for the working directory. "" is no path.
func (p place) norm(name, dir string) string {
	if name == "" || len(name) > 4096 || strings.ContainsAny(name, "\x00\n") {
		return ""
	}
	name = clean(strings.ToValidUTF8(name, "\uFFFD"))
	if dir != "" && !absolute(name) {
		name = clean(clean(dir) + "/" + name)
	}
	if absolute(name) {
		if name == p.cwd {
			return "."
		}
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p.cwd, "/")+"/"); ok {
			return rest
		}
	}
	// What leaves the working directory is absolute, where that is known.
	if name == ".." || strings.HasPrefix(name, "../") {
		return clean(p.cwd + "/" + name)
	}
	return name
}

// dir returns the directory that cd leads to from another, "" for the working directory.
func (p place) dir(to, from string) string {
	if to = p.norm(to, from); to == "." {
		return ""
	}
	return to
}

func clean(name string) string {
	// Backslashes separate the components of a path of Windows; elsewhere they are part of a name.
	windows := drive(name) || strings.HasPrefix(name, `\\`) || !strings.Contains(name, "/")
	if windows && strings.Contains(name, `\`) {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if drive(name) {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	return path.Clean(name)
}

func drive(name string) bool {
	return len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') && name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z'
}

func absolute(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || drive(name)
}

// openedFile matches how SWE-agent shows the file that its editor works on.
var openedFile = text.Pattern(`\[File: (.{1,400}?) \([0-9]+ lines total\)\]`)

// editorCall returns the call that a command line of SWE-agent's editor stands for: open,
// create and the like show a file, edit and insert change the one that is open.
func (r *Reader) editorCall(c call, o outcome) (in call, ok bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(c.command), "\n")
	words := append(strings.Fields(first), "", "", "")
	in = call{tool: c.tool, entry: c.entry, act: vocabulary()[words[0]]}
	path, shown := r.opened, openedFile().FindStringSubmatch(o.text)
	if shown != nil {
		path = shown[1]
	}
	if in.act == actSub {
		path, in.act = strings.Trim(words[2], "'\""), vocabulary()[words[1]]
	} else if shown == nil && in.act != OpEdit {
		return in, false // a program of the same name, or none
	}
	in.files = []fileChange{{path: path, state: callStates[in.act]}}
	switch in.act {
	case OpRead, OpWrite, OpEdit, actOpen:
		return in, path != ""
	default:
		return in, false
	}
}
