package ledger

import (
	"cmp"
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
	mode, when := "", "" // the cases in which rules hold: of the heading, of the line above a list
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if planLine().MatchString(line) {
			break
		}
		if m := opensAside().FindStringSubmatch(line); m != nil && (i > 0 || m[1] != "") {
			closes := []string{"\"", "”"}
			if m[1] != "" {
				closes = []string{"</" + m[1] + ">"}
			}
			if n := slices.IndexFunc(lines[i:], func(l string) bool {
				return slices.ContainsFunc(closes, func(end string) bool { return strings.HasSuffix(l, end) })
			}); n >= 0 {
				i += n
				continue
			}
		}
		if headingLine().MatchString(line) {
			pasted = !rulesLine().MatchString(line)
			mode, when = conditionLine().FindString(line), ""
			continue
		}
		if text.ListMark(line) == "" {
			when = conditionLine().FindString(line)
		}
		before := ""
		for _, st := range text.Statements(line) {
			st = text.Line(st)
			r.userRule(st, before, cmp.Or(when, mode), pasted)
			before = st
		}
	}
}

// userRule takes in a sentence of the user. One that names nothing is kept with the sentence
// before it, one that holds only in some case with that.
func (r *Reader) userRule(s, before, when string, pasted bool) {
	n := utf8.RuneCountInString(s)
	words := sentenceWords(s)
	if n < 4 || n > maxText || n < 8 && len(s) == n || data(s) || unfit(s, words) {
		return
	}
	back := map[int]bool{} // earlier rules that are clearly about the same
	if !pasted && changeWord.in(s, words) {
		about := subject(s)
		for i, old := range r.rules {
			if old.Entry != r.entry && old.Text != s && sameSubject(r.about(old.Text), about, 66) {
				back[i] = true
			}
		}
	}
	if len(back) > 0 || isRule(s, words, pasted) {
		if len(subject(s)) < 2 && hasWord(words, tells()) {
			s = strings.TrimSpace(before + " " + s)
		} else if when != "" {
			s = strings.Trim(when, ":*_# ") + ": " + s
		}
		r.rule(Statement{Text: text.Clip(s, maxText), Entry: r.entry})
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

// unfit reports whether a sentence can't be a rule: a question, an error, a heading, or a half of one.
func unfit(s string, words []string) bool {
	if len(words) == 0 || strings.ContainsAny(s, "?？") || askWord.at(words, 0) > 0 && !wishWord.in(s, words) || halfStart()[words[0]] {
		return true
	}
	last := words[len(words)-1]
	return label().MatchString(s) || strings.HasSuffix(s, ",") || strings.Count(s, "(") > strings.Count(s, ")") ||
		halfEnd()[last] && strings.HasSuffix(strings.ToLower(s), last)
}

// isRule reports whether a sentence binds later work. What a pasted text says of things,
// and what it wants kept or avoided, binds nobody: only what it orders does.
func isRule(s string, words []string, pasted bool) bool {
	if wishWord.in(s, words) {
		return true
	}
	if lasts(s, words, pasted) {
		// "it must never" is a rule, "I never saw that" is none, and "this plan must" is about the matter at hand.
		return words[0] != "i" && words[0] != "ich" && words[0] != "je" && !thisStart()[words[0]]
	}
	if pasted {
		return forbidWord.at(words, 0) > 0
	}
	return requires(words) || startsRule(s, words) && !onceWord.in(s, words) && (forbidWord.at(words, 0) == 0 || len(subject(s)) > 0)
}

func hasWord(words []string, list map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return list[w] })
}

// lasts reports whether a sentence has a lasting word in it. What something
// "always" or "never" does is told, not asked for, and what is "not required" is free.
func lasts(s string, words []string, pasted bool) bool {
	for i, w := range words {
		told := (w == "always" || w == "never") && i > 0 &&
			(pasted && !asks()[words[i-1]] || tells()[words[i-1]] || i > 1 && words[i-1] == "we" || pasted && i+1 < len(words) && thirdPerson(words[i+1]))
		free := w == "required" && (slices.Contains(words[max(i-2, 0):i], "no") || slices.Contains(words[max(i-2, 0):i], "not"))
		if told || free {
			words = slices.Delete(slices.Clone(words), i, i+1)
			break
		}
	}
	return lastingWord.in(s, words)
}

// thirdPerson reports whether a word looks like a verb of what he, she or it does.
func thirdPerson(w string) bool {
	return len(w) > 3 && w[len(w)-1] == 's' && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && w != "this"
}

