package ledger

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script is a command line in parts. It is a reading for evidence, not an
// interpreter: what a shell would have to compute is marked as dynamic.
type script struct {
	cmds []simple
	// control says that not every command ran, or not once: there are loops, conditions,
	// functions or subshells, or the line can't be read.
	control bool
}

// simple is a command with its words and redirections, without assignments.
type simple struct {
	words    []word
	outs     []word // targets of > and >>
	from, to int    // where it stands in the command line
	next     string // the operator after it: "&&", "||", ";", "|", "|&", "&" or ""
}

func (c simple) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0].text
}

// word is a word of a command. A dynamic one has parts that only a shell knows.
type word struct {
	text    string
	dynamic bool
}

// maxScript is the longest command line that is read, in bytes.
const maxScript = 256 << 10

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// parseScript reads a command line as bash does.
func parseScript(parser *syntax.Parser, s string) script {
	if len(s) > maxScript {
		return unread(s)
	}
	file, err := parser.Parse(strings.NewReader(s), "")
	if err != nil {
		return unread(s)
	}
	r := scriptReader{source: s}
	r.list(file.Stmts)
	return r.out
}

// unread stands for a command line that can't be read: one command, the blank-separated
// words of its first line, and no evidence for files.
func unread(s string) script {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	cmd := simple{from: strings.Index(s, line)}
	cmd.to = cmd.from + len(line)
	for w := range strings.FieldsSeq(line[:min(len(line), 1<<10)]) {
		cmd.words = append(cmd.words, word{text: w, dynamic: true})
	}
	return script{cmds: []simple{cmd}, control: true}
}

type scriptReader struct {
	source string
	out    script
}

func (r *scriptReader) list(statements []*syntax.Stmt) {
	for i, st := range statements {
		r.statement(st)
		if st.Background {
			r.then("&")
		} else if i < len(statements)-1 {
			r.then(";")
		}
	}
}

func (r *scriptReader) then(operator string) {
	if n := len(r.out.cmds); n > 0 {
		r.out.cmds[n-1].next = operator
	}
}

func (r *scriptReader) statement(st *syntax.Stmt) {
	r.out.control = r.out.control || st.Negated
	switch c := st.Cmd.(type) {
	case nil, *syntax.DeclClause:
		r.simple(st)
	case *syntax.CallExpr:
		r.simple(st, c.Args...)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.statement(c.Stmt)
		}
	case *syntax.BinaryCmd:
		r.statement(c.X)
		r.then(c.Op.String())
		r.statement(c.Y)
	default:
		r.out.control = true
		syntax.Walk(c, r.inside)
	}
}

// inside finds the statements of a loop, a condition or the like. A function's are not run
// where it is defined, and those of a substitution are part of a word.
func (r *scriptReader) inside(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		r.list([]*syntax.Stmt{n})
		r.then(";")
		return false
	case *syntax.FuncDecl, *syntax.Word:
		return false
	}
	return true
}

func (r *scriptReader) simple(st *syntax.Stmt, words ...*syntax.Word) {
	cmd := simple{from: int(st.Position.Offset())}
	if st.Cmd != nil {
		cmd.to = int(st.Cmd.End().Offset())
	}
	for _, w := range words {
		cmd.words = append(cmd.words, r.word(w))
	}
	for _, rd := range st.Redirs {
		cmd.to = max(cmd.to, int(rd.Word.End().Offset()))
		switch rd.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			cmd.outs = append(cmd.outs, r.word(rd.Word))
		default:
		}
	}
	r.out.cmds = append(r.out.cmds, cmd)
}

func (r *scriptReader) word(w *syntax.Word) word {
	var b strings.Builder
	dynamic := r.parts(&b, w.Parts, false)
	return word{text: b.String(), dynamic: dynamic}
}

// parts writes the text of a word: what is quoted without its quotes, what a shell would
// compute as it stands.
func (r *scriptReader) parts(b *strings.Builder, parts []syntax.WordPart, quoted bool) (dynamic bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			dynamic = literal(b, p.Value, quoted) || dynamic
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			dynamic = dynamic || p.Dollar
		case *syntax.DblQuoted:
			dynamic = r.parts(b, p.Parts, true) || dynamic
		default:
			b.WriteString(r.source[p.Pos().Offset():p.End().Offset()])
			dynamic = true
		}
	}
	return dynamic
}

func literal(b *strings.Builder, s string, quoted bool) (dynamic bool) {
	for i := 0; i < len(s); i++ {
		escapes := s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0)
		if escapes {
			i++
		} else if !quoted && strings.IndexByte("*?[{", s[i]) >= 0 {
			dynamic = true
		}
		if !escapes || s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return dynamic
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
