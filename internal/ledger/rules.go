package ledger

import (
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// Statement is a sentence of the log, in its own words.
type Statement struct {
	Text string `json:"text"`
	// Weight says how clear a decision is: 1 or more. 0 for rules.
	Weight int `json:"weight,omitempty"`
	// Replaced says that a later rule takes this one back.
	Replaced bool   `json:"replaced,omitempty"`
	Entry    string `json:"entry,omitempty"`
}

// rules finds the sentences in which the user said how things are to be done
// from then on. What only asks for something once is none.
func (r *reader) userRules(t, id string) {
	for _, s := range userStatements(t) {
		if strings.ContainsAny(s, "?？") {
			continue
		}
		words := sentenceWords(s)
		lasting := lasts(s, words)
		changes := changeWord.in(s, words)
		if !lasting && !changes && !bindingWord.in(s, words) {
			continue
		}
		var back []int
		if changes {
			back = r.takenBack(s, id)
		}
		if len(back) == 0 && !isRule(s, words, lasting) {
			continue
		}
		r.rule(Statement{Text: s, Entry: id})
		for _, i := range back {
			r.rules[i].Replaced = true
		}
	}
}

// lasts reports whether a sentence has a lasting word in it. What something
// "always" or "never" does is told, not asked for.
func lasts(s string, words []string) bool {
	for i, w := range words {
		if (w == "always" || w == "never") && i > 0 && tells[words[i-1]] {
			words = append(words[:i:i], words[i+1:]...)
			break
		}
	}
	return lastingWord.in(s, words)
}

// tells are the words before "always" and "never" in what is told.
var tells = map[string]bool{"it": true, "they": true, "that": true, "this": true, "which": true, "i": true, "he": true, "she": true, "has": true, "have": true, "had": true, "is": true, "was": true, "are": true, "were": true}

func isRule(s string, words []string, lasting bool) bool {
	if lasting {
		// "it must never" is a rule, "I never saw that" is none.
		return !strings.HasPrefix(s, "I ") && !strings.HasPrefix(s, "Ich ") && !strings.HasPrefix(s, "Je ")
	}
	return requires(words) || startsRule(s, words) && !onceWord.in(s, words) && bindingWord.in(s, words)
}

// requires reports whether a sentence says what a thing that it names should be like, as in
// "the report should list every host". What "it" or "we" should do is about the matter at
// hand, and with "maybe" it is a guess.
func requires(words []string) bool {
	for i := 1; i+1 < len(words); i++ {
		if w := words[i]; w != "should" && w != "shouldn't" || pronouns[words[i-1]] || i > 1 && (words[i-2] == "these" || words[i-2] == "those") {
			continue
		}
		return !onceWord.in("", words[i+1:]) && !guessWord.in("", words)
	}
	return false
}

// pronouns are the words before "should" that name nothing.
var pronouns = map[string]bool{
	"i": true, "you": true, "we": true, "he": true, "she": true, "it": true, "they": true, "this": true, "that": true, "these": true, "those": true,
	"what": true, "which": true, "who": true, "how": true, "where": true, "when": true, "why": true, "there": true, "here": true, "and": true, "but": true,
}

// takenBack returns the rules that a sentence takes back, if it does: those that
// are clearly about the same.
func (r *reader) takenBack(s, id string) []int {
	if len(r.rules) == 0 {
		return nil
	}
	var out []int
	about := subject(s)
	for i, old := range r.rules {
		if old.Entry == id || old.Text == s {
			continue
		}
		theirs, ok := r.subjects[old.Text]
		if !ok {
			theirs = subject(old.Text)
			r.subjects[old.Text] = theirs
		}
		if sameSubject(theirs, about) {
			out = append(out, i)
		}
	}
	return out
}

// rule adds a rule, or makes it the latest again.
func (r *reader) rule(s Statement) {
	key := strings.ToLower(strings.ToUpper(s.Text)) // as strings.EqualFold compares
	if i, ok := r.ruleAt[key]; ok {
		r.rules[i].Replaced = s.Replaced
		return
	}
	r.ruleAt[key] = len(r.rules)
	r.rules = append(r.rules, s)
}

// userStatements returns the sentences of a message of the user that may be
// instructions. What is pasted into it, indented, quoted or in fences, is none.
func userStatements(s string) []string {
	var lines []string
	for l := range strings.SplitSeq(text.OutsideFences(s), "\n") {
		if l != strings.TrimLeft(l, " \t") && text.ListMark(l) == "" || strings.HasPrefix(l, ">") {
			continue
		}
		lines = append(lines, l)
	}
	const most = 300
	if len(lines) > most {
		lines = append(lines[:most/2:most/2], lines[len(lines)-most/2:]...)
	}
	var out []string
	for _, st := range text.Statements(strings.Join(lines, "\n")) {
		st = text.Line(st)
		n := utf8.RuneCountInString(st)
		if n < 4 || n > MaxText || n < 8 && len(st) == n || st[0] == '<' || st[0] == '|' || strings.HasSuffix(st, ":") || data(st) {
			continue
		}
		out = append(out, st)
	}
	return out
}

// data reports whether a line is code or data rather than words.
func data(s string) bool {
	letters, others := 0, 0
	for _, r := range s {
		switch {
		case r >= 0x80 || r|0x20 >= 'a' && r|0x20 <= 'z':
			letters++
		case r != ' ':
			others++
		}
	}
	return others*2 > letters || strings.HasSuffix(s, "{") || strings.HasSuffix(s, ";") || strings.HasSuffix(s, "});")
}

// decided finds the sentences in which it was settled how to go on, or why
// something is as it is: at most two of a message.
func (r *reader) decided(t, id string, byUser bool) {
	taken := 0
	for _, s := range text.Statements(text.OutsideFences(t)) {
		if taken == 2 {
			return
		}
		if n := len(s); n < 25 || n > 4*MaxText || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") || text.TableRow(s) {
			continue
		}
		words := sentenceWords(s)
		weight := 2 * decisionWord.count(s, words, 2)
		if weight == 0 && byUser {
			continue
		}
		if weight += reasonWord.count(s, words, 1); weight == 0 {
			continue
		}
		named := false
		for range text.Identifiers(s) {
			named = true
			break
		}
		if !named && (weight < 2 || len(subject(s)) < 4) || data(s) {
			continue
		}
		taken++
		s = text.Clip(text.Line(s), MaxText)
		if r.saidDecision[s] {
			continue
		}
		r.saidDecision[s] = true
		r.decisions = append(r.decisions, Statement{Text: s, Weight: weight, Entry: id})
	}
}

// Binding reports whether a sentence says how things are to be done from then on,
// as Ledger.Rules has it.
func Binding(s string) bool {
	if strings.ContainsAny(s, "?？") {
		return false
	}
	words := sentenceWords(s)
	return isRule(s, words, lasts(s, words))
}