// requires reports whether a sentence says what a thing that it names should be like, as in
// "the report should list every host". What "it" or "we" should do is about the matter at
// hand, and with "maybe" it is a guess.
func requires(words []string) bool {
	for i := 1; i+1 < len(words) && words[i-1] != "what"; i++ {
		if words[i] != "should" && words[i] != "shouldn't" {
			continue
		}
		if !pronouns()[words[i-1]] && !thisStart()[words[0]] && (i < 2 || words[i-2] != "these" && words[i-2] != "those") {
			return !onceWord.in("", words[i+1:]) && !hasWord(words, guessWord())
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
		words = subject(s)
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
	planLine    = text.Pattern(`(?i)\b(?:following|(?:implement|execute|here is|here's) (?:this|the|my|a)) plan\b.{0,40}:\W*$|(?:^|[?.:] )# .*\b(?:plan|skill)\b`)
	headingLine = text.Pattern(`^#{1,6}\s+\S|^[A-Z]{3,}:$`)
	rulesLine   = text.Pattern(`(?i)\b(?:rules|constraints|preferences|guidelines|conventions|instructions)\b|规则|约束|要求`)
	// opensAside matches the beginning of what a request is about, in tags, or of what somebody else said.
	opensAside = text.Pattern(`(?i)^<(\w*(?:description|issue|document|review|diff|log)\w*)>|^["“](?:[^"”]*["”]?$)`)
	label      = text.Pattern(`(?i)^\W*(?:step|phase|part|schritt|étape|paso|шаг) \d|[:：][*_ ]*$`)
	// conditionLine matches a heading, and a line above a list, that says when what follows holds.
	conditionLine = text.Pattern(`(?i)^#.*\bmode\b.*|^\W*(?:when|if|while|during|in|for|unless|wenn|falls|quand|si|cuando|если|когда)\b.*:[*_]*$|^(?:如果|当).*[:：]$`)
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
	for i, s := range text.Statements(text.OutsideFences(t)) {
		words := sentenceWords(s)
		if n := len(s); n < 5 || n > 4*maxText || unsure(s, words) || s[0] == '>' || text.TableRow(s) {
			continue
		}
		not := slices.Index(words, "not")
		if len(r.decisions) > 0 && (not >= 0 && slices.Contains(words[not:], "but") || backWord.in(s, words)) {
			r.retract(s)
		}
		d := Statement{Text: text.Line(s), Weight: ByUser, Entry: r.entry}
		if byUser {
			d.Text = r.settled(d.Text, words, i == 0)
		} else {
			d.Weight = decisionWeight(s, words)
		}
		if d.Text != "" && d.Weight > 0 && taken < 2 {
			taken++
			r.decision(d)
		}
	}
}

// unsure reports whether a sentence asks, says what might be or leads over to what follows.
func unsure(s string, words []string) bool {
	return len(words) == 0 || label().MatchString(s) || asking(s) || supposeStart()[words[0]] ||
		supposeWord.in(strings.ReplaceAll(s, "不可能", ""), words)
}

func asking(s string) bool {
	s = strings.TrimRight(s, "\"')*_` ”")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// ByUser is the weight of a decision that is the user's own, Answered stands between what was
// asked or offered and what the user said to it.
const (
	ByUser   = 4
	Answered = " → "
)

// settled returns what a sentence of the user settles, "" for nothing: with the option that
// it takes of an offer, or the question that it answers.
func (r *Reader) settled(s string, words []string, first bool) string {
	var said []string
	if first {
		said = strings.Split(strings.TrimSpace(r.said), "\n")
	}
	if m := takesOption().FindStringSubmatch(s); m != nil {
		for _, line := range slices.Backward(said) {
			if o := anOption().FindStringSubmatch(line); o != nil && strings.EqualFold(o[1], m[1]) {
				return strings.TrimRight(s, ".") + Answered + text.Line(strings.ReplaceAll(o[2], "**", ""))
			}
		}
	}
	n := answerWord.at(words, 0)
	about := len(subject(s))
	settles := settleWord.in(s, words)
	if n == len(words) || about == 0 || onwardWord.in(s, words) || !settles && (yetWord.in(s, words) || !Directs(s)) || isRule(s, words, false) || data(s) {
		return ""
	}
	if first && n > 0 {
		if asked := text.Sentences(said[len(said)-1]); len(asked) > 0 && asking(asked[len(asked)-1]) {
			if mayI().MatchString(asked[len(asked)-1]) && !noWord()[words[0]] {
				return "" // done, it is among what is done
			}
			return text.Clip(text.Line(asked[len(asked)-1]), maxText/2) + Answered + s
		}
	}
	if (settles || forbidWord.at(words, n) > 0) && !strings.Contains(s, "? ") && (about > 1 || !hasWord(words, tells())) {
		return s
	}
	return ""
}

// Directs reports whether a sentence of the user says what is to be done, or not to be. A
// question does not, and neither does what is told of something.
func Directs(s string) bool {
	words := sentenceWords(s)
	if len(words) > 0 {
		words = words[answerWord.at(words, 0):]
	}
	if len(words) == 0 || asking(s) || askWord.at(words, 0) > 0 {
		return false
	}
	if thisStart()[words[0]] || pronouns()[words[0]] || tells()[words[0]] {
		return wantWord.at(words, 0) > 0 || len(words) > 1 && wantWord.at(words, 1) > 0
	}
	return !hasWord(words[1:min(len(words), 5)], isWord())
}

// concedes takes what the user objected for decided, and takes back what was decided against
// it, where the agent's answer begins by agreeing.
func (r *Reader) concedes(answer string) {
	objection := r.objection
	if r.objection = ""; objection == "" || !concession().MatchString(answer) {
		return
	}
	for _, s := range text.Statements(text.OutsideFences(objection)) {
		words := sentenceWords(s)
		r.retract(s)
		if !unsure(s, words) && !strings.Contains(s, "? ") && len(subject(s)) > 2 && !data(s) && !isRule(s, words, false) &&
			Directs(s) && (answerWord.at(words, 0) > 0 || wantWord.in(s, words)) {
			r.decision(Statement{Text: text.Line(s), Weight: ByUser, Entry: r.users[len(r.users)-1].Entry})
			return
		}
	}
}

var (
	takesOption = text.Pattern(`(?i)^\W*(?:(?:ok|yes|let['’]s|do|go|with|for|take|focus on)[ ,]+)*(?:option|variante|opción|вариант|方案|选项)\s*([a-d1-9])\b`)
	// mayI matches the questions by which an agent asks whether to do something now.
	mayI       = text.Pattern(`(?i)^\W*(?:and |so )?(?:(?:shall|should|may|can) (?:i|we)|(?:do you )?want me to|would you like me to|soll ich|dois-je|quieres que|мне )\b|吗[?？]$`)
	anOption   = text.Pattern(`(?i)^[\s*_#-]*(?:option |variante |opción |вариант |方案|选项)?\**([a-d1-9])[*\s]*[.):：*—–-][\s*]*(.{8,})$`)
	concession = text.Pattern(`(?i)^\W*(?:you['’]re|you are) (?:\w+ly )?(?:right|correct)\b|^\W*(?:agreed|good (?:point|catch|call)|fair (?:point|enough)|my mistake)\b|` +
		`^\W*(?:(?:du hast|sie haben) recht|(?:tu as|vous avez) raison|tienes razón|(?:ты прав|вы правы)|(?:你|您)?说得对|おっしゃる通り|맞습니다)`)
)

// decisionWeight says how clear a decision of the agent is, 0 for a sentence that is none. One
// that begins with a word for what was said before has to name something.
func decisionWeight(s string, words []string) int {
	weight := decisionWord.count(s, words, 2)
	if weight == 0 || len(s) < 25 || data(s) {
		return 0
	}
	for range text.Identifiers(s) {
		return weight
	}
	if thisStart()[words[0]] || tells()[words[0]] || len(subject(s)) < 4 {
		return 0
	}
	return weight
}

// decision adds a decision. It takes the place of one that says nearly the same.
func (r *Reader) decision(s Statement) {
	s.Text = text.Clip(s.Text, maxText)
	about, older := r.about(s.Text), len(r.decisions)-maxDecided
	same := func(d Statement) bool {
		older--
		return older < 0 && (d.Text == s.Text || d.Weight <= s.Weight && sameSubject(r.about(d.Text), about, 75))
	}
	r.decisions = append(slices.DeleteFunc(r.decisions, same), s)
}

// retract drops what is about the same as a sentence from the decisions that a ledger
// would hold.
func (r *Reader) retract(s string) {
	about, older := subject(s), len(r.decisions)-maxDecided
	r.decisions = slices.DeleteFunc(r.decisions, func(d Statement) bool {
		older--
		return older < 0 && d.Text != s && sameSubject(r.about(d.Text), about, 50)
	})
}
