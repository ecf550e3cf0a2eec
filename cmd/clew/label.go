package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
)

// labelReport is what label --json prints.
type labelReport struct {
	File  string `json:"file"`
	ID    string `json:"id"`
	Label string `json:"label"`
	Was   string `json:"was,omitempty"`

	entry string // in words
}

func newLabel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "label FILE ID [LABEL]",
		Short: "Give an entry a name, or take it away",
		Long: `label gives an entry a name, under which clew tree shows it and clew branch and
clew fork find it. An entry has one label at a time. Without LABEL it is taken
away.

ID is an entry's id or the beginning of it, or the label that it has.`,
		Example: `  clew label session.jsonl 3f2a before-cache
  clew label session.jsonl before-cache`,
		GroupID:           groupChange,
		Args:              argCount(2, 3),
		ValidArgsFunction: completeTarget,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		label := ""
		if len(args) > 2 {
			var err error
			if label, err = cleanLabel(cmd, "a label", args[2]); err != nil {
				return err
			}
		}
		if isRoot(label) {
			return errRootLabel(cmd, label)
		}
		r, err := runLabel(cmd, args[0], args[1], label)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd, r)
		}
		return r.print(cmd)
	}
	return cmd
}

func errRootLabel(cmd *cobra.Command, label string) error {
	return usagef("%s: %q stands for before the first entry, so no entry would be found by it; choose another label", cmd.Name(), label)
}

func runLabel(cmd *cobra.Command, name, id, label string) (*labelReport, error) {
	ctx := cmd.Context()
	if isRoot(id) {
		return nil, usagef("label: %s stands for before the first entry, where there is nothing to label; name an entry", id)
	}
	f, err := openSession(cmd, name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	id, labels, err := findTargetID(ctx, f, id)
	if err != nil {
		return nil, err
	}
	r := &labelReport{File: f.Path(), ID: id, Label: label}
	for _, l := range labels {
		if l.TargetID == id {
			r.Was = l.Label
		}
	}
	if err := freeLabel(labels, label, id); err != nil {
		return nil, err
	}
	if label == "" && r.Was == "" {
		return nil, &session.Error{Op: "label", Subject: id, Err: errors.New("it has no label to take away"), Hint: "clew tree --filter labeled " + f.Path() + " lists the labels"}
	}
	if r.entry, err = inWords(ctx, f, id); err != nil || label == r.Was {
		return r, err
	}
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		return nil, err
	}
	_, err = log.Append(ctx, session.NewLabel(id, label))
	return r, err
}

// freeLabel makes sure that no other entry than the one with the id has a label,
// so that it names one.
func freeLabel(labels []session.Label, label, id string) error {
	for _, l := range labels {
		if l.Label == label && l.TargetID != id {
			return &session.Error{
				Op: "label", Subject: id, Err: fmt.Errorf("%s has the label %q", l.TargetID, label),
				Hint: "choose another one, or take it away there",
			}
		}
	}
	return nil
}

func (r *labelReport) print(cmd *cobra.Command) error {
	rep := newReport(cmd)
	rep.place("entry", r.entry, "")
	switch {
	case r.Label == "":
		rep.row("label", "none; it was %s", r.Was)
	case r.Was == r.Label:
		rep.row("label", "%s, as before", r.Label)
	case r.Was != "":
		rep.row("label", "%s; it was %s", r.Label, r.Was)
	default:
		rep.row("label", "%s", r.Label)
	}
	return rep.w.Flush()
}
