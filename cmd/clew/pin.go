package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
)

func newPin() *cobra.Command {
	return pinCommand(true, &cobra.Command{
		Use:   "pin FILE ID...",
		Short: "Keep entries word for word through every compaction",
		Long: `pin marks entries that no pass may shorten, take out or summarize away: they
stay in the context as they are, or are quoted word for word in the summary.
What is pinned takes room from everything else. clew explain lists the pins.

An ID is an entry's id or the beginning of it; clew tree shows them. The mark
is an entry of its own, so it belongs to the branch that it is set on.`,
		Example: `  clew pin session.jsonl 3f2a
  clew pin session.jsonl 3f2a 91bc`,
	})
}

func newUnpin() *cobra.Command {
	return pinCommand(false, &cobra.Command{
		Use:   "unpin FILE ID...",
		Short: "Take pins away",
		Long: `unpin takes the mark away that clew pin set. What a summary quotes stays there
until the next pass makes another one.`,
		Example: `  clew unpin session.jsonl 3f2a`,
	})
}

// pinReport is what pin and unpin print as JSON.
type pinReport struct {
	File    string   `json:"file"`
	Changed []string `json:"changed"`
	Pins    []string `json:"pins"`
	// Late are pins of what a summary stands for already.
	Late []string `json:"late,omitempty"`
}

func pinCommand(on bool, cmd *cobra.Command) *cobra.Command {
	cmd.GroupID = groupChange
	cmd.Args = argCount(2, -1)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := openSession(cmd, args[0], false)
		if err != nil {
			return err
		}
		defer f.Close()
		log, err := session.NewLog(cmd.Context(), f, session.Options{})
		if err != nil {
			return err
		}
		var ids []string
		for _, arg := range args[1:] {
			id, err := findID(cmd.Context(), f, arg)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		path, err := session.ContextPath(cmd.Context(), f, log.Leaf(), ids...)
		if err != nil {
			return err
		}
		entries, err := entriesToPin(cmd, f, path, ids)
		if err != nil {
			return err
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
				return &session.Error{Op: "unpin", Subject: e.ID, Err: fmt.Errorf("it is not pinned"), Hint: "clew explain " + f.Path() + " lists the pins"}
			}
		}
		written, err := log.Append(cmd.Context(), drafts...)
		if err != nil {
			return err
		}
		path = append(path, written...)
		r.Pins = append([]string{}, session.Pins(path)...)
		if on {
			r.Late = tooLate(path, r.Changed)
		}
		if *asJSON {
			return printJSON(cmd, r)
		}
		return r.print(cmd, entries, on)
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
				Op: cmd.Name(), Subject: e.ID, Err: fmt.Errorf("it is a %s, which is not shown to the model as it is", e.Type),
				Hint: "name a message",
			}
		}
		if on[id] == nil {
			return nil, &session.Error{
				Op: cmd.Name(), Subject: e.ID, Err: fmt.Errorf("it is on another branch than the leaf"),
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

func (r *pinReport) print(cmd *cobra.Command, entries []*session.Entry, on bool) error {
	rep := newReport(cmd)
	for _, e := range entries {
		word := "unpinned"
		switch {
		case on && slices.Contains(r.Changed, e.ID):
			word = "pinned"
		case on:
			word = "was pinned"
		}
		d := describe(e)
		rep.row(word, "%s", cut(short(e.ID, maxID)+"  "+d.Kind+"  "+d.line(), rep.columns-reportMargin))
	}
	for _, id := range r.Late {
		rep.row("note", "%s was summarized before, and a pin does not bring it back; clew undo does", short(id, maxID))
	}
	rep.row("pins", "%s in %s", number(int64(len(r.Pins))), r.File)
	return rep.w.Flush()
}
