package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

// remote is a tool of a server.
type remote struct {
	s *server
	offer
	name string // as the model calls it
}

// Spec implements tool.Tool.
func (r *remote) Spec() model.Tool {
	return model.Tool{Name: r.name, Description: r.description, Parameters: r.schema}
}

// Effect implements tool.Tool. Nobody here knows what a server does, so it is Other,
// whatever the server says.
func (r *remote) Effect(arguments json.RawMessage) (tool.Effect, error) {
	if _, err := object(arguments); err != nil {
		return tool.Effect{}, err
	}
	line := r.s.name + ": " + r.offer.name
	if r.readOnly {
		line += " (says that it only reads)"
	}
	var args bytes.Buffer
	if json.Compact(&args, arguments) == nil && args.Len() > len("{}") {
		line += " " + args.String()
	}
	return tool.Effect{Kind: tool.Other, Line: text.OneLine(line, maxLine)}, nil
}

// Run implements tool.Tool.
func (r *remote) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := object(c.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	res, err := r.s.call(ctx, &sdk.CallToolParams{Name: r.offer.name, Arguments: args})
	if err != nil {
		return tool.Result{}, err
	}
	return result(res)
}

// object returns arguments as a JSON object; none are an empty one.
func object(arguments json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(arguments)
	if len(trimmed) == 0 {
		return json.RawMessage("{}"), nil
	}
	if trimmed[0] != '{' || !json.Valid(trimmed) {
		return nil, errors.New("the arguments must be a JSON object")
	}
	return trimmed, nil
}

// maxLine is how many characters a line for the user has at most.
const maxLine = 300
