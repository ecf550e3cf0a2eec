package ledger

import (
	"path"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// stateRestored is what becomes of a file that git brings back: it is as it was
// before it was changed.
const stateRestored State = "restored"

// outFlags are followed by the file that curl or wget writes.
var outFlags = text.Words(`-o --output --output-document`)

// effects collects what commands do to files.
type effects struct {
	place
	dir     string
	changes []fileChange
}

func (e *effects) add(s State, names ...word) {
	for _, name := range names {
		n := e.norm(name.text, e.dir)
		if !name.dynamic && n != "" && n != "." && !strings.HasPrefix(n, "/dev/") {
			e.changes = append(e.changes, fileChange{path: n, state: s})
		}
	}
}

// shellChanges returns what the simple commands of a line do to files, in order. Where a
// shell would have to compute, there is no evidence. Of a line that failed only the
// redirections of what just prints are sure: they are made before the command runs.
func shellChanges(sc script, p place, dir string, failed bool) []fileChange {
	e := effects{place: p, dir: dir}
	if sc.control {
		return nil
	}
	for _, c := range sc.cmds {
		name := c.name()
		switch {
		case name == "cd" && (len(c.words) != 2 || c.words[1].dynamic):
			return e.changes
		case name == "cd":
			e.dir = p.norm(c.words[1].text, e.dir)
		case !failed:
			e.add(StateModified, c.outs...)
			e.command(name, c)
		case name == "cat" || name == "echo" || name == "printf":
			e.add(StateModified, c.outs...)
		}
		if failed && (c.next == "||" || c.next == "&") {
			break
		}
	}
	return e.changes
}

func (e *effects) command(name string, c simple) {
	if len(c.words) == 0 {
		return
	}
	words := c.words[1:]
	args := operands(words)
	if name == "git" && len(args) > 0 && (args[0].text == "rm" || args[0].text == "mv") {
		name, args = args[0].text, args[1:]
	}
	switch name {
	case "mkdir":
		n := len(e.changes)
		e.add(StateCreated, args...)
		for i := range e.changes[n:] {
			e.changes[n+i].path += "/"
		}
	case "touch":
		e.add(StateCreated, args...)
	case "tee":
		e.add(StateModified, args...)
	case "rm", "unlink":
		e.add(StateDeleted, args...)
	case "mv", "cp":
		e.copies(args, name == "mv")
	case "ln", "install":
		if len(args) > 1 {
			e.add(StateCreated, args[len(args)-1])
		}
	case "curl", "wget":
		for i, w := range words[:max(len(words)-1, 0)] {
			if outFlags()[w.text] || w.text == "-O" && name == "wget" {
				e.add(StateModified, words[i+1])
			}
		}
	case "sed":
		e.add(StateModified, sedFiles(words)...)
		if len(c.outs) == 0 && len(args) > 1 && words[0].text == "-n" {
			e.add(StateRead, args[1:]...)
		}
	case "git":
		e.add(stateRestored, restored(words)...)
	case "cat", "head", "tail", "less", "more", "nl", "bat":
		if len(c.outs) == 0 {
			e.add(StateRead, shownFiles(words)...)
		}
	}
}

// copies pairs each file of a mv or cp with the path it gets.
func (e *effects) copies(args []word, moved bool) {
	if len(args) < 2 || args[len(args)-1].dynamic {
		return
	}
	last := args[len(args)-1].text
	into := len(args) > 2 || strings.HasSuffix(last, "/") || last == "." || last == ".."
	for _, from := range args[:len(args)-1] {
		to := last
		if into {
			to += "/" + path.Base(from.text)
		}
		to = e.norm(to, e.dir)
		n := len(e.changes)
		if e.add(StateDeleted, from); to == "" || len(e.changes) == n {
			e.changes = e.changes[:n]
		} else if moved {
			e.changes[n].to = to
		} else {
			e.changes[n] = fileChange{path: to, state: StateCreated}
		}
	}
}

// shownFiles returns the files that a command prints: its operands, without the
// numbers that its options take.
func shownFiles(words []word) []word {
	var out []word
	for i, w := range words {
		value := i > 0 && allDigits(w.text) && strings.HasPrefix(words[i-1].text, "-")
		if w.text != "" && !value && !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
			out = append(out, w)
		}
	}
	return out
}

// restored returns the files that a git command brings back as they were.
func restored(words []word) []word {
	at := func(flags ...string) int {
		return slices.IndexFunc(words, func(w word) bool { return slices.Contains(flags, w.text) })
	}
	switch {
	case at("checkout") == 0 && at("--") > 0:
		return words[at("--")+1:]
	case at("restore") == 0 && at("--staged", "-S") < 0:
		return operands(words[1:])
	}
	return nil
}

func operands(words []word) []word {
	var out []word
	for i, w := range words {
		if w.text == "--" {
			return append(out, words[i+1:]...)
		}
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			out = append(out, w)
		}
	}
	return out
}

// sedFiles returns the files that a sed command changes in place.
func sedFiles(words []word) []word {
	inPlace, script := false, false
	var files []word
	for i := 0; i < len(words); i++ {
		w := words[i].text
		flag, _, given := strings.Cut(w, "=")
		switch {
		case w == "" || w == "-":
		case flag == "-e" || flag == "-f" || flag == "--expression" || flag == "--file":
			script = true
			if !given {
				i++
			}
		case strings.HasPrefix(w, "--"):
			inPlace = inPlace || strings.HasPrefix(w, "--in-place")
		case strings.HasPrefix(w, "-"):
			inPlace = inPlace || strings.Contains(w, "i")
		case !script:
			script = true
		default:
			files = append(files, words[i])
		}
	}
	if !inPlace {
		return nil
	}
	return files
}
