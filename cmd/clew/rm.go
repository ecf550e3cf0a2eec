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

// removedSessions is what rm prints.
type removedSessions []removedSession

func (all removedSessions) text(rep *report) {
	for _, r := range all {
		rep.w.WriteString("removed " + printable(r.Path) + "\n")
	}
}

func newRm(cmd *cobra.Command) runFunc {
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	return func(args []string) (result, error) {
		infos, err := sessionsToRemove(cmd, args)
		if err != nil {
			return nil, err
		}
		if !*yes {
			err := confirm(cmd, "removes", "--yes", fmt.Sprintf("Remove %s?", count(len(infos), "session")), "nothing removed", func(rep *report) {
				for _, info := range infos {
					fmt.Fprintf(rep.w, "%s  %s  %s\n", printable(info.Path), size(info.Size), cut(cmp.Or(headline(info.Name), headline(info.First)), 60))
				}
			})
			if err != nil {
				return nil, err
			}
		}
		done := removedSessions{}
		for _, info := range infos {
			removed, err := clew.RemoveFile(cmd.Context(), info.Path)
			if err != nil {
				return done, err
			}
			done = append(done, removedSession{info.Path, info.Header.ID, removed})
		}
		return done, nil
	}
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
