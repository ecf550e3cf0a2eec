package demo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// checkCommand runs the check of the project.
const checkCommand = "sh check.sh"

var (
	// failLine is what the check says of something that is missing, in groups: the file, the
	// line, the dish, what it needs.
	failLine = text.Pattern(`(?m)^FAIL  (\S+):(\d+): (.+?) needs (.+?), and pantry\.txt has no .*$`)
	// countLine ends the check.
	countLine = text.Pattern(`\d+ needed, (\d+) missing`)
	// missing is how the model itself says what it has read, for when the check's words
	// are not in its window any more.
	missing = text.Pattern(`at line (\d+) of (\S+), (.+?) needs "(.+?)"`)
)

// modified is what a summary says where a recipe was changed.
var modified = text.Pattern(`### Modified\n(?:- .*\n)*- recipes/`)

// slip is how the model itself says what was meant.
var slip = text.Pattern(`The pantry has "(.+?)": a slip of the pen`)

const missingFormat = `One thing is missing: at line %s of %s, %s needs "%s", and the pantry has nothing of that name. I read both.`

// fix finds out why the check fails, and mends it.
func (s *seen) fix() said {
	ran, hasRun := s.last("bash", checkCommand)
	_, hasEdited := s.last("edit", "recipes/")
	switch {
	case hasRun && strings.Contains(ran.result, " 0 missing"):
		return s.fixed(ran)
	case hasEdited:
		return runCheck("I have put that right. Now the check again.")
	}
	file, line, dish, name, ok := complaint(s.since)
	if !ok && hasRun { // what it said has left the window, but an earlier run said the same
		file, line, dish, name, ok = complaint(s.all)
	}
	if !ok {
		if hasRun {
			if found := s.recall(); len(found.calls) > 0 {
				return found
			}
			return said{text: "I don't understand what the check says:\n\n" + quote(lastLines(ran.result, 6))}
		}
		if _, ok := s.last("read", "check.sh"); !ok {
			return said{"I look at what there is, and at the check.", append([]do{{"ls", map[string]any{}}}, reads("check.sh")...)}
		}
		return runCheck("It looks up in the pantry what each dish needs. I run it.")
	}
	pantry, hasPantry := s.last("read", "pantry.txt")
	if _, ok := s.last("read", file); !ok || !hasPantry {
		return said{fmt.Sprintf(missingFormat, line, file, dish, name), reads("pantry.txt", file)}
	}
	near := text.Nearest(name, strings.Split(pantry.result, "\n"))
	if near == "" {
		return said{text: fmt.Sprintf("The pantry has nothing whose name looks like %q. It may be missing for real; I leave that to you.", name)}
	}
	if _, ok := s.last("grep", name); !ok {
		return said{
			fmt.Sprintf("The pantry has %q: a slip of the pen, most likely, which is still to be put right. I look how the other recipes write it.", near),
			append([]do{{"grep", map[string]any{"pattern": name + "|" + near, "path": "recipes"}}}, reads("recipes/baking.txt", "recipes/soups.txt")...),
		}
	}
	return said{fmt.Sprintf("The others write %q. I change the one.", near), []do{{"edit", map[string]any{"path": file, "edits": []any{
		map[string]any{"oldText": "  " + name + ": ", "newText": "  " + near + ": "},
	}}}}}
}

// complaint is what the check says in a text, or what the model has said of it.
func complaint(text string) (file, line, dish, name string, ok bool) {
	if m := failLine().FindStringSubmatch(text); m != nil {
		return m[1], m[2], m[3], m[4], true
	}
	if m := missing().FindStringSubmatch(text); m != nil {
		return m[2], m[1], m[3], m[4], true
	}
	return "", "", "", "", false
}

func runCheck(text string) said {
	return said{text, []do{{"bash", map[string]any{"command": checkCommand}}}}
}

func reads(paths ...string) (calls []do) {
	for _, p := range paths {
		calls = append(calls, do{"read", map[string]any{"path": p}})
	}
	return calls
}

// fixed says how it went. What has left the window is known from the summary.
func (s *seen) fixed(ran act) said {
	count := countLine().FindString(ran.result)
	_, hasEdited := s.last("edit", "recipes/")
	if !hasEdited && !modified().MatchString(s.since) {
		return said{text: "check.sh passes: " + count + ". There is nothing to mend. Files stay as they are when the conversation goes back to an earlier place: what was mended on another branch is still mended."}
	}
	text := "check.sh passes now: " + count + ".\n\n"
	_, _, dish, was, ok := complaint(s.since)
	if meant := slip().FindStringSubmatch(s.since); ok && meant != nil {
		text += fmt.Sprintf("The cause was a slip of the pen: %s needs **%s**, and the recipe had **%s**.\n\n", dish, meant[1], was)
	}
	if s.compacted {
		text += fmt.Sprintf("To read all that was too much for my window of %d tokens, so the older part was compacted on the way. Nothing of it is lost. ", Window)
	}
	return said{text: text + "`/context` shows what the window holds now, `/explain` what became of each part."}
}

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

const (
	// failRule is the line of the check that complains.
	failRule = `    print "FAIL  " FILENAME ":" FNR ": " dish " needs " name ", and pantry.txt has no " name
`
	// hintRule says what may be meant.
	hintRule = `    for (p in pantry) if (substr(p, 1, 3) == substr(name, 1, 3)) print "      did you mean " p "?"
`
)

// teach makes the check say what may be meant.
func (s *seen) teach() said {
	ran, hasRun := s.last("bash", checkCommand)
	_, hasEdited := s.last("edit", "check.sh")
	script, hasRead := s.last("read", "check.sh")
	switch {
	case hasRun && !strings.Contains(ran.result, " 0 missing"):
		return said{text: "check.sh says what may be meant now:\n\n" + quote(strings.Join(afterFail().FindAllString(ran.result, 3), "\n")) + "\n\nTry: fix that"}
	case hasRun:
		return said{text: "When something is missing, check.sh says now what may be meant. Nothing is missing at the moment: " + countLine().FindString(ran.result) + ".\n\nThe other branch is still there: `/tree` shows both, and goes back to it."}
	case hasEdited:
		return runCheck("I run it.")
	case !hasRead:
		text := "I look at how check.sh complains."
		if s.branched {
			text = "I know from the summary of the branch that we left what was found there, so I need not search again. " + text
		}
		return said{text, reads("check.sh")}
	case strings.Contains(script.result, "did you mean"):
		return said{text: "It does that already: check.sh names what begins in the same way."}
	case !strings.Contains(script.result, strings.TrimSpace(failRule)):
		return said{text: "check.sh is not as I know it, and my rules have nothing for that. Try: read check.sh"}
	}
	return said{"It shall name what begins in the same way.", []do{{"edit", map[string]any{"path": "check.sh", "edits": []any{
		map[string]any{"oldText": failRule, "newText": failRule + hintRule},
	}}}}}
}
