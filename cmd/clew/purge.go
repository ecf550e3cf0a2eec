package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// purgeReport is what purge --json prints.
type purgeReport struct {
	File   string `json:"file"`
	ID     string `json:"id,omitempty"`
	DryRun bool   `json:"dryRun"`
	jsonl.Purged

	refused bool // the user said no
}

func newPurge() *cobra.Command {
	cmd := newCommand("purge", groupChange)
	f := cmd.Flags()
	yes := f.Bool("yes", false, "do not ask")
	text := f.Bool("text", false, "read a text, and overwrite it wherever it stands")
	dryRun := f.Bool("dry-run", false, "show what would be overwritten, and do nothing")
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] == "-" {
			return usagef("purge: standard input can't be changed; name a file")
		}
		opt := jsonl.PurgeOptions{DryRun: *dryRun}
		r := &purgeReport{DryRun: *dryRun}
		var err error
		if r.File, err = resolveSession(cmd.Context(), args[0]); err != nil {
			return err
		}
		switch {
		case len(args) > 1:
			r.ID, err = purgedEntry(cmd, r.File, args[1])
			if *text && errors.Is(err, session.ErrNotFound) { // the secret is not repeated here
				return usagef("purge: --text takes no value, and no entry has the id that stands there; give the text on standard input")
			}
			if err != nil {
				return err
			}
			opt.ID = r.ID
		case !*text:
			return usagef("purge: name the entry that holds the secret, or give the secret on standard input with --text")
		}
		if *text {
			if opt.Text, err = readSecret(cmd); err != nil {
				return err
			}
		}
		if err := r.purge(cmd, opt, *yes); err != nil {
			return err
		}
		if r.refused {
			return nil
		}
		if err = show(cmd, r); err == nil && *text && !r.DryRun && r.stands() {
			return fmt.Errorf("purge: the text still stands in %s, where it can't be overwritten; clew purge --json lists the places", r.File)
		}
		return err
	}
	return cmd
}

// purge looks what there is, asks, and does it.
func (r *purgeReport) purge(cmd *cobra.Command, opt jsonl.PurgeOptions, yes bool) error {
	const does, instead = "overwrites", "--yes, or --dry-run to see what it would do"
	wanted := opt.DryRun
	if !yes && !wanted {
		if err := mayAsk(cmd, does, instead); err != nil {
			return err
		}
	}
	opt.DryRun = true
	if err := r.run(cmd, opt); err != nil {
		return err
	}
	if len(r.Places)+len(r.Removed) == 0 {
		if opt.Text != "" && opt.ID == "" && len(r.Left) == 0 {
			return fmt.Errorf("purge %s: the text stands nowhere in it; look with clew context --full or clew tree --all, and name the entry", r.File)
		}
		return nil
	}
	if wanted {
		return nil
	}
	if !yes {
		ok, err := confirm(cmd, does, instead, fmt.Sprintf("Overwrite %s? This can't be undone.", count(len(r.Places), "record")), "nothing was overwritten",
			func(rep *report) { r.list(rep, "overwrite") })
		if r.refused = !ok; r.refused {
			return err
		}
	}
	opt.DryRun = false
	return r.run(cmd, opt)
}

func (r *purgeReport) run(cmd *cobra.Command, opt jsonl.PurgeOptions) error {
	pr := newProgress(cmd)
	defer pr.done()
	pr.say("searching")
	p, err := clew.Purge(cmd.Context(), r.File, opt)
	if p != nil {
		r.Purged = *p // with an error: what was overwritten before it
	}
	return err
}

// stands reports whether something of the session still holds what was to go.
func (r *purgeReport) stands() bool {
	return slices.ContainsFunc(r.Left, func(l jsonl.PurgeLeft) bool { return l.Kept })
}

// purgedEntry returns the whole id of the entry that is named.
func purgedEntry(cmd *cobra.Command, path, id string) (string, error) {
	f, err := jsonl.Open(cmd.Context(), path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer f.Close()
	e, err := findEntry(cmd.Context(), f, id)
	if err != nil {
		return "", err
	}
	return e.ID, nil
}

// maxSecret is how much of standard input is read for --text, in bytes.
const maxSecret = 1 << 20

// readSecret reads what --text is to overwrite: from a terminal unseen, else all of
// standard input without the line break at its end.
func readSecret(cmd *cobra.Command) (string, error) {
	if in, ok := cmd.InOrStdin().(*os.File); ok && isTerminal(in) {
		fmt.Fprint(cmd.ErrOrStderr(), "Text to overwrite (it is not shown): ")
		secret, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		if err != nil {
			return "", fmt.Errorf("purge: can't read the text: %w", err)
		}
		return checkSecret(string(secret))
	}
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("purge: can't read the text: %w", err)
	}
	return checkSecret(strings.TrimRight(string(data), "\r\n"))
}

func checkSecret(s string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", usagef("purge: the text is empty; give it on standard input")
	case len(s) > maxSecret:
		return "", usagef("purge: the text is longer than %s; name the entry that holds it", size(maxSecret))
	}
	return s, nil
}

// list writes the places.
func (r *purgeReport) list(rep *report, word string) {
	listed(rep, word, r.Places, func(p jsonl.PurgePlace) string { return place(p.File, p.Line, p.EntryID) + ": " + p.What })
	for _, name := range r.Removed {
		rep.row("remove", "%s, which a stopped program left", name)
	}
	listed(rep, "look at", r.Left, func(p jsonl.PurgeLeft) string { return place(p.File, p.Line, p.EntryID) + ": " + p.Why })
}

// place says where a record stands.
func place(file string, line int, id string) string {
	if line > 0 {
		file += fmt.Sprintf(" line %d", line)
	}
	if id != "" {
		file += ", entry " + short(id, maxID)
	}
	return file
}

func (r *purgeReport) text(rep *report) {
	word := "overwrote"
	if r.DryRun {
		word = "overwrite"
	}
	r.list(rep, word)
	switch {
	case len(r.Places) == 0 && len(r.Removed) == 0:
		rep.row("nothing", "to overwrite: it was purged before, or never had any content")
	case r.DryRun:
		rep.row("written", "nothing: this was a dry run")
	default:
		rep.row("done", "%s in %s; copies elsewhere are not touched: change the secret", count(len(r.Places), "record"), r.File)
	}
}
