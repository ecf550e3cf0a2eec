package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/session/jsonl"
)

// removedSession is a session in what rm --json prints.
type removedSession struct {
	Path    string   `json:"path"`
	ID      string   `json:"id"`
	Removed []string `json:"removed"`
}

func newRm() *cobra.Command {
	cmd := newCommand("rm", groupChange)
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		infos, err := sessionsToRemove(cmd, args)
		if err != nil {
			return err
		}
		if !*yes {
			ok, err := confirm(cmd, "removes", "--yes", fmt.Sprintf("Remove %s?", count(len(infos), "session")), "nothing removed", func(rep *report) {
				for _, info := range infos {
					fmt.Fprintf(rep.w, "%s  %s  %s\n", printable(info.Path), size(info.Size), cut(cmp.Or(headline(info.Name), headline(info.First)), 60))
				}
			})
			if err != nil || !ok {
				return err
			}
		}
		done := []removedSession{}
		var failed error
		for _, info := range infos {
			removed, err := clew.RemoveFile(cmd.Context(), info.Path)
			if err != nil {
				failed = err
				break
			}
			done = append(done, removedSession{info.Path, info.Header.ID, removed})
			if !wantsJSON(cmd) {
				fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", printable(info.Path))
			}
		}
		if wantsJSON(cmd) {
			if err := printJSON(cmd, done); err != nil {
				return err
			}
		}
		return failed
	}
	return cmd
}

// sessionsToRemove looks at all of them before anything is removed.
func sessionsToRemove(cmd *cobra.Command, args []string) ([]jsonl.Info, error) {
	var infos []jsonl.Info
	for _, name := range args {
		if name == "-" {
			return nil, usagef("rm: standard input can't be removed; name a file")
		}
		path, err := resolveSession(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		info, err := jsonl.Peek(cmd.Context(), path)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(infos, func(i jsonl.Info) bool { return i.Path == path }) {
			infos = append(infos, info)
		}
	}
	return infos, nil
}
