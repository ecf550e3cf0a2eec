package measure

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// Stated returns the pairs that a text states in a place that a program can read: a
// list below a heading, a lead-in or an opening tag that says what was done, or
// behind such a lead-in on its own line. Several names of one folder may be written
// as folder/{a,b}.
func Stated(text string) []Pair {
	var (
		out  []Pair
		seen = map[Pair]bool{}
		op   Op
		on   bool
	)
	add := func(op Op, item string) {
		for _, p := range pathsOf(item) {
			if pair := (Pair{op, p}); !seen[pair] {
				seen[pair] = true
				out = append(out, pair)
			}
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, ">"): // a quotation states nothing
		case strings.HasPrefix(trimmed, "</"):
			on = false
		case strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "<") && strings.HasSuffix(trimmed, ">"),
			strings.HasSuffix(trimmed, ":"):
			op, on = headingOp(trimmed)
		default:
			item := listMark().ReplaceAllString(trimmed, "")
			if lead, rest, ok := strings.Cut(item, ": "); ok {
				if leadOp, ok := headingOp(lead); ok {
					for _, part := range splitList(rest) {
						add(leadOp, part)
					}
					continue
				}
			}
			if on {
				add(op, item)
			}
		}
	}
	return out
}

var listMark = text.Pattern(`^(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?`)

// headingOp reads a heading. It says what was done to files and nothing else: a
// sentence that happens to have a word like "read" in it begins no list.
func headingOp(s string) (op Op, ok bool) {
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) }) {
		o, known := opWord[w]
		switch {
		case known && ok && o != op:
			return 0, false
		case known:
			op, ok = o, true
		case !besideOp()[w]:
			return 0, false
		}
	}
	return op, ok
}

var opWord = map[string]Op{
	"read": OpRead, "viewed": OpRead,
	"modified": OpChanged, "edited": OpChanged, "changed": OpChanged, "created": OpChanged, "written": OpChanged,
	"added": OpChanged, "wrote": OpChanged, "updated": OpChanged,
	"deleted": OpDeleted, "removed": OpDeleted,
}

var besideOp = text.Words(`a already and as by commands file files far have i in list of only paths scratch session shell so the this to was were`)

// splitList splits at commas outside braces.
func splitList(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',', ';':
			if depth <= 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// pathsOf reads a list item that begins with a path: nothing if it does not.
func pathsOf(item string) []string {
	item = strings.TrimSpace(handle().ReplaceAllString(item, ""))
	if strings.HasPrefix(item, "`") {
		if k := strings.IndexByte(item[1:], '`'); k > 0 {
			return expand(item[1 : 1+k])
		}
	}
	if strings.HasPrefix(item, `"`) {
		if k := strings.IndexByte(item[1:], '"'); k > 0 {
			return expand(item[1 : 1+k])
		}
	}
	name, rest := item, ""
	if k := strings.IndexAny(item, " \t"); k >= 0 {
		name, rest = item[:k], strings.TrimSpace(item[k:])
	}
	if first, _ := utf8.DecodeRuneInString(rest); rest != "" && !strings.ContainsRune("([—–-:→", first) && !strings.Contains(name, "{") {
		return nil
	}
	if strings.Contains(name, "{") {
		name = strings.ReplaceAll(item, ", ", ",")
		if k := strings.IndexByte(name, '}'); k >= 0 {
			if end := strings.IndexAny(name[k:], " \t"); end >= 0 {
				name = name[:k+end]
			}
		}
	}
	return expand(strings.TrimRight(name, ".,;:"))
}

func expand(p string) []string {
	open := strings.IndexByte(p, '{')
	shut := strings.LastIndexByte(p, '}')
	if open < 0 || shut < open {
		if !pathLike(p) {
			return nil
		}
		return []string{cleanPath(p, "")}
	}
	var out []string
	for _, part := range splitList(p[open+1 : shut]) {
		if full := p[:open] + strings.TrimSpace(part) + p[shut+1:]; pathLike(full) {
			out = append(out, cleanPath(full, ""))
		}
	}
	return out
}

func pathLike(p string) bool {
	if len(p) < 2 || strings.ContainsAny(p, "<>|\"*()=;,$\n") || strings.Contains(p, "://") || strings.Trim(p, "./") == "" {
		return false
	}
	return strings.Contains(p, "/") || strings.LastIndexByte(p, '.') < len(p)-1 && strings.Contains(p, ".") || bareFile()[p]
}

// bareFile are names of files without an extension.
var bareFile = text.Words(`Makefile Dockerfile LICENSE README CHANGELOG Gemfile Rakefile Procfile Justfile justfile CODEOWNERS Jenkinsfile Vagrantfile`)
