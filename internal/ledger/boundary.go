package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// Boundary says why a task seems to have ended at a message; "" is that it did not. What
// somebody says is weaker than what was done.
type Boundary string

// The reasons.
const (
	BoundaryCommit Boundary = "commit" // a command made a commit
	BoundaryCheck  Boundary = "check"  // a test run passed
	BoundaryTodos  Boundary = "todos"  // the last open todo was done
	BoundaryUser   Boundary = "user"   // the user said so
	// BoundaryAgent is the word of the agent at the end of a turn. It counts while no check
	// fails, and where no other reason stands since the last change.
	BoundaryAgent Boundary = "agent"
)

var boundaryWords = map[Boundary]string{
	BoundaryCommit: "a commit was made", BoundaryCheck: "the tests passed", BoundaryTodos: "the todo list was done",
	BoundaryUser: "the user said so", BoundaryAgent: "the agent said so",
}

// Words says it for people.
func (b Boundary) Words() string { return cmp.Or(boundaryWords[b], string(b)) }

// Checkpoint is a message at which a task seems to have ended.
type Checkpoint struct {
	Entry string   `json:"entry,omitempty"`
	Why   Boundary `json:"why"`
}

var (
	// doneWord says that something is finished.
	doneWord = either(`done|finished|fertig|erledigt|abgeschlossen|terminé|terminée|terminado|listo|hecho|готово|сделано|
		завершено|выполнено`,
		`完成了|已完成|搞定|做完了|完毕|完畢|完了|完成しました|できました|終わりました|終わり|완료|끝났`)
	// pleasedWord says so in the mouth of a user, agentDone in that of an agent.
	pleasedWord = either(`it works|works now|works great|that works|lgtm|looks good|perfect|great work|all good|ship it|
		merged|thanks|thank you|passt|danke|c'est bon|merci|parfait|perfecto|gracias|спасибо|отлично`,
		`可以了|没问题了|谢谢|ありがとう|고마워|감사합니다`)
	agentDone = either(`all set|is complete|are complete|now complete|is completed|been completed|have completed|
		i've completed|been implemented|have implemented|i've implemented|been fixed|have fixed|i've fixed|is fixed|
		is in place|are in place|umgesetzt|implementiert|est prêt|est prête|está implementado|implementado|
		реализовано|исправлено`, `全部完成|修复了|已修复|已实现|修正しました|実装しました|구현했습니다|수정했습니다`)
	// openWord, before the word for done, denies that or makes it a condition or a plan.
	openWord = text.Words(`not isn't aren't wasn't weren't hasn't haven't never no none nothing without yet almost nearly half
		partly partially until unless when once if whether after before as will i'll we'll would should can could may might
		must be get gets getting need needs still to let's let
		nicht nie kein keine noch wenn sobald falls bis wird werden fast muss
		pas jamais quand lorsque dès si avant après presque sera
		nunca cuando si hasta antes después casi será falta
		не нет ещё пока когда если после до почти будет`)
	// byWord, behind it, says how something is done or that it is in part.
	byWord = text.Words(`by in via at through on using yet so when if until except before`)
	// openWide are words for both in scripts without spaces, which stand on either side.
	openWide = []string{
		"没", "未", "尚", "如果", "一旦", "假如", "后", "後", "的话", "吗", "么", "即将", "之前", "快", "まだ", "ません", "ない", "たら",
		"れば", "ましたか", "아직", "않", "면", "후", "까요",
	}
)

// saysDone reports whether a sentence says that something is finished: not where it asks,
// denies or plans that. The words that do are those of the lists.
func saysDone(s string, lists ...*wordList) bool {
	if strings.ContainsAny(s, "?？") {
		return false
	}
	words := sentenceWords(s)
	for i, w := range words {
		if openWord()[w] {
			break
		}
		for _, l := range lists {
			if n := l.at(words, i); n > 0 && (i+n == len(words) || !byWord()[words[i+n]]) {
				return true
			}
		}
	}
	if !hasWide(s) {
		return false
	}
	for clause := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("，、；：,;:", r) }) {
		said := strings.ReplaceAll(clause, "没问题", "")
		open := func(w string) bool { return strings.Contains(said, w) }
		done := func(l *wordList) bool { return l.in(clause, nil) }
		if !slices.ContainsFunc(openWide, open) && slices.ContainsFunc(lists, done) {
			return true
		}
	}
	return false
}

// Finished reports whether a message of the user is little more than that something is finished.
func Finished(t string) bool {
	t = strings.TrimSpace(t)
	return len(sentenceWords(t)) <= 8 && len([]rune(t)) <= 60 && saysDone(t, doneWord, pleasedWord)
}

// reportsDone reports whether an answer that ends a turn says so in its first or its last sentences.
func (r *Reader) reportsDone(t string) bool {
	const ends, longest = 2, 30 // sentences, words
	said := text.Statements(text.OutsideFences(text.Plain(t)))
	if n := len(said); n > 2*ends {
		said = slices.Concat(said[:ends], said[n-ends:])
	}
	for _, row := range r.commands.rows {
		if row.val.Failing() {
			return false
		}
	}
	return slices.ContainsFunc(said, func(s string) bool {
		return len(sentenceWords(s)) <= longest && saysDone(s, doneWord, agentDone)
	})
}
