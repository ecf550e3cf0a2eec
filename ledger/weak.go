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
