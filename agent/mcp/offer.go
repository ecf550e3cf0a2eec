package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/internal/text"
)

const (
	// maxTools is the most tools that are taken of a server.
	maxTools = 500
	// maxSchema is the largest schema of a tool, in bytes: it is sent with each request.
	maxSchema = 64 << 10
	// maxDescription is the longest description, in characters.
	maxDescription = 8000
)

// offer is a tool as a server offers it.
type offer struct {
	name        string
	description string
	schema      json.RawMessage
	readOnly    bool // the server says so
}

// list asks for the tools. A tool that can't be used is left out with a warning.
func (l *link) list(ctx context.Context, only []string) (offers []offer, warnings []error, err error) {
	var found []*sdk.Tool
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			if r := l.session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil && ctx.Err() == nil {
				return nil, nil, errors.New("it has none")
			}
			return nil, nil, err
		}
		if len(found) == maxTools {
			warnings = append(warnings, fmt.Errorf("it offers more than %d tools, and the rest is left out; name those to be used in its tools", maxTools))
			break
		}
		found = append(found, t)
	}
	raw := l.tap.close()
	var names []string
	for _, t := range found {
		if slices.Contains(names, t.Name) {
			warnings = append(warnings, fmt.Errorf("it offers %s twice; the first counts", text.OneLine(t.Name, maxLine)))
			continue
		}
		names = append(names, t.Name)
		if only != nil && !slices.Contains(only, t.Name) {
			continue
		}
		o, err := newOffer(t, raw[t.Name])
		if err != nil {
			warnings = append(warnings, fmt.Errorf("its tool %s is left out: %w", text.OneLine(t.Name, maxLine), err))
			continue
		}
		offers = append(offers, o)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			hint := ""
			if near := text.Nearest(name, names); near != "" {
				hint = fmt.Sprintf("; did you mean %s?", text.OneLine(near, maxLine))
			}
			warnings = append(warnings, fmt.Errorf("it has no tool %s%s", text.OneLine(name, maxLine), hint))
		}
	}
	return offers, warnings, nil
}

// newOffer checks a tool. raw is its schema as it was sent, nil where that is not known.
func newOffer(t *sdk.Tool, raw json.RawMessage) (o offer, err error) {
	if t.Name == "" {
		return o, errors.New("it has no name")
	}
	if raw == nil {
		if raw, err = json.Marshal(t.InputSchema); err != nil {
			return o, fmt.Errorf("its schema can't be written: %w", err)
		}
	}
	if err := checkSchema(raw); err != nil {
		return o, err
	}
	o = offer{name: t.Name, schema: raw, description: text.Clip(text.Valid(strings.TrimSpace(t.Description)), maxDescription)}
	if t.Annotations != nil {
		o.readOnly = t.Annotations.ReadOnlyHint
		if o.description == "" {
			o.description = text.Clip(text.Valid(t.Annotations.Title), maxDescription)
		}
	}
	return o, nil
}

// checkSchema finds what makes providers refuse a request with the schema in it.
func checkSchema(raw json.RawMessage) error {
	if len(raw) > maxSchema {
		return fmt.Errorf("its schema has %d bytes, and at most %d are sent with each request", len(raw), maxSchema)
	}
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil || string(raw) == "null" {
		return errors.New("its schema is no JSON schema of an object")
	}
	if s.Type != "object" {
		return errors.New(`its schema is not of type "object"`)
	}
	for name, p := range s.Properties {
		if p[0] != '{' && string(p) != "true" && string(p) != "false" {
			return fmt.Errorf("its schema has no schema for %s", text.OneLine(name, maxLine))
		}
	}
	return nil
}
