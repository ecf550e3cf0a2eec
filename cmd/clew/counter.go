package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// counterFlag is a flag that takes the name of what estimates tokens.
type counterFlag string

const (
	counterHeuristic counterFlag = "heuristic"
	counterBPE       counterFlag = "bpe"
	counterChars4    counterFlag = "chars4"
)

var counterNames = []string{string(counterHeuristic), string(counterBPE), string(counterChars4)}

// add adds the flag to a command.
func (c *counterFlag) add(cmd *cobra.Command) {
	*c = counterHeuristic
	cmd.Flags().Var(c, "counter", "what estimates tokens: heuristic, bpe (exact for OpenAI's models), chars4 (a token for four characters)")
	_ = cmd.RegisterFlagCompletionFunc("counter", cobra.FixedCompletions(counterNames, cobra.ShellCompDirectiveNoFileComp))
}

// String implements pflag.Value.
func (c *counterFlag) String() string { return string(*c) }

// Type implements pflag.Value.
func (c *counterFlag) Type() string { return "name" }

// Set implements pflag.Value.
func (c *counterFlag) Set(s string) error {
	if !slices.Contains(counterNames, s) {
		return fmt.Errorf("there is no counter %q; there are %s", s, strings.Join(counterNames, ", "))
	}
	*c = counterFlag(s)
	return nil
}

// of returns the counter for a model.
func (c counterFlag) of(m session.Model) token.Counter {
	switch c {
	case counterBPE:
		return token.BPE(m.Provider, m.ID)
	case counterChars4:
		return token.Chars4()
	default:
		return token.HeuristicFor(m.Provider, m.ID)
	}
}
