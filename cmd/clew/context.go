package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/token"
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

// contextJSON is what context --json prints.
type contextJSON struct {
	Session    sessionJSON      `json:"session"`
	Leaf       string           `json:"leaf,omitempty"`
	Model      *contextModel    `json:"model,omitempty"`
	Window     contextWindow    `json:"window"`
	Tokens     int64            `json:"tokens"`
	Guarded    int64            `json:"guarded"`
	Over       bool             `json:"over"`
	Reading    token.Reading    `json:"reading"`
	Calibrated *contextLearned  `json:"calibrated,omitempty"`
	Compaction *contextCut      `json:"compaction,omitempty"`
	Edited     int              `json:"edited"`
	Omitted    int              `json:"omitted"`
	ToolCalls  int              `json:"toolCalls"`
	Messages   []contextMessage `json:"messages"`
}

type contextModel struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	From     string `json:"from"`
	Thinking string `json:"thinking,omitempty"`
}

type contextWindow struct {
	Tokens  int64  `json:"tokens"`
	From    string `json:"from"`
	Reserve int64  `json:"reserve"`
	Limit   int64  `json:"limit"`
}

type contextLearned struct {
	Calls  int64   `json:"calls"`
	Factor float64 `json:"factor"`
}

type contextCut struct {
	ID           string `json:"id"`
	FirstKept    string `json:"firstKept,omitempty"`
	TokensBefore int64  `json:"tokensBefore"`
}

type contextMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Tokens  int64           `json:"tokens"`
	Edit    string          `json:"edit,omitempty"`
	Text    string          `json:"text"`
	Message json.RawMessage `json:"message,omitempty"`
}

func (c *shownContext) json() any {
	s, v := c.file, c.contextView
	out := contextJSON{
		Session: sessionOf(s, ""), Leaf: v.leaf,
		Window: contextWindow{v.budget.Window, v.windowBy, v.budget.Reserve, v.budget.Limit},
		Tokens: v.reading.Tokens, Guarded: v.reading.Guarded(), Over: v.reading.Guarded() > v.budget.Limit,
		Reading: v.reading, Edited: v.edited, Omitted: v.omitted, ToolCalls: v.calls,
		Messages: make([]contextMessage, 0, len(v.Items)),
	}
	if v.model.ID != "" {
		out.Model = &contextModel{v.model.Provider, v.model.ID, v.modelBy, v.level}
	}
	if c := v.learned; c.Calls > 0 {
		out.Calibrated = &contextLearned{c.Calls, c.Factor()}
	}
	if v.Compaction != nil {
		view, _ := v.Compaction.Compaction()
		out.Compaction = &contextCut{v.Compaction.ID, view.FirstKeptEntryID, view.TokensBefore}
	}
	for _, it := range v.Items {
		m := contextMessage{
			ID: it.Entry.ID, Role: string(it.Message.Role),
			Tokens: v.meter.Message(it.Message), Text: cut(joinWords(messageLine(it.Message)), maxText),
		}
		if it.Edit != nil {
			m.Edit = it.Edit.ID
		}
		if c.full {
			m.Message = jsonx.Clean(it.Message.JSON())
		}
		out.Messages = append(out.Messages, m)
	}
	return out
}
