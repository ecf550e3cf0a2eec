package ledger

import (
	"path"
	"strings"
)

// shellChanges returns what the simple commands of a line do to files, in
// order. Where a shell would have to compute, there is no evidence.
func shellChanges(sc script, p place, dir string) []change {
	if sc.control {
		return nil
	}
	var out []change
	add := func(name word, s State, to string) {
		if name.dynamic {
			return
		}
		if n := p.norm(name.text, dir); n != "" && n != "." && !strings.HasPrefix(n, "/dev/") {
			out = append(out, change{path: n, state: s, to: to})
		}
	}
	for _, c := range sc.cmds {
		for _, o := range c.outs {
			add(o, StateModified, "")
		}
		if len(c.words) == 0 {
			continue
		}
		args := operands(c.words[1:])
		switch name := c.words[0].text; {
		case name == "cd" && len(args) == 1:
			if args[0].dynamic {
				return out
			}
			dir = p.norm(args[0].text, dir)
		case name == "curl" || name == "wget":
			for i, w := range c.words[:len(c.words)-1] {
				if w.text == "-o" || w.text == "-O" && name == "wget" || w.text == "--output" || w.text == "--output-document" {
					add(c.words[i+1], StateModified, "")
				}
			}
		case name == "touch":
			for _, a := range args {
				add(a, StateCreated, "")
			}
		case name == "tee":
			for _, a := range args {
				add(a, StateModified, "")
			}
		case name == "rm", name == "unlink", name == "git" && firstIs(&args, "rm"):
			for _, a := range args {
				add(a, StateDeleted, "")
			}
		case name == "mv", name == "git" && firstIs(&args, "mv"):
			for from, to := range targets(args, p, dir) {
				add(from, StateDeleted, to)
			}
		case name == "cp":
			for from, to := range targets(args, p, dir) {
				if !from.dynamic {
					out = append(out, change{path: to, state: StateCreated})
				}
			}
		case name == "sed":
			for _, a := range sedFiles(c.words[1:]) {
				add(a, StateModified, "")
			}
			if shown := sedShown(c.words[1:]); len(c.outs) == 0 {
				for _, a := range shown {
					add(a, StateRead, "")
				}
			}
		case name == "mkdir":
			for _, a := range args {
				a.text = strings.TrimSuffix(a.text, "/")
				if n := len(out); true {
					add(a, StateCreated, "")
					if len(out) > n {
						out[n].path += "/"
					}
				}
			}
		case name == "ln", name == "install":
			if len(args) > 1 {
				add(args[len(args)-1], StateCreated, "")
			}
		case name == "git":
			for _, a := range restored(c.words[1:]) {
				add(a, stateRestored, "")
			}
		case showing[name] && len(c.outs) == 0:
			for _, a := range shownFiles(c.words[1:]) {
				add(a, StateRead, "")
			}
		}
	}
	return out
}

// stateRestored is what becomes of a file that git brings back: it is as it was
// before it was changed.
const stateRestored State = "restored"

// showing are programs that print files.
var showing = map[string]bool{"cat": true, "head": true, "tail": true, "less": true, "more": true, "nl": true, "bat": true}

// shownFiles returns the files that a command prints: its operands, without the
// numbers that its options take.
func shownFiles(words []word) []word {
	var out []word
	for i, w := range words {
		if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") || w.text == "" || i > 0 && allDigits(w.text) && strings.HasPrefix(words[i-1].text, "-") {
			continue
		}
		out = append(out, w)
	}
	return out
}

// sedShown returns the files that sed -n prints parts of.
func sedShown(words []word) []word {
	args := operands(words)
	if len(words) == 0 || words[0].text != "-n" || len(args) < 2 {
		return nil
	}
	return args[1:]
}

// restored returns the files that a git command brings back as they were.
func restored(words []word) []word {
	if len(words) == 0 {
		return nil
	}
	switch words[0].text {
	case "checkout":
		for i, w := range words {
			if w.text == "--" {
				return words[i+1:]
			}
		}
	case "restore":
		for _, w := range words {
			if w.text == "--staged" || w.text == "-S" {
				return nil
			}
		}
		return operands(words[1:])
	}
	return nil
}

// sureWrites returns the files that a command line wrote though it failed: a
// redirection is made before the command runs, and what only prints does not fail.
func sureWrites(sc script, p place, dir string) []change {
	if sc.control {
		return nil
	}
	var out []change
	for _, c := range sc.cmds {
		if len(c.words) == 0 {
			continue
		}
		switch name := c.words[0].text; name {
		case "cd":
			if len(c.words) != 2 || c.words[1].dynamic {
				return out
			}
			dir = p.norm(c.words[1].text, dir)
		case "cat", "echo", "printf":
			for _, o := range c.outs {
				if n := p.norm(o.text, dir); n != "" && n != "." && !o.dynamic && !strings.HasPrefix(n, "/dev/") {
					out = append(out, change{path: n, state: StateModified})
				}
			}
		}
		if c.next == "||" || c.next == "&" {
			return out
		}
	}
	return out
}

// operands returns the words that are no options.
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

func firstIs(args *[]word, name string) bool {
	if len(*args) > 0 && (*args)[0].text == name {
		*args = (*args)[1:]
		return true
	}
	return false
}

// sedFiles returns the files that a sed command changes in place.
func sedFiles(words []word) []word {
	inPlace, script := false, false
	var files []word
	for i := 0; i < len(words); i++ {
		switch w := words[i].text; {
		case w == "" || w == "-":
		case w == "-e" || w == "-f" || w == "--expression" || w == "--file":
			script = true
			i++
		case strings.HasPrefix(w, "--expression=") || strings.HasPrefix(w, "--file="):
			script = true
		case strings.HasPrefix(w, "-i") || strings.HasPrefix(w, "--in-place"):
			inPlace = true
		case strings.HasPrefix(w, "-"):
			inPlace = inPlace || !strings.HasPrefix(w, "--") && strings.Contains(w, "i")
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

// targets pairs each file of a mv or cp with the path it gets.
func targets(args []word, p place, dir string) func(func(word, string) bool) {
	return func(yield func(word, string) bool) {
		if len(args) < 2 {
			return
		}
		last := args[len(args)-1]
		if last.dynamic {
			return
		}
		into := len(args) > 2 || strings.HasSuffix(last.text, "/") || last.text == "." || last.text == ".."
		for _, from := range args[:len(args)-1] {
			to := last.text
			if into {
				to = strings.TrimSuffix(to, "/") + "/" + path.Base(from.text)
			}
			if to = p.norm(to, dir); to != "" && !yield(from, to) {
				return
			}
		}
	}
}
