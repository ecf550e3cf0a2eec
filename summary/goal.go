package summary

import (
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// What stands before a request in the Goal section.
const (
	firstRequest   = "First request: "
	currentRequest = "Current request: "
)

const (
	goalQuoted = 240 // runes of a request that is quoted in full elsewhere
	goalAlone  = 600 // runes of one that is not
)

// goal offers the first request and the current one.
func (d *digest) goal(quoted map[string]bool) []piece {
	first, ok := d.firstGoal(quoted)
	var out []piece
	cur := d.currentUser()
	if cur >= 0 {
		q := d.users[cur].quote
		if !ok || !sameEntry(q.Ref, first.Ref) && d.request(q, quoted) != first.Text {
			l := Line{Text: d.request(q, quoted), Ref: q.Ref}
			if ok {
				l.Text = currentRequest + l.Text
			}
			out = append(out, piece{kind: kindGoal, line: l, order: 1})
		}
	}
	if ok {
		if len(out) > 0 {
			first.Text = firstRequest + first.Text
		}
		out = append(out, piece{kind: kindGoal, line: first})
	}
	return out
}

// firstGoal returns the request that the session began with.
func (d *digest) firstGoal(quoted map[string]bool) (Line, bool) {
	if d.prev != nil && len(d.prev.Goal) > 0 {
		l := d.prev.Goal[0]
		l.Text = strings.TrimPrefix(strings.TrimPrefix(l.Text, firstRequest), currentRequest)
		return l, true
	}
	if len(d.users) > 0 && d.foreign == "" {
		q := d.users[0].quote
		return Line{Text: d.request(q, quoted), Ref: q.Ref}, true
	}
	return Line{}, false
}

// currentUser returns the index of the latest message of the user that says what
// to do. An "ok" or "continue" does not.
func (d *digest) currentUser() int {
	for i := len(d.users) - 1; i >= 0 && i > len(d.users)-8; i-- {
		if substantial(d.users[i].quote.Text) {
			return i
		}
	}
	return len(d.users) - 1
}

func substantial(s string) bool {
	letters := 0
	for _, r := range s {
		if wide(r) {
			letters += 3
		} else if unicode.IsLetter(r) {
			letters++
		}
		if letters >= 16 {
			return true
		}
	}
	return false
}

// request returns a message as it stands in the Goal section.
func (d *digest) request(q Quote, quoted map[string]bool) string {
	limit := goalAlone
	if quoted[q.Ref] {
		limit = goalQuoted
	}
	return text.Clip(strings.Join(strings.Fields(oneLine(text.Plain(q.Text))), " "), limit)
}
