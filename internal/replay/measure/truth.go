package measure

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// NewTrail reads the trail of a list of messages. Only calls that are known not to
// have failed count. What shell commands did to files is not always to be known
// from their text, so it is optional: a policy may state it and need not.
func NewTrail(ds []*Digest, cwd string) *Trail {
	r := &trailReader{
		cwd: cwd, calls: map[string]Call{}, files: map[string]*fileHistory{},
		optional: map[Pair]bool{}, commands: map[string]*runHistory{}, running: map[string]Call{},
	}
	for _, d := range ds {
		if d.Kind == Summary {
			for _, p := range Stated(d.Text) {
				r.optional[Pair{p.Op, cleanPath(p.Path, cwd)}] = true
			}
		}
		for _, c := range d.Calls {
			r.calls[c.ID] = c
		}
		if c, ok := r.calls[d.CallID]; ok && d.CallID != "" {
			delete(r.calls, d.CallID)
			r.finish(&c, d.Message)
		}
	}
	return r.trail()
}

type trailReader struct {
	cwd      string
	calls    map[string]Call // without a result so far
	files    map[string]*fileHistory
	optional map[Pair]bool
	commands map[string]*runHistory
	running  map[string]Call // commands that go on, by the ids that polls name
}

type fileHistory struct {
	read   bool
	ops    map[State]bool // all states it was in through tools or plain commands
	last   State
	strong bool // last was set by a tool, not by a command
	states int
}

func (r *trailReader) file(p string) *fileHistory {
	p = cleanPath(p, r.cwd)
	f := r.files[p]
	if f == nil {
		f = &fileHistory{ops: map[State]bool{}}
		r.files[p] = f
	}
	return f
}

func (r *trailReader) set(p string, s State, strong bool) {
	f := r.file(p)
	f.ops[s] = true
	if f.states == 0 || f.last != s {
		f.states++
	}
	f.last, f.strong = s, strong
}

// finish takes a call whose result is there.
func (r *trailReader) finish(c *Call, result *Message) {
	if started, ok := r.running[c.polled()]; ok {
		c = &started // a poll: its result is that of the command
	}
	verb := toolVerb(c.Name)
	if verb == verbEditor {
		verb = editorVerb(c.argument("command"))
	}
	if verb == verbShell {
		r.shell(c, result)
		return
	}
	if result.Failed {
		return
	}
	name := c.argument("file_path", "path", "filePath", "absolute_path", "notebook_path", "filename", "file_name", "file")
	switch verb {
	case verbRead:
		switch {
		case name == "":
		case !strings.Contains(base(name), "."): // may be a folder
			r.optional[Pair{OpRead, cleanPath(name, r.cwd)}] = true
		default:
			r.file(name).read = true
		}
	case verbWrite:
		if name != "" {
			r.set(name, Present, true)
		}
	case verbDelete:
		if name != "" {
			r.set(name, Gone, true)
		}
	case verbPatch:
		c.Strings(func(s string) { r.patch(s, result) })
	default:
	}
}

// patch reads the heads of a patch in the format of apply_patch.
func (r *trailReader) patch(body string, result *Message) {
	if exit, known := exitCode(result.Text); known && exit != 0 {
		return
	}
	from := ""
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSpace(line)
		if p, ok := strings.CutPrefix(line, "*** Add File: "); ok {
			r.set(p, Present, true)
		} else if p, ok := strings.CutPrefix(line, "*** Update File: "); ok {
			r.set(p, Present, true)
			from = p
		} else if p, ok := strings.CutPrefix(line, "*** Delete File: "); ok {
			r.set(p, Gone, true)
		} else if p, ok := strings.CutPrefix(line, "*** Move to: "); ok && from != "" {
			r.set(from, Gone, true)
			r.set(p, Present, true)
		}
	}
}

func base(p string) string {
	return p[strings.LastIndexAny(p, `/\`)+1:]
}

// trail sums up.
func (r *trailReader) trail() *Trail {
	t := &Trail{}
	for _, p := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[p]
		switch {
		case f.states == 0:
			t.Pairs = append(t.Pairs, Pair{OpRead, p})
			continue
		case f.last == Present && f.strong:
			t.Pairs = append(t.Pairs, Pair{OpChanged, p})
		case f.last == Gone && f.strong:
			t.Pairs = append(t.Pairs, Pair{OpDeleted, p})
		case f.last == Present:
			r.optional[Pair{OpChanged, p}] = true
		case f.last == Gone:
			r.optional[Pair{OpDeleted, p}] = true
		}
		// That a changed file was read is true and worth little.
		r.optional[Pair{OpRead, p}] = true
		if f.states > 1 {
			t.Turns = append(t.Turns, Turn{Path: p, Last: f.last})
		}
	}
	for p := range r.optional {
		t.Optional = append(t.Optional, p)
	}
	slices.SortFunc(t.Optional, comparePairs)
	for _, c := range slices.Sorted(maps.Keys(r.commands)) {
		if h := r.commands[c]; h.passed && h.failed {
			t.Turns = append(t.Turns, Turn{Command: c, Last: h.last})
		}
	}
	return t
}

func comparePairs(a, b Pair) int {
	if a.Op != b.Op {
		return int(a.Op) - int(b.Op)
	}
	return strings.Compare(a.Path, b.Path)
}

// verb is what a tool does, as its name says.
type verb uint8

const (
	verbNone verb = iota
	verbRead
	verbWrite
	verbDelete
	verbPatch
	verbShell
	verbEditor // its argument "command" says which of the others
)

// toolVerb knows the names of tools of the formats that sessions come in. Case,
// signs and a leading name space do not matter.
func toolVerb(name string) verb {
	name = name[strings.LastIndexAny(name, ".:")+1:]
	plain := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
	switch plain {
	case "read", "readfile", "view", "viewfile", "openfile", "open", "notebookread", "viewimage":
		return verbRead
	case "edit", "multiedit", "replace", "strreplace", "editfile", "notebookedit", "insert", "searchreplace",
		"write", "writefile", "create", "createfile", "overwrite":
		return verbWrite
	case "delete", "deletefile", "remove", "removefile":
		return verbDelete
	case "applypatch", "patch", "applydiff":
		return verbPatch
	case "bash", "shell", "sh", "executebash", "exec", "execcommand", "runshellcommand", "localshell", "localshellcall",
		"terminal", "run", "runcommand", "executecommand", "runterminalcmd", "shellcommand", "bashexecution":
		return verbShell
	case "strreplaceeditor", "strreplacebasededittool", "texteditor", "oheditor":
		return verbEditor
	}
	return verbNone
}

func editorVerb(command string) verb {
	switch command {
	case "view":
		return verbRead
	case "create", "str_replace", "insert":
		return verbWrite
	}
	return verbNone
}

// exitCode finds the exit code that a result states, in one of the forms that the
// formats have.
func exitCode(text string) (code int, known bool) {
	const near = 400 // bytes at either end
	for _, part := range []string{text[:min(near, len(text))], text[max(0, len(text)-near):]} {
		if m := exitForm().FindStringSubmatch(part); m != nil {
			n, err := strconv.Atoi(m[1])
			return n, err == nil
		}
	}
	return 0, false
}

var exitForm = text.Pattern(`(?i)(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)?"?[:= ]+|<returncode>|"exit_code": ?)(-?\d{1,3})\b`)
