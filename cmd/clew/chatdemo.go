package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/demo"
)

// aDemo is the demo, where it was asked for.
type aDemo struct{ *demo.Demo }

// takeDemo lets the model of the demo answer, where that is asked for: at a pace that can be
// read along, where somebody does.
func (fl *chatFlags) takeDemo(cmd *cobra.Command, c *chat.Config) (aDemo, error) {
	if !fl.demo {
		return aDemo{}, nil
	}
	dc := demo.Config{}
	if isTerminal(cmd.OutOrStdout()) {
		dc.Pace = demo.Pace
	}
	d, err := demo.Open(dc)
	if err != nil {
		return aDemo{}, err
	}
	c.Dir, c.Home, c.UserFile, c.Environ, c.OpenModel = d.Dir, d.Home, d.UserFile, d.Environ(os.Environ()), d.OpenModel
	return aDemo{d}, nil
}

// end takes the demo away.
func (d aDemo) end() {
	if d.Demo != nil {
		_ = d.Close() // its folder is a temporary one
	}
}

// runTour goes through the demo by itself and prints what happens.
func runTour(ctx context.Context, cmd *cobra.Command, c chat.Config) error {
	p := demo.NewPlayer(cmd.OutOrStdout())
	c.Events, c.Interactive = p.Take, true
	s, err := openChat(ctx, c)
	if err != nil {
		return err
	}
	err = p.Play(ctx, s.Agent())
	if ctx.Err() != nil {
		err = &exitError{exitInterrupted, errors.New("interrupted")}
	}
	return errors.Join(err, s.Close())
}
