package ledger

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script is a command line in parts. It is a reading for evidence, not an
// interpreter: what a shell would have to compute is marked as dynamic.
type script struct {
	source string
	cmds   []simple
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
	dir      string // where it runs, "" for the working directory
	lost     bool   // only a shell knows where it runs
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

// parseScript reads a command line as bash does. One that can't be read is one command, the
// words of its first line, and no evidence for files.
func parseScript(parser *syntax.Parser, s string) script {
	sc := script{source: s}
	if len(s) <= maxScript {
		file, err := parser.Parse(strings.NewReader(s), "")
		if err == nil {
			sc.list(file.Stmts...)
			return sc
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	cmd := simple{from: strings.Index(s, line)}
	cmd.to = cmd.from + len(line)
	for w := range strings.FieldsSeq(line[:min(len(line), 1<<10)]) {
		cmd.words = append(cmd.words, word{text: w, dynamic: true})
	}
	return script{cmds: []simple{cmd}, control: true}
}

func (sc *script) list(statements ...*syntax.Stmt) {
	for i, st := range statements {
		sc.statement(st)
		if st.Background {
			sc.then("&")
		} else if i < len(statements)-1 {
			sc.then(";")
		}
	}
}

func (sc *script) then(operator string) {
	if n := len(sc.cmds); n > 0 {
		sc.cmds[n-1].next = operator
	}
}

func (sc *script) statement(st *syntax.Stmt) {
	sc.control = sc.control || st.Negated
	switch c := st.Cmd.(type) {
	case nil, *syntax.DeclClause:
		sc.simple(st)
	case *syntax.CallExpr:
		sc.simple(st, c.Args...)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			sc.statement(c.Stmt)
		}
	case *syntax.BinaryCmd:
		sc.statement(c.X)
		sc.then(c.Op.String())
		sc.statement(c.Y)
	default:
		sc.control = true
		syntax.Walk(c, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				sc.list(n)
				sc.then(";")
				return false
			case *syntax.FuncDecl, *syntax.Word: // not run where it is defined; part of a word
				return false
			}
			return true
		})
	}
}

func (sc *script) simple(st *syntax.Stmt, words ...*syntax.Word) {
	cmd := simple{from: int(st.Position.Offset())}
	if st.Cmd != nil {
		cmd.to = int(st.Cmd.End().Offset())
	}
	for _, w := range words {
		cmd.words = append(cmd.words, sc.word(w))
	}
	for _, rd := range st.Redirs {
		cmd.to = max(cmd.to, int(rd.Word.End().Offset()))
		switch rd.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			cmd.outs = append(cmd.outs, sc.word(rd.Word))
		default:
		}
	}
	sc.cmds = append(sc.cmds, cmd)
}

func (sc *script) word(w *syntax.Word) word {
	var b strings.Builder
	dynamic := sc.parts(&b, w.Parts, false)
	return word{text: b.String(), dynamic: dynamic}
}

// parts writes the text of a word: what is quoted without its quotes, what a shell would
// compute as it stands.
func (sc *script) parts(b *strings.Builder, parts []syntax.WordPart, quoted bool) (dynamic bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			dynamic = literal(b, p.Value, quoted) || dynamic
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			dynamic = dynamic || p.Dollar
		case *syntax.DblQuoted:
			dynamic = sc.parts(b, p.Parts, true) || dynamic
		default:
			b.WriteString(sc.source[p.Pos().Offset():p.End().Offset()])
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
