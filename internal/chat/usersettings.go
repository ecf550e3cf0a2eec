package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
)

// Set implements rpc.Host.
func (h *Host) Set(ctx context.Context, name, value string) (string, error) {
	at := slices.IndexFunc(settings.Keys(), func(k settings.Key) bool { return k.Name == name })
	if at < 0 {
		e := &agent.Error{Op: "set", Subject: name, Err: errors.New("there is no such setting"), Hint: "clew settings lists them"}
		var names []string
		for _, k := range settings.Keys() {
			names = append(names, k.Name)
		}
		if near := text.Nearest(name, names); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
		return "", e
	}
	var literal json.RawMessage
	if _, err := strconv.ParseFloat(value, 64); err == nil && json.Valid([]byte(value)) || value == "true" || value == "false" {
		literal = json.RawMessage(value)
	} else {
		var err error
		if literal, err = json.Marshal(value); err != nil {
			return "", err
		}
	}
	if err := h.edit(func(data []byte) ([]byte, error) { return settings.SetMember(data, name, literal) }); err != nil {
		return "", err
	}
	for _, v := range h.settings().All() {
		if v.Key == name && v.Origin.Source != settings.FromUser {
			return fmt.Sprintf("it is written down, but %s says %s, which counts before it", v.Origin, v.Value), nil
		}
	}
	return h.takeSetting(ctx, name, value)
}

// takeSetting lets a setting count for the agent in use, as far as it can.
func (h *Host) takeSetting(ctx context.Context, name, value string) (string, error) {
	a := h.Agent()
	switch name {
	case "model":
		return "", a.SetModel(ctx, value)
	case "reasoning":
		return "", a.SetReasoning(ctx, h.settings().Reasoning)
	case "agent.mode":
		return "", a.SetMode(ctx, permission.Mode(value))
	}
	if strings.HasPrefix(name, "ui.") {
		return "it counts from the next start on", nil
	}
	return "it counts for the sessions that are opened from now on", nil
}

// Allow implements rpc.Host.
func (h *Host) Allow(_ context.Context, rules []string) error {
	guard := h.Agent().Guard()
	for _, r := range rules {
		// What is no rule is found before anything is written.
		if err := guard.Add(r); err != nil {
			return err
		}
	}
	return h.addToList("permissions.allow", rules)
}
