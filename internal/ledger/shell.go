package ledger

import "strings"

// script is a command line in parts. It is a reading for evidence, not an
// interpreter: what a shell would have to compute stays marked as such.
type script struct {
	cmds []simple
	// control says that there are loops, conditions, functions or subshells, so
	// that not every command ran, or not once.
	control bool
}

// simple is a command with its words and redirections.
type simple struct {
	words    []word
	outs     []word // targets of > and >>
	from, to int    // where it stands in the command line
	next     string // the operator after it: "&&", "||", ";", "|", "&" or ""
}

// word is a word of a command. A dynamic one has parts that only a shell knows.
type word struct {
	text    string
	dynamic bool
}

// maxScript is how much of a command line is read.
const maxScript = 256 << 10

func parseScript(s string) script {
	if len(s) > maxScript {
		s = s[:maxScript]
	}
	l := lexer{s: s}
	l.run()
	return l.out
}

type lexer struct {
	s    string
	i    int
	out  script
	cmd  simple
	docs []string // delimiters of here documents whose bodies follow
}

func (l *lexer) run() {
	for l.i < len(l.s) {
		switch c := l.s[l.i]; c {
		case ' ', '\t', '\r':
			l.i++
		case '\\':
			if strings.HasPrefix(l.s[l.i:], "\\\n") {
				l.i += 2
				continue
			}
			l.word()
		case '\n':
			l.i++
			l.end(";")
			l.skipDocs()
		case '#':
			for l.i < len(l.s) && l.s[l.i] != '\n' {
				l.i++
			}
		case ';', '|', '&':
			l.operator()
		case '(', ')':
			l.out.control = true
			l.i++
			l.end(";")
		case '<', '>':
			l.redirect()
		default:
			l.word()
		}
	}
	l.end("")
}

func (l *lexer) operator() {
	for _, op := range []string{"&&", "||", "&>>", "&>", ";;", "|&"} {
		if !strings.HasPrefix(l.s[l.i:], op) {
			continue
		}
		l.i += len(op)
		switch op {
		case "&>", "&>>":
			l.target()
		case "|&":
			l.end("|")
		case ";;":
			l.end(";")
		default:
			l.end(op)
		}
		return
	}
	l.i++
	l.end(l.s[l.i-1 : l.i])
}

// end ends the current command.
func (l *lexer) end(op string) {
	if len(l.cmd.words) == 0 && len(l.cmd.outs) == 0 {
		return
	}
	l.cmd.next = op
	if len(l.cmd.words) > 0 && controlWord[l.cmd.words[0].text] {
		l.out.control = true
	}
	l.out.cmds = append(l.out.cmds, l.cmd)
	l.cmd = simple{}
}

var controlWord = map[string]bool{
	"for": true, "while": true, "until": true, "if": true, "then": true, "else": true, "elif": true, "fi": true,
	"do": true, "done": true, "case": true, "esac": true, "function": true, "{": true, "}": true, "!": true, "[[": true,
}

func (l *lexer) redirect() {
	rest := l.s[l.i:]
	switch {
	case strings.HasPrefix(rest, "<<<"):
		l.i += 3
		l.readWord()
	case strings.HasPrefix(rest, "<<"):
		l.i += 2
		if strings.HasPrefix(l.s[l.i:], "-") {
			l.i++
		}
		l.docs = append(l.docs, l.readWord().text)
	case strings.HasPrefix(rest, ">&"), strings.HasPrefix(rest, "<&"):
		l.i += 2
		l.readWord()
	case rest[0] == '<':
		l.i++
		l.readWord()
	default:
		l.i++
		if l.i < len(l.s) && (l.s[l.i] == '>' || l.s[l.i] == '|') {
			l.i++
		}
		l.target()
	}
	l.cmd.to = l.i
}

func (l *lexer) target() {
	if w := l.readWord(); w.text != "" {
		l.cmd.outs = append(l.cmd.outs, w)
	}
}

// skipDocs passes over the bodies of here documents.
func (l *lexer) skipDocs() {
	for _, delim := range l.docs {
		for l.i < len(l.s) {
			line := l.s[l.i:]
			if k := strings.IndexByte(line, '\n'); k >= 0 {
				line = line[:k]
				l.i += k + 1
			} else {
				l.i = len(l.s)
			}
			if strings.Trim(line, "\t\r") == delim {
				break
			}
		}
	}
	l.docs = nil
}

func (l *lexer) word() {
	from := l.i
	w := l.readWord()
	if l.i == from {
		l.i++ // never stand still
		return
	}
	// A number before a redirection is a file descriptor.
	if l.i < len(l.s) && (l.s[l.i] == '>' || l.s[l.i] == '<') && allDigits(l.s[from:l.i]) {
		return
	}
	if len(l.cmd.words) == 0 {
		l.cmd.from = from
	}
	l.cmd.words = append(l.cmd.words, w)
	l.cmd.to = l.i
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// readWord reads one word, after blanks.
func (l *lexer) readWord() word {
	for l.i < len(l.s) && (l.s[l.i] == ' ' || l.s[l.i] == '\t') {
		l.i++
	}
	var w word
	var b strings.Builder
	for l.i < len(l.s) {
		c := l.s[l.i]
		switch c {
		case ' ', '\t', '\r', '\n', ';', '|', '&', '<', '>', '(', ')':
			w.text = b.String()
			return w
		case '\'':
			end := strings.IndexByte(l.s[l.i+1:], '\'')
			if end < 0 {
				end = len(l.s) - l.i - 1
			}
			b.WriteString(l.s[l.i+1 : l.i+1+end])
			l.i = min(l.i+end+2, len(l.s))
			continue
		case '"':
			l.i++
			l.doubleQuoted(&b, &w)
			continue
		case '\\':
			if l.i+1 < len(l.s) {
				l.i++
				if l.s[l.i] != '\n' {
					b.WriteByte(l.s[l.i])
				}
			}
		case '$', '`':
			w.dynamic = true
			l.expansion(&b)
			continue
		case '*', '?', '[', '{':
			w.dynamic = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
		l.i++
	}
	w.text = b.String()
	return w
}

func (l *lexer) doubleQuoted(b *strings.Builder, w *word) {
	for l.i < len(l.s) && l.s[l.i] != '"' {
		switch c := l.s[l.i]; {
		case c == '\\' && l.i+1 < len(l.s):
			l.i++
			if l.s[l.i] != '\n' {
				b.WriteByte(l.s[l.i])
			}
			l.i++
		case c == '$' || c == '`':
			w.dynamic = true
			l.expansion(b)
		default:
			b.WriteByte(c)
			l.i++
		}
	}
	l.i = min(l.i+1, len(l.s))
}

// expansion passes over $name, $(command) and `command`, and keeps their text.
func (l *lexer) expansion(b *strings.Builder) {
	from := l.i
	switch rest := l.s[l.i:]; {
	case strings.HasPrefix(rest, "$("):
		depth := 0
		for l.i < len(l.s) {
			switch l.s[l.i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			l.i++
			if depth == 0 && l.s[l.i-1] == ')' {
				break
			}
		}
	case rest[0] == '`':
		end := strings.IndexByte(rest[1:], '`')
		if end < 0 {
			end = len(rest) - 2
		}
		l.i = min(l.i+end+2, len(l.s))
	default:
		l.i++
	}
	b.WriteString(l.s[from:l.i])
}
