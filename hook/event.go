package hook

import (
	"encoding/json"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Protocol is the version of the JSON below. It changes when a program that
// understood the version before would go wrong; fields may be added without that.
const Protocol = 1

// Head is what every event has.
type Head struct {
	Protocol int    `json:"protocol"`
	Event    string `json:"event"`
	Session  string `json:"session"`
}

// SessionEvent is session_start and session_shutdown.
type SessionEvent struct {
	Head
	Reason   string `json:"reason,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Leaf     string `json:"leaf,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// Message is a message of the context.
type Message struct {
	Entry   string           `json:"entry"`
	Message *message.Message `json:"message"`
}

// ContextEvent is context.
type ContextEvent struct {
	Head
	Leaf     string    `json:"leaf"`
	Tokens   int64     `json:"tokens"`
	Window   int64     `json:"window"`
	Messages []Message `json:"messages"`
}

// ToolResultEvent is tool_result.
type ToolResultEvent struct {
	Head
	Message   *message.Message `json:"message"`
	Arguments json.RawMessage  `json:"arguments,omitempty"`
}

// Pass is what the events of a pass have.
type Pass struct {
	Reason    string         `json:"reason"`
	Attempt   int            `json:"attempt"`
	WillRetry bool           `json:"willRetry"`
	Before    token.Reading  `json:"before"`
	Budget    compact.Budget `json:"budget"`
}

// Usage is what a call of a model has cost.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost,omitempty"`
}

// Preparation is what the pass would do if no hook changed it.
type Preparation struct {
	Plan            *compact.Plan      `json:"plan"`
	History         []*message.Message `json:"history"`
	TurnPrefix      []*message.Message `json:"turnPrefix"`
	Text            string             `json:"text"`
	PreviousSummary string             `json:"previousSummary,omitempty"`
	SummaryBudget   int64              `json:"summaryBudget"`
	Ledger          ledger.Ledger      `json:"ledger"`
}

// BeforeCompactEvent is session_before_compact.
type BeforeCompactEvent struct {
	Head
	Pass
	Why          string            `json:"why"`
	Usage        *Usage            `json:"usage,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Messages     []Message         `json:"messages"`
	Entries      []json.RawMessage `json:"entries"`
	Preparation  *Preparation      `json:"preparation,omitempty"`
}

// CompactEvent is session_compact.
type CompactEvent struct {
	Head
	Pass
	Plan    *compact.Plan `json:"plan"`
	Summary string        `json:"summary,omitempty"`
	Entries []string      `json:"entries"`
	Usage   *Usage        `json:"usage,omitempty"`
}

// CompactFailedEvent is session_compact_failed.
type CompactFailedEvent struct {
	Head
	Pass
	Error   string `json:"error"`
	Aborted bool   `json:"aborted"`
}

// BeforeTreeEvent is session_before_tree.
type BeforeTreeEvent struct {
	Head
	From         string             `json:"from"`
	Target       string             `json:"target"`
	Leaf         string             `json:"leaf"`
	Ancestor     string             `json:"ancestor"`
	Summarize    bool               `json:"summarize"`
	Instructions string             `json:"instructions,omitempty"`
	Label        string             `json:"label,omitempty"`
	Messages     []*message.Message `json:"messages"`
	Entries      []json.RawMessage  `json:"entries"`
	Text         string             `json:"text"`
	Ledger       ledger.Ledger      `json:"ledger"`
}

// TreeEvent is session_tree.
type TreeEvent struct {
	Head
	From     string   `json:"from"`
	Leaf     string   `json:"leaf"`
	Ancestor string   `json:"ancestor"`
	Left     int      `json:"left"`
	Summary  string   `json:"summary,omitempty"`
	Entries  []string `json:"entries"`
}

// BeforeForkEvent is session_before_fork.
type BeforeForkEvent struct {
	Head
	From  string `json:"from"`
	To    string `json:"to"`
	Entry string `json:"entry,omitempty"`
}

func (p *program) head(session string) Head {
	return Head{Protocol: Protocol, Event: p.c.Event, Session: session}
}

func messagesOf(items []session.Item) []Message {
	out := make([]Message, len(items))
	for i, it := range items {
		out[i] = Message{it.Entry.ID, it.Message}
	}
	return out
}

func passOf(i clew.Event) Pass {
	return Pass{Reason: string(i.Reason), Attempt: i.Attempt, WillRetry: i.WillRetry, Before: i.Before, Budget: i.Budget}
}

func usageOf(u *message.Usage) *Usage {
	if u == nil {
		return nil
	}
	return &Usage{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost}
}
