package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/chat"
)

func (fl *chatFlags) runRPC(context.Context, *cobra.Command, chat.Config, string) error {
	return usagef("chat: --rpc is not there yet")
}
