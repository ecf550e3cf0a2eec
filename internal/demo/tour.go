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
		{sayFix, "it reads, searches, asks before it changes anything; then its window is full"},
		{"/context", "what the window holds after the pass"},
		{"/explain", "what became of each part, and why"},
		{"/undo", "take the pass back: all is there again, word for word"},
		{sayRecall, "it has left the window by itself again, and is had back from the log"},
		{"/tree", "go back to the first message, and take a summary of the way with you"},
		{sayTeach, "the other way"},
	}
}

// Hints are the steps of the tour, a line each.
func Hints() []string {
	steps := Tour()
	widest := 0
	for _, s := range steps {
		widest = max(widest, len(s.Type))
	}
	out := []string{"This is a demo: the model follows rules, all else is real. Things to try, in this order:"}
	for i, s := range steps {
		out = append(out, fmt.Sprintf("%d. %-*s  %s", i+1, widest, s.Type, s.Shows))
	}
	return out
}
