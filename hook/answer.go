package hook

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
)

// NoAnswer answers the events that take none.
type NoAnswer struct{}

// Edit changes how an entry is shown; see clew.Edit. Text stands for content that is
// one text.
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
	Cancel       bool   `json:"cancel,omitempty"`
	Why          string `json:"why,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	Summary      string `json:"summary,omitempty"`
	Keep         Amount `json:"keep,omitzero"`
	Target       Amount `json:"target,omitzero"`
	FirstKept    string `json:"firstKept,omitempty"`
	Edits        []Edit `json:"edits,omitempty"`
}

// CompactAnswer answers session_compact.
type CompactAnswer struct {
	Add string `json:"add,omitempty"`
}

// BeforeTreeAnswer answers session_before_tree.
type BeforeTreeAnswer struct {
	Cancel              bool   `json:"cancel,omitempty"`
	Why                 string `json:"why,omitempty"`
	Instructions        string `json:"instructions,omitempty"`
	ReplaceInstructions bool   `json:"replaceInstructions,omitempty"`
	Label               string `json:"label,omitempty"`
	Summary             string `json:"summary,omitempty"`
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
