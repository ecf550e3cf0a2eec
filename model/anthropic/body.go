package anthropic

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

type purpose int

const (
	purposeComplete purpose = iota
	purposeStream
	purposeCount
)

// ownMembers are the members of the body that Extra must not set.
var ownMembers = []string{
	"model", "max_tokens", "stream", "thinking", "temperature", "stop_sequences", "tool_choice", "system", "tools", "messages",
}

// minBudget is the smallest budget that the API takes.
const minBudget = 1024

// body writes the request. What grows stands last, so that the body of a request
// is the start of that of the next one but for what closes it.
func (c *Client) body(r *model.Request, p purpose) (*model.Rendered, error) {
	req, notes, err := c.e.Build(r, c.profile)
	if err != nil {
		return nil, err
	}
	var o jsonx.Object
	o.Str("model", c.e.Model)
	limit := c.limit(r)
	thinking, effort := c.thinking(r, limit)
	if c.budgeted() && !req.LoopThinks() {
		thinking = nil // it can't be turned on in the middle of a turn
	}
	if p != purposeCount {
		o.Int("max_tokens", limit)
		if p == purposeStream {
			o.Bool("stream", true)
		}
	}
	o.Raw("thinking", thinking)
	if p != purposeCount {
		if effort != "" {
			var cfg jsonx.Object
			cfg.Str("effort", effort)
			o.Raw("output_config", cfg.Bytes())
		}
		if r.Temperature != nil && thinking == nil && !c.e.Info.NoTemperature {
			o.Raw("temperature", strconv.AppendFloat(nil, *r.Temperature, 'f', -1, 64))
		}
		if len(r.Stop) > 0 {
			stop, err := json.Marshal(r.Stop)
			if err != nil {
				return nil, err
			}
			o.Raw("stop_sequences", stop)
		}
	}
	if len(req.Tools) > 0 {
		switch r.ToolChoice {
		case model.ToolsNone:
			o.Raw("tool_choice", []byte(`{"type":"none"}`))
		case model.ToolsRequired:
			o.Raw("tool_choice", []byte(`{"type":"any"}`))
		case model.ToolsAuto:
		}
	}
	own := ownMembers
	if effort != "" {
		own = append(own[:len(own):len(own)], "output_config")
	}
	if err := r.EachExtra(own, func(key string, val json.RawMessage) { o.Raw(key, val) }); err != nil {
		return nil, err
	}
	mark(req, r.Cache)
	return &model.Rendered{Body: req.Body(c.profile, o.Bytes()), Notes: notes, Attempts: r.Attempts}, nil
}

// limit returns the max_tokens of a request; the API wants one.
func (c *Client) limit(r *model.Request) int64 {
	if n := r.OutputLimit(*c.e.Info); n > 0 {
		return n
	}
	n := int64(model.DefaultMaxOutput)
	if c.budgeted() {
		n += r.Budget()
	}
	if most := c.e.Info.MaxOutput; most > 0 {
		n = min(n, most)
	}
	return n
}

// budgeted reports whether the model is told a number of tokens to think with.
// Models of the vendor that are not known are new, and new ones refuse it; other
// servers have copied the older form.
func (c *Client) budgeted() bool {
	switch c.e.Info.Thinking {
	case model.ThinkingBudget:
		return true
	case "":
		return !c.ownHome
	default:
		return false
	}
}

// thinking returns the member thinking and the effort, nil and "" for none:
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking,
// https://platform.claude.com/docs/en/build-with-claude/effort.
func (c *Client) thinking(r *model.Request, limit int64) (member json.RawMessage, effort string) {
	if !r.Thinks() || c.e.Info.Thinking == model.ThinkingNever {
		return nil, ""
	}
	if c.budgeted() {
		// The budget must leave room for the answer below max_tokens. Where the model
		// can't have both, the answer gets at most half.
		answer := r.MaxOutput
		if answer == 0 {
			answer = model.DefaultMaxOutput
		}
		budget := min(r.Budget(), limit-min(answer, limit/2))
		if budget < minBudget {
			return nil, ""
		}
		var o jsonx.Object
		o.Str("type", "enabled")
		o.Int("budget_tokens", budget)
		return o.Bytes(), ""
	}
	switch r.Reasoning {
	case model.ReasoningMinimal, model.ReasoningLow:
		effort = "low"
	case model.ReasoningMedium, model.ReasoningHigh, model.ReasoningXHigh, model.ReasoningMax:
		effort = string(r.Reasoning)
		if r.Reasoning == model.ReasoningXHigh && strings.Contains(c.e.Model, "-4-6") {
			effort = "max" // there is nothing between high and it
		}
	case model.ReasoningDefault, model.ReasoningNone:
	}
	return json.RawMessage(`{"type":"adaptive"}`), effort
}
