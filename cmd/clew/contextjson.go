package main

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/token"
)

// contextJSON is what context --json prints.
type contextJSON struct {
	Session    sessionJSON      `json:"session"`
	Leaf       string           `json:"leaf,omitempty"`
	Model      *contextModel    `json:"model,omitempty"`
	Window     contextWindow    `json:"window"`
	Tokens     int64            `json:"tokens"`
	Guarded    int64            `json:"guarded"`
	Over       bool             `json:"over"`
	Reading    token.Reading    `json:"reading"`
	Calibrated *contextLearned  `json:"calibrated,omitempty"`
	Compaction *contextCut      `json:"compaction,omitempty"`
	Edited     int              `json:"edited"`
	Omitted    int              `json:"omitted"`
	ToolCalls  int              `json:"toolCalls"`
	Messages   []contextMessage `json:"messages"`
}

type contextModel struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	From     string `json:"from"`
	Thinking string `json:"thinking,omitempty"`
}

type contextWindow struct {
	Tokens  int64  `json:"tokens"`
	From    string `json:"from"`
	Reserve int64  `json:"reserve"`
	Limit   int64  `json:"limit"`
}

type contextLearned struct {
	Calls  int64   `json:"calls"`
	Factor float64 `json:"factor"`
}

type contextCut struct {
	ID           string `json:"id"`
	FirstKept    string `json:"firstKept,omitempty"`
	TokensBefore int64  `json:"tokensBefore"`
}

type contextMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Tokens  int64           `json:"tokens"`
	Edit    string          `json:"edit,omitempty"`
	Text    string          `json:"text"`
	Message json.RawMessage `json:"message,omitempty"`
}

func (c *shownContext) json() any {
	s, v := c.file, c.contextView
	out := contextJSON{
		Session: sessionOf(s, ""), Leaf: v.leaf,
		Window: contextWindow{v.budget.Window, v.windowBy, v.budget.Reserve, v.budget.Limit},
		Tokens: v.reading.Tokens, Guarded: v.reading.Guarded(), Over: v.reading.Guarded() > v.budget.Limit,
		Reading: v.reading, Edited: v.edited, Omitted: v.omitted, ToolCalls: v.calls,
		Messages: make([]contextMessage, 0, len(v.Items)),
	}
	if v.model.ID != "" {
		out.Model = &contextModel{v.model.Provider, v.model.ID, v.modelBy, v.level}
	}
	if c := v.learned; c.Calls > 0 {
		out.Calibrated = &contextLearned{c.Calls, c.Factor()}
	}
	if v.Compaction != nil {
		view, _ := v.Compaction.Compaction()
		out.Compaction = &contextCut{v.Compaction.ID, view.FirstKeptEntryID, view.TokensBefore}
	}
	for _, it := range v.Items {
		m := contextMessage{
			ID: it.Entry.ID, Role: string(it.Message.Role),
			Tokens: v.meter.Message(it.Message), Text: cut(joinWords(messageLine(it.Message)), maxText),
		}
		if it.Edit != nil {
			m.Edit = it.Edit.ID
		}
		if c.full {
			m.Message = jsonx.Clean(it.Message.JSON())
		}
		out.Messages = append(out.Messages, m)
	}
	return out
}
