package agent

import (
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/model"
)

// Doing says what is under way.
type Doing string

// What can be under way.
const (
	DoingNothing    Doing = "idle"
	DoingTurn       Doing = "working"    // a model answers, tools run
	DoingCompaction Doing = "compacting" // also in a turn, before a request
	DoingMove       Doing = "moving"     // to another place of the tree, or an undo
	DoingShell      Doing = "shell"      // a command of the user's runs
	DoingClosed     Doing = "closed"
)

// State is all that a line at the bottom of the screen shows. Reading it never
// waits.
type State struct {
	Doing Doing `json:"doing"`
	// Asking counts the questions that wait for an answer.
	Asking int `json:"asking,omitempty"`
	// Session is the id of the session, File its file, "" for one in memory.
	Session string `json:"session"`
	File    string `json:"file,omitempty"`
	Name    string `json:"name,omitempty"`
	Leaf    string `json:"leaf"`

	// Model is "provider/id".
	Model     string          `json:"model"`
	Reasoning model.Reasoning `json:"reasoning,omitempty"`
	Mode      permission.Mode `json:"mode"`

	// Tokens is what the context takes; Measured says that the provider has counted all
	// of it, otherwise the newest part is an estimate. Known is false before the first look.
	Tokens   int64 `json:"tokens"`
	Measured bool  `json:"measured"`
	Known    bool  `json:"known"`
	// Window is the model's, WindowFrom how it is known: "catalogue", "settings",
	// "learnt", or "assumed" where nobody said it. Threshold is the size at which the context is
	// compacted.
	Window     int64  `json:"window"`
	WindowFrom string `json:"windowFrom"`
	Threshold  int64  `json:"threshold"`
	// Breaker says why nothing is compacted although it is due; "" else.
	Breaker string `json:"breaker,omitempty"`
	// Prepared says that a summary lies ready for the next pass.
	Prepared bool `json:"prepared,omitempty"`

	// Totals are those of the whole session, every branch and summary included.
	Totals Totals `json:"totals"`
	// CacheHit is the share of the last request's input that the provider had cached.
	CacheHit float64 `json:"cacheHit"`

	// Queue counts what waits to be delivered; Held says that it waits until something
	// is sent, as after Cancel.
	Queue int  `json:"queue"`
	Held  bool `json:"held,omitempty"`
}

// Totals are amounts over all entries of a session.
type Totals struct {
	ModelTotals
	// Passes counts those that were made, also those that were taken back.
	Passes int `json:"passes"`
	// ByModel has the same for each "provider/id".
	ByModel map[string]ModelTotals `json:"byModel,omitempty"`
}

// ModelTotals are the amounts of one model.
type ModelTotals struct {
	Requests   int     `json:"requests"`
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"` // US dollars, as far as prices are known
}
