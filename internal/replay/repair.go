package replay

import (
	"github.com/clew-dev/clew/internal/lost"
	"github.com/clew-dev/clew/internal/replay/measure"
)

// The names under which a recorded summary stands in reports together with what clew hook
// would have given beside it: knowing that summary, and, as when a compaction has just been
// made, without it; and with as many characters of the control lines.
const (
	HookPolicy  = RecordedPolicy + "+hook"
	StartPolicy = RecordedPolicy + "+start"
	LinesPolicy = RecordedPolicy + "+lines"
)

var repairs = map[string]string{
	HookPolicy:  "the recorded summary and what it lacks, as clew hook gives it",
	StartPolicy: "the same given before the summary is known",
	LinesPolicy: "the recorded summary and as many characters of lines",
}

// repair returns a recorded summary with what would have been given beside it.
func (pt *point) repair() map[string]string {
	in := lost.Input{Dropped: pt.prefix.Dropped, Kept: pt.prefix.Kept, Cwd: pt.prefix.Cwd, Recall: "clew recall"}
	start := lost.Find(in)
	in.Summary = pt.recorded
	hook := lost.Find(in)
	control := pt.prefix
	control.Budget = int64(measure.Tokens(hook))
	out := map[string]string{HookPolicy: hook, StartPolicy: start, LinesPolicy: lines(control)}
	for name, text := range out {
		out[name] = pt.recorded + "\n" + text
	}
	return out
}
