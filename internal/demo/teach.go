package demo

import "strings"

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
