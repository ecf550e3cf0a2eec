package calibration

import (
	"strings"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Learn lets a learner learn from the usage that is on a path of a log, root
// first. The same path gives the same calibration every time.
func Learn(l *token.Learner, path []*session.Entry) {
	for _, e := range path {
		Add(l, e)
	}
}

// Add is Learn for the next entry of a path.
func Add(l *token.Learner, e *session.Entry) {
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		if err != nil || e.CopyOf() != "" {
			l.Break() // the usage of a copy is about the context of its original
			return
		}
		l.Add(m)
	case session.TypeLabel, session.TypeSessionInfo, session.TypeUsage, session.TypeModelChange:
		// They do not change what the model sees; after a change of the model its
		// answers are of another one.
	case session.TypeCustom:
		// Not sent; but passes and moves of the leaf are marked by such entries.
		if c, ok := e.Custom(); !ok || strings.HasPrefix(c.CustomType, "clew.") {
			l.Break()
		}
	default:
		// Compactions, edits, summaries of branches, what programs put in, and what
		// this version does not know.
		l.Break()
	}
}

// Counter returns a counter that is corrected by what is known of its estimates for a
// model (from, which may be the zero value) and by the usage on a path, and what
// that comes to. It goes where a counter is asked for, such as clew.Config.Counter.
// It fails when the counter is calibrated already.
func Counter(counter token.Counter, from token.Calibration, path []*session.Entry, provider, model string) (token.Counter, token.Calibration, error) {
	l := token.NewLearner(from, counter, provider, model)
	Learn(l, path)
	c := l.Calibration()
	calibrated, err := token.Calibrated(counter, c)
	return calibrated, c, err
}
