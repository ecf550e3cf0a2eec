package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
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

func newLabel(cmd *cobra.Command) runFunc {
	return func(args []string) (_ result, err error) {
		label := ""
		if len(args) > 2 {
			if label, err = cleanLabel(cmd, "a label", args[2]); err != nil {
				return nil, err
			}
		}
		if isRoot(args[1]) {
			return nil, usagef("label: %s means the start of the session, where there is nothing to label; name an entry", args[1])
		}
		return withLog(cmd, args[0], func(f kept, log *session.Log) (result, error) {
			id, labels, err := findTarget(cmd.Context(), f, args[1])
			if err != nil {
				return nil, err
			}
			r := &labelReport{File: f.Path(), ID: id, Label: label}
			if at := slices.IndexFunc(labels, func(l session.Label) bool { return l.TargetID == id }); at >= 0 {
				r.Was = labels[at].Label
			}
			if err := freeLabel(labels, label, id); err != nil {
				return nil, err
			}
			if label == "" && r.Was == "" {
				return nil, &session.Error{Op: "label", Subject: id, Err: errors.New("it has no label"), Hint: "clew tree --filter labeled " + f.Path() + " lists the labels"}
			}
			if r.entry, err = inWords(cmd.Context(), f, id); err == nil && label != r.Was {
				_, err = log.Append(cmd.Context(), session.NewLabel(id, label))
			}
			return r, err
		})
	}
}

// freeLabel makes sure that no other entry than the one with the id has a label,
// so that it names one.
func freeLabel(labels []session.Label, label, id string) error {
	for _, l := range labels {
		if l.Label == label && l.TargetID != id {
			return &session.Error{
				Op: "label", Subject: id, Err: fmt.Errorf("%s has the label %q", l.TargetID, label),
				Hint: "choose another label, or remove that one first",
			}
		}
	}
	return nil
}

func (r *labelReport) text(rep *report) {
	rep.place("entry", r.entry, "")
	rep.changed("label", r.Label, r.Was)
}

// changed writes what something is now, and what it was.
func (r *report) changed(name, now, was string) {
	line := cmp.Or(now, "none")
	switch {
	case now == was:
		line += ", as before"
	case was != "":
		line += "; it was " + was
	}
	r.row(name, "%s", line)
}

// pinReport is what pin and unpin print as JSON.
type pinReport struct {
	File    string   `json:"file"`
	Changed []string `json:"changed"`
	Pins    []string `json:"pins"`
	// Late are pins of what a summary stands for already.
	Late []string `json:"late,omitempty"`

	entries []*session.Entry // that were named
	on      bool
}

// newPin makes pin and unpin.
func newPin(cmd *cobra.Command) runFunc {
	return func(args []string) (result, error) {
		return withLog(cmd, args[0], func(f kept, log *session.Log) (result, error) {
			r := &pinReport{File: f.Path(), Changed: []string{}, on: cmd.Name() == "pin"}
			return r, r.pin(cmd, f, log, args[1:])
		})
	}
}

