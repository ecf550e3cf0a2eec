package demo

import "fmt"

// Step is something to try.
type Step struct {
	// Type is what to type.
	Type string
	// Shows says in a few words what there is to see.
	Shows string
}

// What the tour has the user say.
const (
	sayFix    = suggestion
	sayRecall = "what was the exact error at the start?"
	sayTeach  = "teach check.sh to say what was meant"
)

// Tour is what to try, one after the other.
func Tour() []Step {
	return []Step{
		{sayFix, "its window is too small for that"},
		{"/context", "what the window holds now"},
		{"/explain", "what became of each part"},
		{"/undo", "p takes the compaction back"},
		{sayRecall, "recalled from the log"},
		{"/tree", "back to the first message"},
		{sayTeach, "another way, on a branch"},
	}
}

// Script is the tour as it is typed, with the answers to what is asked: tui.Config.Script.
func Script() []string {
	return []string{
		sayFix, "/context", "/explain", "/undo", "p", "k", sayRecall,
		"/tree", sayFix, "1", "s", sayTeach,
	}
}

// Hints are the steps of the tour, a line each.
func Hints() []string {
	steps := Tour()
	widest := 0
	for _, s := range steps {
		widest = max(widest, len(s.Type))
	}
	out := []string{"A demo: the model follows rules, all else is real. Try this, one by one:"}
	for i, s := range steps {
		out = append(out, fmt.Sprintf("%d. %-*s  %s", i+1, widest, s.Type, s.Shows))
	}
	return out
}
