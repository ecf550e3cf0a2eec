package ledger

import (
	"strings"
	"unicode/utf8"
)

// Boundary says why a task seems to have ended at a message.
type Boundary string

// The reasons; "" is none. The user's word alone is the weakest of them.
const (
	BoundaryCommit Boundary = "commit" // a command made a commit
	BoundaryCheck  Boundary = "check"  // a test run passed
	BoundaryTodos  Boundary = "todos"  // the last open todo was done
	BoundaryUser   Boundary = "user"   // the user said so
)

// Boundary returns whether a task ended at the last message that was added.
func (r *Reader) Boundary() Boundary { return r.r.ended }

// userDone are the words with which users say that something is finished. A
// message that is little more than one of them is a boundary.
var userDone = either(`done|finished|it works|works now|works great|that works|lgtm|looks good|perfect|great work|all good|ship it|merged|thanks|thank you|
	fertig|erledigt|passt|danke|terminé|c'est bon|merci|parfait|listo|hecho|perfecto|gracias|готово|сделано|спасибо|отлично`,
	`完成了|已完成|搞定|做完了|可以了|没问题了|谢谢|完了|できました|終わり|ありがとう|완료|끝났|고마워|감사합니다`)

func saysDone(t string) bool {
	t = strings.TrimSpace(t)
	if t == "" || utf8.RuneCountInString(t) > 60 || strings.ContainsAny(t, "?？") {
		return false
	}
	words := sentenceWords(t)
	for _, w := range words {
		if w == "not" || w == "isn't" || w == "nicht" || w == "pas" || w == "no" || w == "не" {
			return false
		}
	}
	if strings.Contains(t, "没") && !strings.Contains(t, "没问题") || strings.Contains(t, "未") {
		return false
	}
	return len(words) <= 8 && userDone.in(t, words)
}

// allDone reports whether there are todos and all of them are done.
func allDone(todos []Todo) bool {
	for _, t := range todos {
		if t.Status != TodoDone {
			return false
		}
	}
	return len(todos) > 0
}
