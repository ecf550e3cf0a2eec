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

// argStates are programs that do the same to each file they name.
var argStates = index(map[State]string{
	StateCreated: `touch`, StateModified: `tee`, StateDeleted: `rm unlink`, StateRead: `cat head tail less more nl bat`,
})

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
func (l line) shellChanges(p place, failed bool) []fileChange {
	e := effects{place: p}
	for _, c := range l.cmds {
		if l.control || c.lost {
			break
		}
		e.dir = c.dir
		name := c.name()
		if !failed || name == "cat" || name == "echo" || name == "printf" {
			e.add(StateModified, c.outs...)
		}
		if !failed && name != "" {
			e.command(name, c.words[1:], len(c.outs) == 0)
		}
		if failed && (c.next == "||" || c.next == "&") {
			break
		}
	}
	return e.changes
}

func (e *effects) command(name string, words []word, prints bool) {
	args := operands(words, argStates()[name] == StateRead)
	has := func(flag string) bool { return slices.ContainsFunc(words, func(w word) bool { return w.text == flag }) }
	if name == "git" && len(args) > 0 {
		name, args = "git "+args[0].text, args[1:]
	}
	switch state := argStates()[name]; {
	case state == StateRead && !prints:
	case state != "":
		e.add(state, args...)
	case name == "mkdir":
		n := len(e.changes)
		e.add(StateCreated, args...)
		for i := range e.changes[n:] {
			e.changes[n+i].path += "/"
		}
	case name == "mv" || name == "git mv" || name == "cp":
		e.copies(args, name != "cp")
	case name == "git rm":
		e.add(StateDeleted, args...)
	case name == "git restore" && !has("--staged") && !has("-S"), name == "git checkout" && !has("-b") && !has("-B"):
		e.add(stateRestored, args...) // a branch is no file that is known
	case (name == "ln" || name == "install") && len(args) > 1:
		e.add(StateCreated, args[len(args)-1])
	case name == "curl" || name == "wget":
		for i, w := range words[:max(len(words)-1, 0)] {
			if outFlags()[w.text] || w.text == "-O" && name == "wget" {
				e.add(StateModified, words[i+1])
			}
		}
	case name == "sed":
		e.add(StateModified, sedFiles(words)...)
		if prints && len(args) > 1 && words[0].text == "-n" {
			e.add(StateRead, args[1:]...)
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

// operands returns the words that are no options; for programs that print, whose options
// take numbers, without these.
func operands(words []word, prints bool) []word {
	var out []word
	for i, w := range words {
		if w.text == "--" {
			return append(out, words[i+1:]...)
		}
		value := prints && (strings.HasPrefix(w.text, "+") || i > 0 && text.AllDigits(w.text) && strings.HasPrefix(words[i-1].text, "-"))
		if w.text != "" && !value && !strings.HasPrefix(w.text, "-") {
			out = append(out, w)
		}
	}
	return out
}

// sedFiles returns the files that a sed command changes in place.
func sedFiles(words []word) (files []word) {
	inPlace, script := false, false
	for i := 0; i < len(words); i++ {
		w := words[i].text
		switch {
		case strings.HasPrefix(w, "--expression=") || strings.HasPrefix(w, "--file="):
			script = true
		case w == "-e" || w == "-f" || w == "--expression" || w == "--file":
			script = true
			i++
		case strings.HasPrefix(w, "-"):
			inPlace = inPlace || strings.HasPrefix(w, "--in-place") || !strings.HasPrefix(w, "--") && strings.Contains(w, "i")
		case script:
			files = append(files, words[i])
		default:
			script = w != ""
		}
	}
	if !inPlace {
		return nil
	}
	return files
}
