package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/chat"
)

// runUI shows the conversation on the terminal.
func (fl *chatFlags) runUI(_ context.Context, cmd *cobra.Command, _ chat.Config, _ string) error {
	if !isTerminal(cmd.InOrStdin()) || !isTerminal(cmd.OutOrStdout()) {
		return usagef("chat: there is no terminal to talk on; --print answers one prompt, --rpc is for programs")
	}
	return usagef("chat: the terminal is not there yet; --print answers one prompt")
}
