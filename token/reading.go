package token

import (
	"math"

	"github.com/clew-dev/clew/message"
)

// Reading is what a context costs.
type Reading struct {
	// Tokens is Measured plus Estimated.
	Tokens int64 `json:"tokens"`
	// Measured is what the provider reported for everything up to the anchor.
	Measured int64 `json:"measured"`
	// Estimated is what the counter makes of the rest.
	Estimated int64 `json:"estimated"`
	// Anchor is the index of the message whose usage was used, or -1.
	Anchor int `json:"anchor"`

	// Bytes is about how large the request is: text and base64 as JSON.
	Bytes int64 `json:"bytes"`

	// Categories divide Tokens. Up to the anchor they are estimates fitted to
	// what was reported.
	Categories Categories `json:"categories"`

	// Counter is the name of the counter that made the estimates.
	Counter string `json:"counter"`
	// Guard is the factor that Guarded applies.
	Guard float64 `json:"guard"`
}

// Guarded returns Tokens with the estimated part multiplied by Guard: what to
// compare with a limit where an estimate that is too low would overflow.
func (r Reading) Guarded() int64 {
	guarded := math.Ceil(float64(r.Estimated) * max(r.Guard, 1))
	if guarded >= math.MaxInt64 {
		return math.MaxInt64
	}
	return addSat(r.Measured, int64(guarded))
}

// addSat adds without wrapping around.
func addSat(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Syntax around parts of a request, in bytes: roles, keys and punctuation.
const (
	messageSyntax = 40
	blockSyntax   = 30
)

// RequestBytes returns about how many bytes a message takes in a request, as in
// Reading.Bytes. Text is escaped as in the log where it comes from one.
func RequestBytes(m *message.Message) int64 {
	n := messageSyntax
	switch m.Role {
	case message.RoleBashExecution:
		if m.ExcludeFromContext {
			return 0
		}
		n += len(m.Command) + len(m.Output)
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		n += len(m.Summary)
	case message.RoleSystem:
		n += len(m.ToolsAdded)
		for i := range m.Sections {
			n += len(m.Sections[i].Text)
		}
	case message.RoleAssistant:
		if m.Failed() {
			return 0
		}
	case message.RoleUser, message.RoleToolResult, message.RoleCustom:
	default:
		return 0
	}
	for i := range m.Content {
		b := &m.Content[i]
		if raw := b.Raw(); raw != nil {
			n += len(raw)
			continue
		}
		n += blockSyntax + len(b.Text) + len(b.Signature) + len(b.ID) + len(b.Name) + len(b.Arguments) + len(b.Data)
	}
	return int64(n)
}
