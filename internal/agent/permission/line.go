package permission

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxLine is the longest command line that is read, in bytes.
const maxLine = 32 << 10

// unknown stands, in the text of a command, for a value that is known when it runs.
// Only a "*" matches it.
const unknown = '\x00'

// parse reads a command line as bash does.
func parse(line string) (*syntax.File, error) {
	switch {
	case len(line) > maxLine:
		return nil, fmt.Errorf("it has %d bytes, and at most %d are looked through", len(line), maxLine)
	case !utf8.ValidString(line):
		return nil, errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return nil, errors.New("it has control characters in it")
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	return f, nil
}

// A command is a simple command: assignments, a name, arguments.
type command struct {
	text string // words with one blank between them, quoted as the package comment says
	// prefix is how many bytes of the text only a rule's own words may match, not its
	// "*": assignments before the name of the command.
	prefix int
	name   string // "" for assignments alone
	words  []word // the name and the arguments
}

// strictly returns the simple commands of a line when nothing else in it does
// anything. The error says what does.
func strictly(line string) ([]command, error) {
	f, err := parse(line)
	if err != nil {
		return nil, err
	}
	var s strict
	s.all(f.Stmts)
	if s.err == nil && len(s.found) == 0 {
		s.err = errors.New("there is no command in it")
	}
	return s.found, s.err
}

type strict struct {
	found []command
	err   error // the first
}

func (s *strict) refuse(what string) {
	if s.err == nil {
		s.err = errors.New("it has " + what + ", which only a rule with the whole line can allow")
	}
}

func (s *strict) all(list []*syntax.Stmt) {
	for _, st := range list {
		s.statement(st)
	}
}

func (s *strict) statement(st *syntax.Stmt) {
	if st.Background || st.Coprocess || st.Disown {
		s.refuse("a background job")
	}
	for _, r := range st.Redirs {
		s.redirection(r)
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.BinaryCmd:
		s.statement(c.X)
		s.statement(c.Y)
	case *syntax.Block:
		s.all(c.Stmts)
	case *syntax.Subshell:
		s.all(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.all(c.Cond)
			s.all(c.Then)
		}
	case *syntax.WhileClause:
		s.all(c.Cond)
		s.all(c.Do)
	case nil:
		s.refuse("a redirection without a command")
	default:
		s.refuse("more than commands, if and while: a loop over words, a function, a test or the like")
	}
}

// redirection takes those that touch no file: 2>&1, >/dev/null.
func (s *strict) redirection(r *syntax.Redirect) {
	target, ok := plain(r.Word)
	number := func(n string) bool { return n != "" && strings.Trim(n, "0123456789") == "" }
	if r.N != nil && !number(r.N.Value) || !ok {
		s.refuse("a redirection")
		return
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		ok = target == "-" || number(strings.TrimSuffix(target, "-"))
	case syntax.RdrIn, syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		ok = target == "/dev/null"
	default:
		ok = false
	}
	if !ok {
		s.refuse("a redirection")
	}
}

func (s *strict) call(c *syntax.CallExpr) {
	var b strings.Builder
	for _, a := range c.Assigns {
		value := ""
		ok := a.Value == nil
		if !ok {
			value, ok = plain(a.Value)
		}
		if !ok || a.Append || a.Naked || a.Index != nil || a.Array != nil {
			s.refuse("an assignment of a value that is not written out")
			return
		}
		b.WriteString(a.Name.Value + "=" + quoted(value) + " ")
	}
	cmd := command{prefix: b.Len()}
	for i, w := range c.Args {
		said, opaque := wordText(w)
		if opaque != "" {
			s.refuse(opaque)
			return
		}
		if i == 0 {
			var ok bool
			if cmd.name, ok = plain(w); !ok {
				s.refuse("a command whose name is not written out")
				return
			}
		} else {
			b.WriteByte(' ')
		}
		one := readWord(w)
		one.text, one.at = said, b.Len()
		b.WriteString(quoted(said))
		one.end = b.Len()
		cmd.words = append(cmd.words, one)
	}
	cmd.text = strings.TrimSuffix(b.String(), " ")
	cmd.prefix = min(cmd.prefix, len(cmd.text))
	s.found = append(s.found, cmd)
}

// plain returns a word that is known as it stands: it has no variable in it, and
// nothing that is replaced by names of files, by a home folder, or by several words.
func plain(w *syntax.Word) (string, bool) {
	for i, part := range w.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		open := strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "", `\{`, "", `\~`, "").Replace(l.Value)
		if strings.ContainsAny(open, "*?{") || i == 0 && strings.HasPrefix(open, "~") ||
			strings.Contains(open, "[") && (len(w.Parts) > 1 || open != "[") {
			return "", false
		}
	}
	text, opaque := wordText(w)
	return text, opaque == "" && !strings.ContainsRune(text, unknown)
}

// wordText returns a word without its quotes, with unknown for the value of a
// variable. opaque says what is in it that does more than stand for a value, or for
// one that is not seen.
func wordText(w *syntax.Word) (text, opaque string) {
	var b strings.Builder
	opaque = partsText(&b, w.Parts, false)
	return b.String(), opaque
}

func partsText(b *strings.Builder, parts []syntax.WordPart, quoted bool) (opaque string) {
	note := func(what string) {
		b.WriteRune(unknown)
		if opaque == "" {
			opaque = what
		}
	}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			unescape(b, p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar {
				note("a quotation of the form $'…'")
				continue
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				note("a quotation of the form $\"…\"")
				continue
			}
			if inner := partsText(b, p.Parts, true); opaque == "" {
				opaque = inner
			}
		case *syntax.ParamExp:
			if !simple(p) {
				note("a variable that is changed where it is used")
				continue
			}
			b.WriteRune(unknown)
		case *syntax.CmdSubst, *syntax.ProcSubst:
			note("a command in a command")
		default:
			note("arithmetic or a pattern of the shell")
		}
	}
	return opaque
}

// simple reports whether an expansion is a variable's value and no more: $name or
// ${name}.
func simple(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset &&
		p.NestedParam == nil && p.Index == nil && p.Modifiers == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// unescape writes a literal without its backslashes.
func unescape(b *strings.Builder, s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
}

// quoted puts a word into single quotes where it could be taken for several, or for
// none.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
