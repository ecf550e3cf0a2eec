package hook

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Protocol is the version of the JSON below. It changes when a program that understood
// the version before would go wrong; fields may be added without that.
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
	PreviousDetails json.RawMessage    `json:"previousDetails,omitempty"`
	SummaryBudget   int64              `json:"summaryBudget"`
	Ledger          ledger.Ledger      `json:"ledger"`

	// The same under the names that pi has for it.
	MessagesToSummarize []*message.Message `json:"messagesToSummarize"`
	TurnPrefixMessages  []*message.Message `json:"turnPrefixMessages"`
	IsSplitTurn         bool               `json:"isSplitTurn"`
	FirstKeptEntryID    string             `json:"firstKeptEntryId,omitempty"`
	TokensBefore        int64              `json:"tokensBefore"`
	FileOps             FileOps            `json:"fileOps"`
	Settings            Settings           `json:"settings"`
}

// FileOps are the files of a conversation by what was done to them. One that was read and changed is in both lists.
type FileOps struct {
	Read    []string `json:"read"`
	Written []string `json:"written"`
	Edited  []string `json:"edited"`
}

// Settings are those of a pass, in tokens.
type Settings struct {
	Enabled          bool  `json:"enabled"`
	ReserveTokens    int64 `json:"reserveTokens"`
	KeepRecentTokens int64 `json:"keepRecentTokens"`
}

// TreePreparation is a move to another branch, under the names that pi has for it.
type TreePreparation struct {
	TargetID           string            `json:"targetId"`
	OldLeafID          string            `json:"oldLeafId"`
	CommonAncestorID   string            `json:"commonAncestorId"`
	EntriesToSummarize []json.RawMessage `json:"entriesToSummarize"`
	UserWantsSummary   bool              `json:"userWantsSummary"`
	PreviousDetails    json.RawMessage   `json:"previousDetails,omitempty"`
}

// BeforeCompactEvent is session_before_compact.
type BeforeCompactEvent struct {
	Head
	Pass
	Why                string            `json:"why"`
	Usage              *Usage            `json:"usage,omitempty"`
	Instructions       string            `json:"instructions,omitempty"`
	CustomInstructions string            `json:"customInstructions,omitempty"`
	Messages           []Message         `json:"messages"`
	Entries            []json.RawMessage `json:"entries"`
	BranchEntries      []json.RawMessage `json:"branchEntries"`
	Preparation        *Preparation      `json:"preparation,omitempty"`
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

	BranchEntries []json.RawMessage `json:"branchEntries"`
	Preparation   TreePreparation   `json:"preparation"`
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

// NoAnswer answers the events that take none.
type NoAnswer struct{}

// Edit changes how an entry is shown; see clew.Edit. Text stands for content that is one text.
type Edit struct {
	Entry   string  `json:"entry"`
	Omit    bool    `json:"omit,omitempty"`
	Text    *string `json:"text,omitempty"`
	Content Content `json:"content,omitempty"`
}

// Content is a list of blocks, as messages have them.
type Content []message.Block

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if len(data) == 0 || data[0] != '[' {
		return fmt.Errorf("content must be an array of blocks; use text for a text")
	}
	*c = message.ParseContent(data)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (c Content) MarshalJSON() ([]byte, error) { return message.EncodeBlocks(c), nil }

// Amount is a number of tokens, or a text such as "20k" or "25%".
type Amount struct{ compact.Amount }

// UnmarshalJSON implements json.Unmarshaler.
func (a *Amount) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	if data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	amount, err := compact.ParseAmount(text)
	a.Amount = amount
	return err
}

// MarshalJSON implements json.Marshaler.
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(a.String()) }

// ContextAnswer answers context.
type ContextAnswer struct {
	Edits []Edit `json:"edits,omitempty"`
	Add   string `json:"add,omitempty"`
}

// ToolResultAnswer answers tool_result.
type ToolResultAnswer struct {
	Text    *string `json:"text,omitempty"`
	Content Content `json:"content,omitempty"`
}

// BeforeCompactAnswer answers session_before_compact.
type BeforeCompactAnswer struct {
	Cancel       bool            `json:"cancel,omitempty"`
	Why          string          `json:"why,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	Details      json.RawMessage `json:"details,omitempty"`
	Keep         Amount          `json:"keep,omitzero"`
	Target       Amount          `json:"target,omitzero"`
	FirstKept    string          `json:"firstKept,omitempty"`
	Edits        []Edit          `json:"edits,omitempty"`
	Compaction   Compaction      `json:"compaction,omitzero"`
}

// Compaction is a summary as pi's extensions answer it: Summary, Details and FirstKept of a BeforeCompactAnswer.
type Compaction struct {
	Summary          string          `json:"summary"`
	FirstKeptEntryID string          `json:"firstKeptEntryId,omitempty"`
	TokensBefore     int64           `json:"tokensBefore,omitempty"`
	TokensAfter      int64           `json:"estimatedTokensAfter,omitempty"` // not used
	Usage            json.RawMessage `json:"usage,omitempty"`                // not used
	Details          json.RawMessage `json:"details,omitempty"`
}

// CompactAnswer answers session_compact.
type CompactAnswer struct {
	Add string `json:"add,omitempty"`
}

// BeforeTreeAnswer answers session_before_tree.
type BeforeTreeAnswer struct {
	Cancel              bool            `json:"cancel,omitempty"`
	Why                 string          `json:"why,omitempty"`
	Instructions        string          `json:"instructions,omitempty"`
	CustomInstructions  string          `json:"customInstructions,omitempty"` // pi's name of Instructions
	ReplaceInstructions bool            `json:"replaceInstructions,omitempty"`
	Label               string          `json:"label,omitempty"`
	Summary             BranchSummary   `json:"summary,omitzero"`
	Details             json.RawMessage `json:"details,omitempty"`
}

// BranchSummary is a text; or, as pi's extensions answer it, an object with summary and details.
type BranchSummary struct {
	Summary string          `json:"summary"`
	Usage   json.RawMessage `json:"usage,omitempty"` // not used
	Details json.RawMessage `json:"details,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *BranchSummary) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return json.Unmarshal(data, &s.Summary)
	}
	type object BranchSummary
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode((*object)(s))
}

// BeforeForkAnswer answers session_before_fork.
type BeforeForkAnswer struct {
	Cancel bool   `json:"cancel,omitempty"`
	Why    string `json:"why,omitempty"`
}

// content is a text or blocks; nil for neither.
func content(text *string, blocks Content) []message.Block {
	if text != nil {
		return []message.Block{message.TextBlock(*text)}
	}
	return blocks
}

func edits(list []Edit) []clew.Edit {
	out := make([]clew.Edit, len(list))
	for i, e := range list {
		out[i] = clew.Edit{Entry: e.Entry, Omit: e.Omit, Content: content(e.Text, e.Content)}
	}
	return out
}
