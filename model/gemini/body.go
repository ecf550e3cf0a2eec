package gemini

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

// ownMembers are the members of the body that Extra must not set.
var ownMembers = []string{"generationConfig", "toolConfig", "systemInstruction", "tools", "contents"}

// body writes the request; what grows stands last.
func (c *Client) body(r *model.Request) (*model.Rendered, error) {
	req, notes, err := c.e.Build(r, c.profile)
	if err != nil {
		return nil, err
	}
	var o, cfg jsonx.Object
	if n := r.OutputLimit(*c.e.Info); n > 0 {
		cfg.Int("maxOutputTokens", n)
	}
	if r.Temperature != nil && !c.e.Info.NoTemperature {
		cfg.Raw("temperature", strconv.AppendFloat(nil, *r.Temperature, 'f', -1, 64))
	}
	if len(r.Stop) > 0 {
		stop, err := json.Marshal(r.Stop)
		if err != nil {
			return nil, err
		}
		cfg.Raw("stopSequences", stop)
	}
	cfg.Raw("thinkingConfig", c.thinking(r))
	if b := cfg.Bytes(); len(b) > len("{}") {
		o.Raw("generationConfig", b)
	}
	if len(req.Tools) > 0 {
		switch r.ToolChoice {
		case model.ToolsNone:
			o.Raw("toolConfig", []byte(`{"functionCallingConfig":{"mode":"NONE"}}`))
		case model.ToolsRequired:
			o.Raw("toolConfig", []byte(`{"functionCallingConfig":{"mode":"ANY"}}`))
		case model.ToolsAuto:
		}
	}
	if err := r.EachExtra(ownMembers, func(key string, val json.RawMessage) { o.Raw(key, val) }); err != nil {
		return nil, err
	}
	return &model.Rendered{Body: req.Body(c.profile, o.Bytes()), Notes: notes, Attempts: r.Attempts}, nil
}

// thinking returns the thinkingConfig; nil for none. Models from 3 on take a
// level, those before a budget (https://ai.google.dev/gemini-api/docs/thinking).
func (c *Client) thinking(r *model.Request) json.RawMessage {
	method := c.e.Info.Thinking
	if method == "" {
		method = model.ThinkingEffort
		if strings.HasPrefix(c.name(), "gemini-2") {
			method = model.ThinkingBudget
		}
	}
	var o jsonx.Object
	switch {
	case method == model.ThinkingNever, r.Reasoning == model.ReasoningDefault && r.ReasoningBudget == 0:
		return nil
	case method == model.ThinkingBudget && r.Thinks():
		o.Int("thinkingBudget", c.budget(r.Budget()))
	case method == model.ThinkingBudget:
		o.Int("thinkingBudget", c.budget(0))
	default:
		o.OptStr("thinkingLevel", c.level(r.Reasoning))
	}
	if r.Thinks() {
		o.Bool("includeThoughts", true)
	}
	return o.Bytes()
}

// budget brings a number of tokens into what the model takes: 2.5 Pro can't be
// kept from thinking, Flash-Lite not told to think a little.
func (c *Client) budget(n int64) int64 {
	least, most := int64(0), int64(24_576)
	switch name := c.name(); {
	case strings.HasPrefix(name, "gemini-2.5-pro"):
		least, most = 128, 32_768
	case strings.HasPrefix(name, "gemini-2.5-flash-lite") && n > 0:
		least = 512
	}
	return min(max(n, least), most)
}

func (c *Client) level(r model.Reasoning) string {
	switch r {
	case model.ReasoningNone, model.ReasoningMinimal, model.ReasoningLow:
		return "LOW" // the least that all models of the line take
	case model.ReasoningMedium:
		if strings.HasPrefix(c.name(), "gemini-3-pro") {
			return "HIGH" // 3 Pro has no middle, those after it have
		}
		return "MEDIUM"
	case model.ReasoningHigh, model.ReasoningXHigh, model.ReasoningMax:
		return "HIGH"
	case model.ReasoningDefault:
	}
	return ""
}
