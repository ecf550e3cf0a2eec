package replay

import (
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// Counter returns the counter that budgets and tails are measured with: three
// UTF-16 units are a token, for every model and policy.
func Counter() token.Counter { return thirds{} }

type thirds struct{}

func (thirds) Name() string { return "chars3" }

func (thirds) Text(s string) int64 { return int64(measure.Tokens(s)) }

func (thirds) Message(m *message.Message) int64 {
	n, _ := neutral(m)
	return int64((n.Size() + measure.CharsPerToken - 1) / measure.CharsPerToken)
}
