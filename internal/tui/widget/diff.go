package widget

import (
	"path"
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/text"
)

// Diff draws a unified diff. Long lines are wrapped: nothing of a line is left
// out. Of more than most lines the rest is counted; 0 shows all.
func Diff(t *Theme, unified string, width, most int) []string {
	source := strings.Split(strings.TrimRight(Reveal(unified), "\n"), "\n")
	more := 0
	if most > 0 && len(source) > most {
		more = len(source) - most
		source = source[:most]
	}
	var out []string
	language, kind := "", text.DiffLines()
	styles := map[byte]lipgloss.Style{'f': t.Bold, '@': t.Hunk, '+': t.Added, '-': t.Removed, ' ': t.Text}
	for _, l := range source {
		k, in := kind(l), language
		style := styles[k]
		if k == 'f' {
			if name, ok := strings.CutPrefix(l, "+++ "); ok {
				language = strings.TrimPrefix(path.Ext(name), ".")
			}
			in = ""
		} else if strings.HasPrefix(l, `\`) {
			style = t.Dim
		}
		out = append(out, diffLine(t, style, in, l, width)...)
	}
	if more > 0 {
		out = append(out, t.Paint(t.Dim, Cut(ellipsis+" "+countMore(more), width)))
	}
	return out
}

func countMore(n int) string { return strings.Replace(text.Counted(n, "line"), " ", " more ", 1) }

func diffLine(t *Theme, style lipgloss.Style, language, l string, width int) []string {
	if width < 3 || l == "" {
		return []string{t.Paint(style, Cut(l, width))}
	}
	// The sign stands before a line, and a mark before what goes on of it.
	sign, rest := l[:1], l[1:]
	if !strings.ContainsAny(sign, "+- ") {
		sign, rest, language = "", l, ""
	}
	parts := hardWrap(rest, width-min(len(sign), 1))
	for i, part := range parts {
		if i > 0 && sign != "" {
			sign = "↳"
		}
		parts[i] = t.Paint(style, sign) + paintCode(t, style, language, part)
	}
	return parts
}

// hardWrap breaks a line where it is full and keeps all its spaces.
func hardWrap(s string, width int) []string {
	var out []string
	start, col := 0, 0
	for i := 0; i < len(s); {
		c, w := cluster(s[i:])
		if col+w > width && i > start {
			out = append(out, s[start:i])
			start, col = i, 0
		}
		col += w
		i += len(c)
	}
	return append(out, s[start:])
}

// Languages whose comments begin with # or with --; those of all others begin with //.
const (
	hashComments = " sh bash shell zsh console python py ruby rb perl yaml yml toml make makefile dockerfile r "
	dashComments = " sql lua haskell hs "
	noCode       = " text txt plain diff markdown md "
)

const keywords = `abstract|and|as|async|await|begin|bool|break|case|catch|chan|class|const|continue|def|default|defer|del|do|done|elif|else|end|enum|` +
	`esac|except|export|extends|extern|false|fi|finally|fn|for|foreach|from|func|function|go|if|impl|implements|import|in|int|interface|lambda|let|` +
	`local|loop|map|match|mod|module|mut|new|nil|none|None|not|null|or|package|pass|private|protected|pub|public|raise|range|return|self|Self|select|` +
	`static|string|struct|super|switch|then|this|throw|throws|trait|true|True|False|try|type|typeof|undefined|union|unless|until|use|using|var|void|` +
	`where|while|with|yield|SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE|TABLE|JOIN|ORDER|GROUP|BY|LIMIT|AND|OR|NOT|NULL`

// codeTokens finds, by how comments begin, the comments, texts, keywords and numbers of a line
// of code.
var codeTokens = map[string]func() *regexp.Regexp{"//": codePattern("//"), "#": codePattern("#"), "--": codePattern("--")}

func codePattern(comment string) func() *regexp.Regexp {
	return text.Pattern(`(^` + comment + `.*|\s` + comment + `.*|/\*.*?\*/)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `)|\b(` + keywords + `)\b|\b(\d[\w.]*)`)
}

// paintCode draws a line of code in the colours of its language, as far as a line alone tells:
// what goes on from the line before it is not known. What is none of it has the style base, and
// all of it its background.
func paintCode(t *Theme, base lipgloss.Style, language, line string) string {
	language = " " + strings.ToLower(language) + " "
	if t.Mode == ModeNone || language == "  " || strings.Contains(noCode, language) || len(line) > 1000 {
		return t.Paint(base, line)
	}
	comment := "//"
	switch {
	case strings.Contains(hashComments, language):
		comment = "#"
	case strings.Contains(dashComments, language):
		comment = "--"
	}
	styles := []lipgloss.Style{t.Dim, t.Good, t.Accent, t.Warning}
	var b strings.Builder
	at := 0
	for _, m := range codeTokens[comment]().FindAllStringSubmatchIndex(line, -1) {
		for i, style := range styles {
			if from, to := m[2+2*i], m[3+2*i]; from >= 0 {
				b.WriteString(t.Paint(base, line[at:from]) + t.Paint(style.Background(base.GetBackground()), line[from:to]))
				at = to
			}
		}
	}
	return b.String() + t.Paint(base, line[at:])
}
