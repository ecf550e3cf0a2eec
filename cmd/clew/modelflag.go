package main

import (
	"fmt"
	"strings"
)

// modelFlag is a flag that takes a model as PROVIDER/ID.
type modelFlag struct{ provider, id string }

// String implements pflag.Value.
func (m *modelFlag) String() string {
	if m.provider == "" {
		return ""
	}
	return m.provider + "/" + m.id
}

// Type implements pflag.Value.
func (m *modelFlag) Type() string { return "provider/id" }

// Set implements pflag.Value.
func (m *modelFlag) Set(s string) error {
	provider, id, ok := strings.Cut(s, "/")
	if !ok || provider == "" || id == "" {
		return fmt.Errorf("%q is not of the form PROVIDER/ID, such as anthropic/claude-opus-4-5", s)
	}
	m.provider, m.id = provider, id
	return nil
}
