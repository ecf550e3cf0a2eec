package summary

import (
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// maxRequest is how much of a request stands in the Goal section, in runes. What
// is longer is quoted in full elsewhere, as far as there is room.
const maxRequest = 220

// goal offers the first request and the current one, for about so many tokens.
func (d *digest) goal(tokens int64) []piece {
	// Most runes cost a third of a token, those that are not Latin up to one.
	fit := min(int(max(tokens, 20)), maxRequest)
	first, ok := d.firstGoal()
	first.Text = clipName(first.Text, fit)
	var out []piece
	cur := d.currentUser()
	if cur >= 0 {
		q := d.users[cur].quote
		now := clipName(request(q), fit)
		if !ok || !sameEntry(q.Ref, first.Ref) && now != first.Text {
			l := Line{Text: now, Ref: q.Ref}
			if ok {
				l.Text = d.latest() + l.Text
			}
			out = append(out, piece{kind: kindGoal, line: l, order: 1})
		}
	}
	if ok {
		if len(out) > 0 {
			first.Text = d.words.first + first.Text
		}
		out = append(out, piece{kind: kindGoal, line: first})
	}
	return out
}

// latest returns what stands before the request of the last turn: it is the
// current one unless what is kept holds a later one.
func (d *digest) latest() string {
	for _, it := range d.in.Kept {
		if it.Message != nil && it.Message.UserWords() {
			return d.words.latest
		}
	}
	return d.words.current
}

// firstGoal returns the request that the session began with: as an earlier
// summary has it, as the ledger remembers it, or the first there is.
func (d *digest) firstGoal() (Line, bool) {
	if d.prev != nil && len(d.prev.Goal) > 0 && !isLatest(d.prev.Goal[0].Text) {
		l := d.prev.Goal[0]
		for _, more := range d.prev.Goal[1:] {
			// A model may have written several lines.
			if !isLatest(more.Text) {
				l.Text += " " + more.Text
			}
		}
		l.Text = withoutFirst(l.Text)
		return l, true
	}
	if d.foreign != "" {
		return Line{}, false // what came first stands in a text that is not ours
	}
	if len(d.led.Users) > 0 {
		u := d.led.Users[0]
		return Line{Text: request(Quote{Text: u.Text}), Ref: d.refs.of(u.Entry)}, true
	}
	if len(d.users) > 0 {
		q := d.users[0].quote
		return Line{Text: request(q), Ref: q.Ref}, true
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
		if text.Wide(r) {
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
func request(q Quote) string {
	return clipName(strings.Join(strings.Fields(oneLine(text.Plain(q.Text))), " "), maxRequest)
}
