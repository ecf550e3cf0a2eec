package demo

import (
	"fmt"
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
	file, line, dish, name, ok := s.complaint()
	if !ok {
		if hasRun {
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

// complaint is what the check says, or what the model has said of it.
func (s *seen) complaint() (file, line, dish, name string, ok bool) {
	if m := failLine().FindStringSubmatch(s.since); m != nil {
		return m[1], m[2], m[3], m[4], true
	}
	if m := missing().FindStringSubmatch(s.since); m != nil {
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
	_, _, dish, was, ok := s.complaint()
	if meant := slip().FindStringSubmatch(s.since); ok && meant != nil {
		text += fmt.Sprintf("The cause was a slip of the pen: %s needs **%s**, and the recipe had **%s**.\n\n", dish, meant[1], was)
	}
	if s.compacted {
		text += fmt.Sprintf("To read all that was too much for my window of %d tokens, so the older part was compacted on the way. Nothing of it is lost. ", Window)
	}
	return said{text: text + "`/context` shows what the window holds now, `/explain` what became of each part."}
}
