package widget

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/text"
)

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
