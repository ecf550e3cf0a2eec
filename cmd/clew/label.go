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

func newLabel() *cobra.Command {
	cmd := newCommand("label", groupChange)
	cmd.ValidArgsFunction = completeTarget
	jsonFlag(cmd)
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
		if isRoot(args[1]) {
			return usagef("label: %s means the start of the session, where there is nothing to label; name an entry", args[1])
		}
		return withLog(cmd, args[0], func(f kept, log *session.Log) (result, error) {
			return setLabel(cmd, f, log, args[1], label)
		})
	}
	return cmd
}

func errRootLabel(cmd *cobra.Command, label string) error {
	return usagef("%s: %q means the start of the session, so it can't be a label; choose another one", cmd.Name(), label)
}

func setLabel(cmd *cobra.Command, f kept, log *session.Log, id, label string) (*labelReport, error) {
	ctx := cmd.Context()
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
		return nil, &session.Error{Op: "label", Subject: id, Err: errors.New("it has no label"), Hint: "clew tree --filter labeled " + f.Path() + " lists the labels"}
	}
	if r.entry, err = inWords(ctx, f, id); err != nil || label == r.Was {
		return r, err
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

func newPin() *cobra.Command {
	return pinCommand(true, newCommand("pin", groupChange))
}

func newUnpin() *cobra.Command {
	return pinCommand(false, newCommand("unpin", groupChange))
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

func pinCommand(on bool, cmd *cobra.Command) *cobra.Command {
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withLog(cmd, args[0], func(f kept, log *session.Log) (result, error) {
			var ids []string
			for _, arg := range args[1:] {
				id, err := findID(cmd.Context(), f, arg)
				if err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
			path, err := session.ContextPath(cmd.Context(), f, log.Leaf(), ids...)
			if err != nil {
				return nil, err
			}
			entries, err := entriesToPin(cmd, f, path, ids)
			if err != nil {
				return nil, err
			}
			r := pinReport{File: f.Path(), Changed: []string{}}
			before := session.Pins(path)
			var drafts []session.Draft
			for _, e := range entries {
				switch pinned := slices.Contains(before, e.ID); {
				case pinned != on:
					drafts = append(drafts, session.NewPin(e.ID, on))
					r.Changed = append(r.Changed, e.ID)
				case !on:
					return nil, &session.Error{Op: "unpin", Subject: e.ID, Err: fmt.Errorf("it is not pinned"), Hint: "clew explain " + f.Path() + " lists the pins"}
				}
			}
			written, err := log.Append(cmd.Context(), drafts...)
			if err != nil {
				return nil, err
			}
			path = append(path, written...)
			r.Pins = append([]string{}, session.Pins(path)...)
			if on {
				r.Late = tooLate(path, r.Changed)
			}
			r.entries, r.on = entries, on
			return &r, nil
		})
	}
	return cmd
}

// entriesToPin finds the entries that are named. Only what the model reads can be
// pinned, and only what is on the path to the leaf.
func entriesToPin(cmd *cobra.Command, s session.Store, path []*session.Entry, ids []string) ([]*session.Entry, error) {
	on := map[string]*session.Entry{}
	for _, e := range path {
		on[e.ID] = e
	}
	var entries []*session.Entry
	for _, id := range ids {
		e, err := on[id], error(nil)
		if e == nil {
			e, err = s.Get(cmd.Context(), id)
		}
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case session.TypeMessage, session.TypeCustomMessage, session.TypeBranchSummary:
		default:
			return nil, &session.Error{
				Op: cmd.Name(), Subject: e.ID, Err: fmt.Errorf("it is a %s, which the model is not sent", e.Type),
				Hint: "name a message",
			}
		}
		if on[id] == nil {
			return nil, &session.Error{
				Op: cmd.Name(), Subject: e.ID, Err: fmt.Errorf("it is not on the path to the leaf"),
				Hint: "clew tree shows the path to the leaf",
			}
		}
		if !slices.ContainsFunc(entries, func(o *session.Entry) bool { return o.ID == e.ID }) {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// tooLate returns those of the ids whose entries a summary stands for.
func tooLate(path []*session.Entry, ids []string) (late []string) {
	for _, f := range compact.Fates(path) {
		if f.Fate == compact.FateSummarized && slices.Contains(ids, f.Entry) {
			late = append(late, f.Entry)
		}
	}
	return late
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
		d := describe(e)
		rep.row(word, "%s", cut(short(e.ID, maxID)+"  "+d.Kind+"  "+d.line(), rep.columns-reportMargin))
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

func newName() *cobra.Command {
	cmd := newCommand("name", groupChange)
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return printName(cmd, args[0])
		}
		name, err := cleanLabel(cmd, "a name", args[1])
		if err != nil {
			return err
		}
		return withLog(cmd, args[0], func(f kept, log *session.Log) (result, error) {
			r := &nameReport{File: f.Path(), Name: name}
			if r.Was, err = sessionNameOf(cmd, f); err == nil && r.Was != name {
				_, err = log.Append(cmd.Context(), session.NewSessionInfo(name))
			}
			return r, err
		})
	}
	return cmd
}

// printName prints the name alone, for scripts.
func printName(cmd *cobra.Command, file string) error {
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
