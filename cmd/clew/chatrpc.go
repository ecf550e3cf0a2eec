package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/agent/rpc"
	"github.com/clew-dev/clew/internal/chat"
)

// runRPC lets another program talk.
func (fl *chatFlags) runRPC(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	if words != "" {
		return usagef("chat: --rpc takes no prompt: the other program sends it")
	}
	d, err := fl.takeDemo(cmd, &c)
	if err != nil {
		return err
	}
	defer d.end()
	srv := rpc.NewServer(cmd.OutOrStdout())
	c.Events = srv.Event
	s, err := openChat(ctx, c)
	if err != nil {
		return err
	}
	for _, w := range s.Warnings() {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s\n", oneLine(w))
	}
	err = srv.Serve(ctx, s, cmd.InOrStdin())
	if ctx.Err() != nil {
		err = nil
	}
	if err = errors.Join(err, s.Close()); err == nil && ctx.Err() != nil {
		err = &exitError{exitInterrupted, errors.New("interrupted; " + howToGoOn(s))}
	}
	return err
}
