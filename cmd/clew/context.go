package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/wire"
)

func newContext(cmd *cobra.Command) runFunc {
	var model modelFlag
	var counter counterFlag
	fl := cmd.Flags()
	fl.Var(&model, "model", "the model that is asked (default the one in force in the session)")
	windowFlag := fl.String("window", "", "the model's context window in tokens, such as 64k (default that of the model, 200k where it is not known)")
	fl.String("leaf", "", "take this entry as the leaf (an id or the beginning of one)")
	wireFor := fl.String("wire", "", "print the messages for an API: "+strings.Join(wire.ProfileNames(), ", "))
	counter.add(cmd)
	full := fl.Bool("full", false, "print the messages whole")
	_ = cmd.RegisterFlagCompletionFunc("wire", cobra.FixedCompletions(wire.ProfileNames(), cobra.ShellCompDirectiveNoFileComp))
	return func(args []string) (result, error) {
		profile, err := wire.ProfileByName(*wireFor)
		switch {
		case *wireFor == "" && !fl.Changed("wire"):
		case err != nil:
			return nil, usagef("--wire: %w", err)
		case wantsJSON(cmd) || *full:
			return nil, usagef("context: --wire prints JSON of its own; leave out --json and --full")
		}
		window, err := numberFlag("window", *windowFlag, windowNumber)
		if err != nil {
			return nil, err
		}
		return withSession(cmd, args[0], true, func(s kept) (result, error) {
			at, err := leafOf(cmd, s, "leaf")
			if err != nil {
				return nil, err
			}
			defer working(cmd, "reading %s", args[0])()
			v, err := viewContext(cmd.Context(), s, at, model, window, counter)
			if err != nil {
				return nil, err
			}
			if fl.Changed("wire") {
				return nil, printWire(cmd, v, profile)
			}
			for _, it := range v.Items {
				if *full && wantsJSON(cmd) && !json.Valid(jsonx.Clean(it.Message.JSON())) {
					return nil, fmt.Errorf("context: the message of entry %s is nested too deeply for --json --full; leave out --full", it.Entry.ID)
				}
			}
			return &shownContext{v, s, *full}, nil
		})
	}
}

// printWire prints the parts of a request body that come from the context.
func printWire(cmd *cobra.Command, v *contextView, p wire.Profile) error {
	// Whether the model reads images is not known; it is taken as able to, so
	// that they are seen.
	target := wire.Target{Provider: v.model.Provider, Model: v.model.ID, TakesImages: true}
	req, notes, err := wire.Build(v.messages, p, target, wire.Options{})
	var pending *wire.PendingError
	if errors.As(err, &pending) {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: note: %s not answered yet; a result that says so is put in\n", count(len(pending.Calls), "call is", "calls are"))
		req, notes, err = wire.Build(v.messages, p, target, wire.Options{CloseOpenCalls: true})
	}
	for _, line := range wireNotes(v, notes) {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: note: %s\n", line)
	}
	var invalid *wire.ValidationError
	if errors.As(err, &invalid) {
		for _, violation := range invalid.Violations {
			fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s would refuse it: %s\n", p.Name, printable(violation.String()))
		}
		return fmt.Errorf("context: no request of this context that %s would take; clew verify says what is wrong with the session", p.Name)
	}
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(append(req.Body(p, nil), '\n'))
	return err
}

// wireNotes says each kind of thing that was done once, with how often.
func wireNotes(v *contextView, notes []wire.Note) []string {
	times := map[wire.NoteCode]int{}
	for _, n := range notes {
		times[n.Code]++
	}
	var lines []string
	for _, n := range notes {
		more := times[n.Code] - 1
		if more < 0 {
			continue
		}
		times[n.Code] = 0 // the others of its kind are told with it
		line := printable(n.Text)
		if n.Index >= 0 && n.Index < len(v.Items) {
			line += " (entry " + short(v.Items[n.Index].Entry.ID, maxID) + ")"
		}
		if more > 0 {
			line += ", and " + number(int64(more)) + " more of this kind"
		}
		lines = append(lines, line)
	}
	return lines
}
