package ledger

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// jsToken matches a piece of JavaScript: a comment, a string, a name or number, or a sign.
var jsToken = text.Pattern("(?s)//[^\n]*|/\\*.*?\\*/|" +
	`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`(?:[^`\\\\]|\\\\.)*`" + `|[\w$.]+|\S`)

// scriptCalls reads the calls of tools in a script as Codex lets its model write
// them: tools.exec_command({cmd: "ls"}). It knows literals and the names of
// string constants; a call with anything else in its arguments has no arguments.
func scriptCalls(src, entry string) (calls []call) {
	if !strings.Contains(src, "tools.") {
		return nil
	}
	tokens := slices.DeleteFunc(jsToken().FindAllString(src, -1), func(t string) bool {
		return strings.HasPrefix(t, "//") || strings.HasPrefix(t, "/*")
	})
	consts := map[string]string{}
	for i, t := range tokens {
		rest := tokens[i+1:]
		if (t == "const" || t == "let") && len(rest) > 2 && rest[1] == "=" {
			if s, ok := jsString(rest[2]); ok {
				consts[rest[0]] = s
			}
		}
		if name, ok := strings.CutPrefix(t, "tools."); ok && name != "" && len(rest) > 0 && rest[0] == "(" {
			calls = append(calls, parseCall(name, jsArgument(rest, consts), entry))
		}
	}
	return calls
}

// jsArgument returns the literal after the bracket that the tokens begin with as JSON. A
// string alone is what a tool with one free argument is given.
func jsArgument(tokens []string, consts map[string]string) json.RawMessage {
	var b []byte
	var open []byte
	for i := 1; i < len(tokens)-1; i++ {
		before, t, after := tokens[i-1], tokens[i], tokens[i+1]
		value, known := consts[t]
		literal, isString := jsString(t)
		switch {
		case isString:
			b = jsonx.AppendQuote(b, literal)
		case after == ":" && (before == "{" || before == ","):
			b = jsonx.AppendQuote(b, t)
		case known && (before == "{" || before == ",") && len(open) > 0 && open[len(open)-1] == '{': // {cmd}
			b = jsonx.AppendQuote(append(jsonx.AppendQuote(b, t), ':'), value)
		case known:
			b = jsonx.AppendQuote(b, value)
		case t == "," && (after == "}" || after == "]"):
		case t == "undefined":
			b = append(b, "null"...)
		case text.AllDigits(t):
			b = append(b, strings.TrimLeft(t[:len(t)-1], "0")+t[len(t)-1:]...)
		case strings.Contains("{}[],:", t), t == "true", t == "false", t == "null":
			b = append(b, t...)
			if t == "{" || t == "[" {
				open = append(open, t[0])
			} else if n := len(open); (t == "}" || t == "]") && n > 0 {
				open = open[:n-1]
			}
		default:
			return nil
		}
		if len(open) == 0 {
			break
		}
	}
	if jsonx.IsString(b) {
		b = slices.Concat([]byte(`{"input":`), b, []byte("}"))
	}
	if !json.Valid(b) {
		return nil
	}
	return b
}

// jsString returns what a string stands for. A template with something to compute in it is
// no literal.
func jsString(token string) (value string, ok bool) {
	if len(token) < 2 || strings.IndexByte("'\"`", token[0]) < 0 || token[0] == '`' && strings.Contains(token, "${") {
		return "", false
	}
	var b strings.Builder
	for s := token[1 : len(token)-1]; s != ""; {
		if s[0] != '\\' {
			plain, _, _ := strings.Cut(s, `\`)
			b.WriteString(plain)
			s = s[len(plain):]
		} else if r, _, rest, err := strconv.UnquoteChar(s, 0); err == nil {
			b.WriteRune(r)
			s = rest
		} else { // an escape of JavaScript alone stands for its character, a line end for nothing
			_, size := utf8.DecodeRuneInString(s[1:])
			b.WriteString(strings.TrimPrefix(s[1:1+size], "\n"))
			s = s[1+size:]
		}
	}
	return b.String(), true
}
