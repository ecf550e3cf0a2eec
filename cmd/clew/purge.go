package main

import (
	"context"
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
}

func newPurge(cmd *cobra.Command) runFunc {
	f := cmd.Flags()
	yes := f.Bool("yes", false, "do not ask")
	text := f.Bool("text", false, "read a text, and overwrite it wherever it stands")
	dryRun := f.Bool("dry-run", false, "show what would be overwritten, and do nothing")
	return func(args []string) (_ result, err error) {
		if args[0] == "-" {
			return nil, usagef("purge: standard input can't be changed; name a file")
		}
		r := &purgeReport{DryRun: *dryRun}
		if r.File, err = resolveSession(cmd.Context(), args[0]); err != nil {
			return nil, err
		}
		var opt jsonl.PurgeOptions
		switch {
		case len(args) > 1:
			opt.ID, err = entryIn(cmd.Context(), r.File, args[1])
			if *text && errors.Is(err, session.ErrNotFound) { // the secret is not repeated here
				return nil, usagef("purge: --text takes no value, and no entry has the id that stands there; give the text on standard input")
			}
		case !*text:
			return nil, usagef("purge: name the entry that holds the secret, or give the secret on standard input with --text")
		}
		if err == nil && *text {
			opt.Text, err = readSecret(cmd)
		}
		if err != nil {
			return nil, err
		}
		r.ID = opt.ID
		if err := r.purge(cmd, opt, *yes); err != nil {
			return nil, err
		}
		if *text && !r.DryRun && slices.ContainsFunc(r.Left, func(l jsonl.PurgeLeft) bool { return l.Kept }) {
			err = fmt.Errorf("purge: the text still stands in %s, where it can't be overwritten; clew purge --json lists the places", r.File)
		}
		return r, err
	}
}

// purge looks what there is, asks, and does it.
func (r *purgeReport) purge(cmd *cobra.Command, opt jsonl.PurgeOptions, yes bool) error {
	const does, instead = "overwrites", "--yes, or --dry-run to see what it would do"
	if !yes && !r.DryRun {
		if err := mayAsk(cmd, does, instead); err != nil {
			return err
		}
	}
	run := func(dry bool) error {
		defer working(cmd, "searching")()
		opt.DryRun = dry
		p, err := clew.Purge(cmd.Context(), r.File, opt)
		if p != nil {
			r.Purged = *p // with an error: what was overwritten before it
		}
		return err
	}
	err := run(true)
	switch found := len(r.Places)+len(r.Removed) > 0; {
	case err != nil:
		return err
	case !found && opt.ID == "" && len(r.Left) == 0:
		return fmt.Errorf("purge %s: the text stands nowhere in it; look with clew context --full or clew tree --all, and name the entry", r.File)
	case !found || r.DryRun:
		return nil
	case !yes:
		question := fmt.Sprintf("Overwrite %s? This can't be undone.", count(len(r.Places), "record"))
		if err := confirm(cmd, does, instead, question, "nothing was overwritten", func(rep *report) { r.list(rep, "overwrite") }); err != nil {
			return err
		}
	}
	return run(false)
}

// entryIn returns the whole id of an entry of a file.
func entryIn(ctx context.Context, path, id string) (string, error) {
	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer f.Close()
	return findID(ctx, f, id)
}

// maxSecret is how much of standard input is read for --text, in bytes.
const maxSecret = 1 << 20

// readSecret reads what --text is to overwrite: from a terminal unseen, else all of
// standard input without the line break at its end.
func readSecret(cmd *cobra.Command) (string, error) {
	var data []byte
	var err error
	if in, ok := cmd.InOrStdin().(*os.File); ok && isTerminal(in) {
		fmt.Fprint(cmd.ErrOrStderr(), "Text to overwrite (it is not shown): ")
		data, err = term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
	} else {
		data, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxSecret+1))
	}
	switch secret := strings.TrimRight(string(data), "\r\n"); {
	case err != nil:
		return "", fmt.Errorf("purge: can't read the text: %w", err)
	case strings.TrimSpace(secret) == "":
		return "", usagef("purge: the text is empty; give it on standard input")
	case len(secret) > maxSecret:
		return "", usagef("purge: the text is longer than %s; name the entry that holds it", size(maxSecret))
	default:
		return secret, nil
	}
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
