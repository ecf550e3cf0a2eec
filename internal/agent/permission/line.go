package permission

import (
	"cmp"
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
func strictly(line string) (found []command, err error) {
	f, err := parse(line)
	if err != nil {
		return nil, err
	}
	refuse := func(what string) {
		if what != "" && err == nil {
			err = errors.New("it has " + what + ", which only a rule with the whole line can allow")
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.File, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.Comment, nil:
			return true
		case *syntax.Stmt:
			if n.Background || n.Coprocess || n.Disown {
				refuse("a background job")
			}
			if n.Cmd == nil {
				refuse("a redirection without a command")
			}
			return true
		case *syntax.Redirect:
			if !touchesNothing(n) {
				refuse("a redirection")
			}
		case *syntax.CallExpr:
			c, what := simpleCommand(n)
			refuse(what)
			found = append(found, c)
		default:
			refuse("more than commands, if and while: a loop over words, a function, a test or the like")
		}
		return false
	})
	if err == nil && len(found) == 0 {
		err = errors.New("there is no command in it")
	}
	return found, err
}

// touchesNothing reports whether a redirection touches no file: 2>&1, >/dev/null.
func touchesNothing(r *syntax.Redirect) bool {
	number := func(n string) bool { return n != "" && strings.Trim(n, "0123456789") == "" }
	target := readWord(r.Word)
	if r.N != nil && !number(r.N.Value) || !target.plain {
		return false
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		return target.text == "-" || number(strings.TrimSuffix(target.text, "-"))
	case syntax.RdrIn, syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return target.text == "/dev/null"
	default:
		return false
	}
}

// simpleCommand reads a command, and says what in it does more.
func simpleCommand(c *syntax.CallExpr) (cmd command, more string) {
	set, plain := assignments(c)
	if !plain {
		return cmd, "an assignment of a value that is not written out"
	}
	var b strings.Builder
	b.WriteString(set)
	cmd.prefix = b.Len()
	for i, arg := range c.Args {
		w := readWord(arg)
		switch {
		case w.opaque != "":
			return cmd, w.opaque
		case i > 0:
			b.WriteByte(' ')
		case !w.plain:
			return cmd, "a command whose name is not written out"
		default:
			cmd.name = w.text
		}
		w.at = b.Len()
		b.WriteString(quoted(w.text))
		w.end = b.Len()
		cmd.words = append(cmd.words, w)
	}
	cmd.text = strings.TrimSuffix(b.String(), " ")
	cmd.prefix = min(cmd.prefix, len(cmd.text))
	return cmd, ""
}

// assignments are those before a command, as its text has them, and whether that says all.
func assignments(c *syntax.CallExpr) (text string, plain bool) {
	plain = true
	for _, a := range c.Assigns {
		value := word{plain: true}
		if a.Value != nil {
			value = readWord(a.Value)
		}
		plain = plain && value.plain && !a.Append && !a.Naked && a.Index == nil && a.Array == nil
		text += a.Name.Value + "="
		if a.Value != nil {
			text += quoted(value.text)
		}
		text += " "
	}
	return text, plain
}

// A word is one of a command, as a shell reads it.
type word struct {
	text    string // without quotes, with unknown for the value of a variable
	at, end int    // where it is in the command's text
	glob    bool   // files may come in its place
	open    string // what may stand in it and is not known; "" for nothing
	// opaque says what is in it that does more than stand for a value, or for one that is not seen.
	opaque string
	// plain says that it is known as it stands: it has no variable in it, and nothing that is replaced by names of
	// files, by a home folder, or by several words.
	plain bool
}

// escaped are characters that mean nothing to the shell.
var escaped = strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "", `\{`, "", `\~`, "")

func readWord(w *syntax.Word) (out word) {
	var b strings.Builder
	note := func(what string) {
		b.WriteRune(unknown)
		out.opaque = cmp.Or(out.opaque, what)
	}
	more := false // words, or a home folder, come in its place
	var read func(parts []syntax.WordPart, quoted bool)
	read = func(parts []syntax.WordPart, quoted bool) {
		for i, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				unescape(&b, p.Value, quoted)
				if quoted {
					continue
				}
				bare := escaped.Replace(p.Value)
				out.glob = out.glob || strings.ContainsAny(bare, "*?") || strings.Contains(bare, "[") && (len(parts) > 1 || bare != "[")
				more = more || strings.Contains(bare, "{") || i == 0 && strings.HasPrefix(bare, "~")
				if strings.Contains(strings.ReplaceAll(bare, "{}", ""), "{") {
					out.open = "braces"
				}
			case *syntax.SglQuoted:
				if p.Dollar {
					note("a quotation of the form $'…'")
				} else {
					b.WriteString(p.Value)
				}
			case *syntax.DblQuoted:
				if p.Dollar {
					note("a quotation of the form $\"…\"")
				} else {
					read(p.Parts, true)
				}
			case *syntax.ParamExp:
				if p.Param == nil || !strings.Contains("?#$!", p.Param.Value) { // these are numbers
					out.open = "a variable"
				}
				if simple(p) {
					b.WriteRune(unknown)
				} else {
					note("a variable that is changed where it is used")
				}
			case *syntax.CmdSubst, *syntax.ProcSubst:
				note("a command in a command")
			default:
				note("arithmetic or a pattern of the shell")
			}
		}
	}
	read(w.Parts, false)
	out.text = b.String()
	out.plain = !out.glob && !more && out.opaque == "" && !strings.ContainsRune(out.text, unknown)
	return out
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