func (r *pinReport) pin(cmd *cobra.Command, f kept, log *session.Log, args []string) error {
	ctx := cmd.Context()
	var ids []string
	for _, arg := range args {
		id, err := findID(ctx, f, arg)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	path, err := session.ContextPath(ctx, f, log.Leaf(), ids...)
	if err != nil {
		return err
	}
	before := session.Pins(path)
	var drafts []session.Draft
	for _, id := range ids {
		e, err := pinnable(cmd, f, path, id)
		if err != nil {
			return err
		}
		r.entries = append(r.entries, e)
		switch pinned := slices.Contains(before, e.ID); {
		case pinned != r.on:
			drafts = append(drafts, session.NewPin(e.ID, r.on))
			r.Changed = append(r.Changed, e.ID)
		case !r.on:
			return &session.Error{Op: "unpin", Subject: e.ID, Err: errors.New("it is not pinned"), Hint: "clew explain " + f.Path() + " lists the pins"}
		}
	}
	written, err := log.Append(ctx, drafts...)
	if err != nil {
		return err
	}
	path = append(path, written...)
	r.Pins = append([]string{}, session.Pins(path)...)
	for _, f := range compact.Fates(path) {
		if r.on && f.Fate == compact.FateSummarized && slices.Contains(r.Changed, f.Entry) {
			r.Late = append(r.Late, f.Entry)
		}
	}
	return nil
}

// pinnable returns the entry with an id. Only what the model reads can be pinned, and only
// what is on the path to the leaf.
func pinnable(cmd *cobra.Command, s session.Store, path []*session.Entry, id string) (e *session.Entry, err error) {
	at := slices.IndexFunc(path, func(e *session.Entry) bool { return e.ID == id })
	if at >= 0 {
		e = path[at]
	} else if e, err = s.Get(cmd.Context(), id); err != nil {
		return nil, err
	}
	switch e.Type {
	case session.TypeMessage, session.TypeCustomMessage, session.TypeBranchSummary:
	default:
		return nil, &session.Error{Op: cmd.Name(), Subject: id, Err: fmt.Errorf("it is a %s, which the model is not sent", e.Type), Hint: "name a message"}
	}
	if at < 0 {
		return nil, &session.Error{Op: cmd.Name(), Subject: id, Err: errors.New("it is not on the path to the leaf"), Hint: "clew tree shows the path to the leaf"}
	}
	return e, nil
}

func (r *pinReport) text(rep *report) {
	for _, e := range r.entries {
		word := "unpinned"
		switch {
		case r.on && slices.Contains(r.Changed, e.ID):
			word = "pinned"
		case r.on:
			word = "was pinned"
		}
		rep.place(word, describe(e).of(e.ID), "")
	}
	for _, id := range r.Late {
		rep.row("note", "%s is already summarized, and a pin does not bring it back; clew undo does", short(id, maxID))
	}
	rep.row("pins", "%s in %s", number(int64(len(r.Pins))), r.File)
}

// nameReport is what name --json prints.
type nameReport struct {
	File string `json:"file"`
	Name string `json:"name"`
	Was  string `json:"was,omitempty"`
}

func newName(cmd *cobra.Command) runFunc {
	return func(args []string) (result, error) {
		if len(args) == 1 {
			return printName(cmd, args[0])
		}
		name, err := cleanLabel(cmd, "a name", args[1])
		if err != nil {
			return nil, err
		}
		return withLog(cmd, args[0], func(f kept, log *session.Log) (result, error) {
			r := &nameReport{File: f.Path(), Name: name}
			if r.Was, err = sessionNameOf(cmd, f); err == nil && r.Was != name {
				_, err = log.Append(cmd.Context(), session.NewSessionInfo(name))
			}
			return r, err
		})
	}
}

// printName prints the name alone, for scripts.
func printName(cmd *cobra.Command, file string) (result, error) {
	return withSession(cmd, file, true, func(f kept) (result, error) {
		name, err := sessionNameOf(cmd, f)
		switch {
		case err != nil || wantsJSON(cmd):
			return &nameReport{File: f.Path(), Name: name}, err
		case name == "":
			fmt.Fprintln(cmd.ErrOrStderr(), "clew: note: the session has no name")
			return nil, nil
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(name))
		return nil, err
	})
}

// sessionNameOf returns the name of a session: that of the last record which
// gives one, on whatever branch.
func sessionNameOf(cmd *cobra.Command, s session.Store) (name string, err error) {
	for e, err := range mentioning(cmd.Context(), s, `"session_info"`) {
		if err != nil {
			return "", err
		}
		if n, ok := e.SessionName(); ok {
			return own(n), nil
		}
	}
	return "", nil
}

func (r *nameReport) text(rep *report) {
	rep.row("session", "%s", r.File)
	rep.changed("name", r.Name, r.Was)
}
