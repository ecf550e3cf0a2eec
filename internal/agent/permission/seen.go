package permission

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/clew-dev/clew/internal/text"
)

// seen is what can be seen of the commands that a line may run: for rules that deny
// and ask.
type seen struct {
	texts []string // of commands, each in every form that a rule may be written in
	whole bool     // no command in the line is hidden
	size  int      // of texts, in bytes
}

const (
	maxDepth = 8       // of command lines in command lines
	maxSeen  = 1 << 20 // bytes of texts of one line, and of what is looked at for them
)

// inspect returns what can be seen in a line.
func inspect(line string) seen {
	s := seen{whole: true}
	s.line(line, 0)
	return s
}

func (s *seen) add(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if s.size += len(text); s.size > maxSeen {
		s.whole = false
		return
	}
	s.texts = append(s.texts, text)
}

// enough reports whether no deeper look is taken.
func (s *seen) enough(depth int) bool {
	if depth > maxDepth || s.size > maxSeen {
		s.whole = false
		return true
	}
	return false
}

func (s *seen) line(line string, depth int) {
	if s.enough(depth) {
		return
	}
	s.add(line)
	f, err := parse(line)
	if err != nil {
		s.whole = false
		s.pieces(line, depth)
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if c, ok := n.Cmd.(*syntax.CallExpr); ok {
				s.call(c, n.Redirs, depth)
			}
		case *syntax.DeclClause:
			words := []string{n.Variant.Value}
			for _, a := range n.Args {
				var b strings.Builder
				if a.Name != nil {
					b.WriteString(a.Name.Value)
				}
				if !a.Naked {
					b.WriteByte('=')
				}
				if a.Value != nil {
					b.WriteString(readWord(a.Value).text)
				}
				words = append(words, b.String())
			}
			s.words(words, depth)
		}
		return true
	})
}

// pieces takes a line that can't be read apart where commands may begin.
func (s *seen) pieces(line string, depth int) {
	quotes := strings.NewReplacer(`"`, "", `'`, "", `\`, "")
	for piece := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";&|()`{}\n\r", r) }) {
		words := strings.Fields(quotes.Replace(piece))
		for len(words) > 0 && (isAssignment(words[0]) || openers[words[0]]) {
			words = words[1:]
		}
		if len(words) > 0 {
			s.words(words, depth+1)
		}
	}
}

func (s *seen) call(c *syntax.CallExpr, redirs []*syntax.Redirect, depth int) {
	var words []string
	for i, arg := range c.Args {
		w := readWord(arg)
		s.whole = s.whole && (i > 0 || w.plain)
		words = append(words, w.text)
	}
	if len(words) == 0 {
		return
	}
	if set, _ := assignments(c); set != "" {
		s.add(set + joined(words))
	}
	s.words(words, depth)
	if !shells[path.Base(words[0])] {
		return
	}
	for _, r := range redirs { // what a shell is given to read
		w := r.Hdoc
		if r.Op == syntax.WordHdoc {
			w = r.Word
		}
		if w == nil {
			continue
		}
		s.script(readWord(w).text, depth)
	}
}

// words adds a command, and the commands that are its arguments.
func (s *seen) words(words []string, depth int) {
	if s.enough(depth) {
		return
	}
	s.add(joined(words))
	s.add(strings.Join(words, " "))
	name := path.Base(words[0])
	if name != words[0] {
		s.add(joined(append([]string{name}, words[1:]...)))
	}
	args := words[1:]
	switch {
	case shells[name]:
		s.shell(args, depth)
	case name == "eval" || name == "trap":
		s.script(strings.Join(args, " "), depth)
		if len(args) > 1 {
			s.script(args[0], depth)
		}
	case finds[name]:
		for i, w := range args {
			if finders[w] && i+1 < len(args) {
				s.words(args[i+1:], depth+1)
			}
		}
	case wrappers[name]:
		s.wrapped(args, depth+1)
	}
}

// wrapped adds the command that a wrapper is given. Whether an option has a value is
// not known, so both readings are added.
func (s *seen) wrapped(words []string, depth int) {
	value := false // the word before may be an option that takes this one
	for i, w := range words {
		switch {
		case strings.ContainsRune(w, unknown):
			s.whole = false
			value = false
		case strings.HasPrefix(w, "-"):
			if script, ok := strings.CutPrefix(w, "--split-string="); ok { // of env
				s.script(script, depth)
			} else if w == "-S" && i+1 < len(words) {
				s.script(words[i+1], depth)
			}
			value = true
		case isAssignment(w), strings.Trim(w, "0123456789.smhd") == "":
			value = false
		default:
			s.words(words[i:], depth)
			if !value {
				return
			}
			value = false
		}
	}
}

// shell adds what is in the script of sh -c. A shell without a script reads what it
// is to run, and that can't be seen.
func (s *seen) shell(args []string, depth int) {
	if !slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		s.whole = false
	}
	for i, w := range args {
		if w != "--command" && (strings.HasPrefix(w, "--") || !strings.HasPrefix(w, "-") || !strings.Contains(w, "c")) {
			continue
		}
		for _, script := range args[i+1:] {
			if !strings.HasPrefix(script, "-") {
				s.script(script, depth)
				return
			}
		}
	}
}

func (s *seen) script(script string, depth int) {
	if strings.ContainsRune(script, unknown) {
		s.whole = false
		script = strings.ReplaceAll(script, string(unknown), " ")
	}
	s.line(script, depth+1)
}

// joined is how the words of a command are compared with rules.
func joined(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoted(w)
	}
	return strings.Join(out, " ")
}

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && syntax.ValidName(name)
}

var (
	// openers stand before a command.
	openers = text.Words("if then elif else while until do ! time coproc")()
	// shells run a command line: sh -c '…'.
	shells = text.Words("sh bash dash zsh ksh ash mksh fish su rbash")()
	// wrappers run the command that their arguments are.
	wrappers = text.Words(`sudo doas env command builtin exec nohup nice ionice time timeout gtimeout xargs parallel setsid stdbuf unbuffer
		busybox watch strace ltrace chroot flock script caffeinate unshare nsenter firejail systemd-run runuser pkexec chrt taskset setarch`)()
	finds = text.Words("find fd fdfind")()
	// finders are the options of finds before a command.
	finders = text.Words("-exec -execdir -ok -okdir -x -X --exec --exec-batch")()
)
