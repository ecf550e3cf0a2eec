package measure

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// fresh counts the things with more than one state whose state a text gives, and
// those among them where it is the last one; stale are the others.
func (t *Trail) fresh(text string, stated []Pair) (right, given int, stale []Turn) {
	var lines []stateLine
	for _, turn := range t.Turns {
		var ok, known bool
		if turn.Path != "" {
			ok, known = pathFresh(turn, stated)
		} else {
			if lines == nil {
				lines = stateLines(text)
			}
			ok, known = commandFresh(turn, lines)
		}
		if known {
			given++
			if ok {
				right++
			} else {
				stale = append(stale, turn)
			}
		}
	}
	return right, given, stale
}

func pathFresh(turn Turn, stated []Pair) (ok, known bool) {
	var says [numOps]bool
	for _, p := range stated {
		if samePath(p.Path, turn.Path) {
			says[p.Op], known = true, true
		}
	}
	switch turn.Last {
	case Present:
		return says[OpChanged] && !says[OpDeleted], known
	case Gone:
		return says[OpDeleted] && !says[OpChanged] && !says[OpRead], known
	default: // taken back: neither changed nor gone
		return !says[OpChanged] && !says[OpDeleted], known
	}
}

// stateLine is a line with the heading that it stands under.
type stateLine struct{ heading, text string }

func stateLines(text string) []stateLine {
	var out []stateLine
	heading := ""
	for line := range strings.SplitSeq(text, "\n") {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "#") {
			heading = t
		} else if t != "" && !strings.HasPrefix(t, ">") { // a quotation gives no state
			out = append(out, stateLine{heading, strings.Join(strings.Fields(t), " ")})
		}
	}
	return out
}

var (
	saysFail = text.Pattern(`(?i)fail|error|broken|exit(ed)?( with| code| status)* [1-9]|not pass|✗|❌`)
	saysPass = text.Pattern(`(?i)pass|succe|\bok\b|✓|✅|exit(ed)?( with| code| status)* 0|\[x\]`)
	failHead = text.Pattern(`(?i)blocked|fail|error|issue|problem`)
	passHead = text.Pattern(`(?i)done|pass|complete|finished`)
)

// beginsCommand matches what may stand before a command that is named: in the middle
// of a sentence it is just words, unless it is quoted.
var beginsCommand = text.Pattern("(?:^|[`\"']|\\$ |&& |; |: )$")

// endsCommand matches what may stand behind a command that is named: anything else
// makes it another command.
var endsCommand = text.Pattern("(?i)^(?:$|[`\"')\\],.:;]| ?(?:2?>|\\|)| ?[\\[(—–→✓✗✅❌-] ?[^-a-z]| (?:pass|fail|ok\\b|succe|exit|still|now|is|was|does|did|has|again|error))")

// commandFresh looks at the lines that name a command and say how it ended. The
// last of them counts.
func commandFresh(turn Turn, lines []stateLine) (ok, known bool) {
	name := turn.Command
	for _, l := range lines {
		k := strings.Index(l.text, name)
		if k < 0 || !beginsCommand().MatchString(listMark().ReplaceAllString(l.text[:k], "")) || !endsCommand().MatchString(l.text[k+len(name):]) {
			continue
		}
		rest := l.text[:k] + l.text[k+len(name):]
		switch {
		case saysFail().MatchString(rest):
			ok, known = turn.Last == Failing, true
		case saysPass().MatchString(rest):
			ok, known = turn.Last == Passing, true
		case failHead().MatchString(l.heading):
			ok, known = turn.Last == Failing, true
		case passHead().MatchString(l.heading):
			ok, known = turn.Last == Passing, true
		}
	}
	return ok, known
}
