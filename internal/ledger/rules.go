package ledger

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// Statement is a sentence of the log, in its own words.
type Statement struct {
	Text     string `json:"text"`
	Weight   int    `json:"weight,omitempty"`   // how clear a decision is: 1 or more
	Replaced bool   `json:"replaced,omitempty"` // a later rule takes this one back
	Entry    string `json:"entry,omitempty"`
}

// userRules finds the sentences in which the user said how things are to be done
// from then on. What only asks for something once is none. What is pasted, indented, quoted
// or in fences, is none, and neither is a plan; what stands below a heading is pasted.
func (r *Reader) userRules(t string) {
	lines := ownLines(t)
	pasted := len(lines) > manyLines
	if n := 5 * manyLines; len(lines) > n {
		lines = slices.Concat(lines[:n/2], lines[len(lines)-n/2:])
	}
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "plan") && planLine().MatchString(line) {
			break
		}
		if headingLine().MatchString(line) {
			pasted = !rulesLine().MatchString(line)
			continue
		}
		for _, st := range text.Statements(line) {
			r.userRule(text.Line(st), pasted)
		}
	}
}

func (r *Reader) userRule(s string, pasted bool) {
	n := utf8.RuneCountInString(s)
	words := sentenceWords(s)
	if n < 4 || n > maxText || n < 8 && len(s) == n || strings.HasSuffix(s, ":") || data(s) || unfit(s, words) {
		return
	}
	back := map[int]bool{} // earlier rules that are clearly about the same
	if !pasted && changeWord.in(s, words) {
		about := text.Subject(s, commonWords())
		for i, old := range r.rules {
			if old.Entry != r.entry && old.Text != s && sameSubject(r.about(old.Text), about, 66) {
				back[i] = true
			}
		}
	}
	if len(back) > 0 || isRule(s, words, pasted) {
		r.rule(Statement{Text: s, Entry: r.entry})
	}
	for i := range back {
		r.rules[i].Replaced = true
	}
}

// Binding reports whether a sentence says how things are to be done from then on,
// as Ledger.Rules has it.
func Binding(s string) bool {
	words := sentenceWords(s)
	return !unfit(s, words) && isRule(s, words, false)
}

// unfit reports whether a sentence can't be a rule: a question, an error, or a half of one.
func unfit(s string, words []string) bool {
	if len(words) == 0 || strings.ContainsAny(s, "?？") || askWord.at(words, 0) > 0 || halfStart()[words[0]] {
		return true
	}
	last := words[len(words)-1]
	return strings.HasSuffix(s, ",") || strings.Count(s, "(") > strings.Count(s, ")") ||
		halfEnd()[last] && strings.HasSuffix(strings.ToLower(s), last)
}

// isRule reports whether a sentence binds later work. What a pasted text says of things,
// and what it wants kept or avoided, binds nobody: only what it orders does.
func isRule(s string, words []string, pasted bool) bool {
	if lasts(s, words, pasted) {
		// "it must never" is a rule, "I never saw that" is none.
		return words[0] != "i" && words[0] != "ich" && words[0] != "je"
	}
	if pasted {
		return words[0] == "don't" || words[0] == "do" && len(words) > 1 && words[1] == "not"
	}
	return requires(words) || startsRule(s, words) && !onceWord.in(s, words)
}

// lasts reports whether a sentence has a lasting word in it. What something
// "always" or "never" does is told, not asked for.
func lasts(s string, words []string, pasted bool) bool {
	for i, w := range words {
		if (w == "always" || w == "never") && i > 0 && (pasted && !asks()[words[i-1]] || tells()[words[i-1]]) {
			words = slices.Delete(slices.Clone(words), i, i+1)
			break
		}
	}
	return lastingWord.in(s, words)
}

// requires reports whether a sentence says what a thing that it names should be like, as in
// "the report should list every host". What "it" or "we" should do is about the matter at
// hand, and with "maybe" it is a guess.
func requires(words []string) bool {
	for i := 1; i+1 < len(words); i++ {
		named := !pronouns()[words[i-1]] && (i < 2 || words[i-2] != "these" && words[i-2] != "those")
		if named && (words[i] == "should" || words[i] == "shouldn't") {
			return !onceWord.in("", words[i+1:]) && !slices.ContainsFunc(words, func(w string) bool { return guessWord()[w] })
		}
	}
	return false
}

// startsRule reports whether a sentence begins, or ends, as a rule does.
func startsRule(s string, words []string) bool {
	for len(words) > 0 && polite.at(words, 0) > 0 {
		words = words[polite.at(words, 0):]
	}
	if len(words) > 0 && ruleStart.at(words, 0) > 0 {
		return true
	}
	if !hasWide(s) {
		return false
	}
	for clause := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("，；、, ", r) }) {
		plain := strings.TrimLeft(clause, "请請")
		for _, w := range ruleStart.wide {
			if strings.HasPrefix(clause, w) || strings.HasPrefix(plain, w) {
				return true
			}
		}
	}
	return slices.ContainsFunc(ruleEnd, func(w string) bool { return strings.Contains(s, w) })
}

// about returns what a sentence that is kept is about.
func (r *Reader) about(s string) map[string]bool {
	words, ok := r.subjects[s]
	if !ok {
		words = text.Subject(s, commonWords())
		r.subjects[s] = words
	}
	return words
}

