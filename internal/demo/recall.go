package demo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

var (
	// hitLine is a hit of a search, in groups: its id, what it is of, where, a piece of it.
	hitLine = text.Pattern(`(?m)^#([0-9a-f]+) (.*), turn \d+, at character (\d+) of .*\n(.*)$`)
	// afterFail is a complaint with the hint that may stand after it.
	afterFail = text.Pattern(`(?m)^FAIL  .*$(?:\n {6}did you mean .*$)*`)
)

// errorWords are what the check's complaint has and nothing else.
const errorWords = "FAIL needs, and pantry.txt has no"

// A page of an entry, in characters, and how much of it is before the place that was found.
const (
	page       = 1_000
	pageBefore = 400
)

// recall quotes the error: from the window where it stands there, else from the log.
func (s *seen) recall() said {
	if a, ok := s.last("recall", `"id"`); ok {
		if line := failLine().FindString(a.result); line != "" {
			return said{text: "Word for word:\n\n" + quote(line) + "\n\nThat was not in my window any more. The tool recall has read it from the log, in which all that was ever said stays as it was. You can do that too: `/recall cinamon`"}
		}
		return said{text: "What I have found is another thing:\n\n" + quote(lastLines(a.result, 6))}
	}
	if line := failLine().FindString(s.all); line != "" {
		return said{text: "Word for word:\n\n" + quote(line) + "\n\nIt still stands in my window."}
	}
	a, ok := s.last("recall", `"query"`)
	switch id, at := outputHit(a.result); {
	case !ok:
		return said{"That does not stand in my window any more. I search the log for it.", []do{{"recall", map[string]any{"query": errorWords, "tool": "bash"}}}}
	case id != "":
		return said{fmt.Sprintf("Here it is, in the entry #%s, at character %d. I read that part of it.", id, at), []do{
			{"recall", map[string]any{"id": id, "offset": max(0, at-pageBefore), "limit": page}},
		}}
	case strings.Contains(a.result, "on branches that were left"):
		return said{text: "It was said on a branch that we left, and I search the one that we are on. `/recall cinamon` searches all of them, and `/tree` goes back there: then ask me again."}
	}
	return said{text: "Nothing of the kind was said in this session yet. Try first: " + suggestion}
}

// outputHit is the id of the first hit that is the output of a command and has a complaint,
// "" for none, and the character at which it has that.
func outputHit(found string) (id string, at int) {
	for _, m := range hitLine().FindAllStringSubmatch(found, -1) {
		if strings.Contains(m[2], "result of bash") && strings.Contains(m[4], "pantry.txt") {
			at, _ = strconv.Atoi(m[3]) // it is digits, and 0 will do
			return m[1], at
		}
	}
	return "", 0
}