// rule adds a rule, or makes it the latest again. Case and punctuation make no other rule.
func (r *Reader) rule(s Statement) {
	key := ""
	for w := range strings.FieldsFuncSeq(strings.ToLower(s.Text), func(c rune) bool {
		return unicode.IsSpace(c) || c > 0x80 && unicode.IsPunct(c)
	}) {
		if w = strings.Trim(w, "*_`'\".,:;!()[]"); w != "" {
			key += " " + w
		}
	}
	if i, ok := r.ruleAt[key]; ok {
		r.rules[i].Replaced = s.Replaced
		return
	}
	r.ruleAt[key] = len(r.rules)
	r.rules = append(r.rules, s)
}

var (
	planLine    = text.Pattern(`(?i)\b(?:following|(?:implement|execute|here is|here's) (?:this|the|my|a)) plan\b.{0,40}:\W*$|^# .*\bplan\b`)
	headingLine = text.Pattern(`^#{1,6}\s+\S`)
	rulesLine   = text.Pattern(`(?i)\b(?:rules|constraints|preferences|guidelines|conventions)\b|规则|约束|要求`)
)

// manyLines is how long a message is that nobody types.
const manyLines = 60

// ownLines returns the lines of a message that are neither code nor quoted. A line that goes
// on where the one before was wrapped is joined to it.
func ownLines(s string) []string {
	var lines []string
	list := false // an indented line goes on with an item
	for line := range strings.SplitSeq(text.OutsideFences(s), "\n") {
		rest := strings.TrimLeft(line, " \t")
		first, _ := utf8.DecodeRuneInString(rest)
		indented, item := rest != line, text.ListMark(line) != ""
		if rest != "" {
			list = item || list && indented
		}
		if n := len(lines); n > 0 && unicode.IsLower(first) && !item {
			last := lines[n-1]
			wrapped := len(last) >= 60 && !indented || indented && text.ListMark(last) != ""
			if wrapped && !strings.ContainsAny(last[len(last)-1:], ".!?:;") {
				lines[n-1] = last + " " + rest
				continue
			}
		}
		if rest != "" && (!indented || list) && !strings.HasPrefix(line, ">") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// data reports whether a line is code or data rather than words.
func data(s string) bool {
	letters, others := 0, -strings.Count(s, " ")
	for _, r := range s {
		if r >= 0x80 || r|0x20 >= 'a' && r|0x20 <= 'z' {
			letters++
		} else {
			others++
		}
	}
	return others*2 > letters || s[0] == '<' || s[0] == '|' || strings.HasSuffix(s, "{") || strings.HasSuffix(s, ";") ||
		strings.HasSuffix(s, "});") || strings.Contains(s, `\n`) || strings.Contains(s, " = ")
}

// decided finds the sentences in which it was decided how to go on, or why something is as
// it is: at most two of a message. It drops decisions that a sentence takes back. One that
// asks, or only says what might be, does neither.
func (r *Reader) decided(t string, byUser bool) {
	taken := 0
	for _, s := range text.Statements(text.OutsideFences(t)) {
		words := sentenceWords(s)
		if n := len(s); n < 12 || n > 4*maxText || len(words) == 0 || strings.HasSuffix(s, ":") || s[0] == '>' || text.TableRow(s) {
			continue
		}
		end := strings.TrimRight(s, "\"')*_` ”")
		if strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？") || supposeStart()[words[0]] ||
			supposeWord.in(strings.ReplaceAll(s, "不可能", ""), words) {
			continue
		}
		not := slices.Index(words, "not")
		if len(r.decisions) > 0 && (not >= 0 && slices.Contains(words[not:], "but") || backWord.in(s, words)) {
			r.retract(s)
		}
		if weight := decisionWeight(s, words, byUser); weight > 0 && taken < 2 && len(s) >= 25 {
			taken++
			r.decision(Statement{Text: text.Clip(text.Line(s), maxText), Weight: weight, Entry: r.entry})
		}
	}
}

// decisionWeight says how clear a decision is, 0 for a sentence that is none.
func decisionWeight(s string, words []string, byUser bool) int {
	weight := 2 * decisionWord.count(s, words, 2)
	if weight == 0 && byUser {
		return 0
	}
	if weight += reasonWord.count(s, words, 1); weight == 0 || data(s) {
		return 0
	}
	for range text.Identifiers(s) {
		return weight
	}
	if weight < 2 || len(text.Subject(s, commonWords())) < 4 {
		return 0
	}
	return weight
}

// decision adds a decision that was not made before in these words.
func (r *Reader) decision(s Statement) {
	newest := r.decisions[max(len(r.decisions)-maxDecided, 0):]
	if !slices.ContainsFunc(newest, func(d Statement) bool { return d.Text == s.Text }) {
		r.decisions = append(r.decisions, s)
	}
}

// retract drops what is about the same as a sentence from the decisions that a ledger
// would hold.
func (r *Reader) retract(s string) {
	about, older := text.Subject(s, commonWords()), len(r.decisions)-maxDecided
	r.decisions = slices.DeleteFunc(r.decisions, func(d Statement) bool {
		older--
		return older < 0 && d.Text != s && sameSubject(r.about(d.Text), about, 50)
	})
}
