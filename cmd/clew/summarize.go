package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

func newSummarize() *cobra.Command {
	var template, instructions string
	cmd := &cobra.Command{
		Use:   "summarize FILE",
		Short: "Print a summary of the conversation",
		Long: `summarize prints the summary that a compaction would write of everything on the
path to the leaf or, with --until, to an entry. It is made from the log by
rules, without a model, and is the same each time; it includes what earlier
compactions left out. Nothing is written to FILE.`,
		Example: `  clew summarize session.jsonl > handover.md
  clew summarize --budget 2k --template brief session.jsonl
  clew summarize --until 3f2a session.jsonl`,
		GroupID: groupLook,
		Args:    argCount(1, 1),
	}
	budget := cmd.Flags().String("budget", "", "size limit of the summary in tokens (default: what compact allows for the model's window)")
	until := cmd.Flags().String("until", "", "summarize up to this entry (an id or the beginning of one)")
	addSummaryFlags(cmd, &template, &instructions, "briefing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := findTemplate(template)
		if err != nil {
			return err
		}
		in := summary.Input{Template: t, Instructions: instructions, ClipLast: true}
		if in.Budget, err = parseBudget(*budget); err != nil {
			return err
		}
		f, err := openSession(cmd, args[0], true)
		if err != nil {
			return err
		}
		defer f.Close()
		leaf, err := summarizeUntil(cmd, f, *until)
		if err != nil {
			return err
		}
		if err := prepareSummary(cmd, f, leaf, &in); err != nil {
			return err
		}
		return printSummary(cmd, in)
	}
	return cmd
}

// summarizeUntil returns the entry that --until names, else the leaf.
func summarizeUntil(cmd *cobra.Command, s session.Store, until string) (string, error) {
	if !cmd.Flags().Changed("until") {
		return leafOf(cmd, s, "")
	}
	e, err := findEntry(cmd.Context(), s, until)
	if err != nil {
		return "", err
	}
	return e.ID, nil
}

// parseBudget reads --budget; 0 means that it was not given.
func parseBudget(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := compact.ParseAmount(s)
	if err != nil || strings.HasSuffix(s, "%") || n.Of(0) < 1 {
		return 0, usagef("--budget %s: write a number of tokens from 1, such as 2000 or 2k", s)
	}
	return n.Of(0), nil
}

// prepareSummary reads what is to be summarized, and settles the budget.
func prepareSummary(cmd *cobra.Command, s session.Store, leaf string, in *summary.Input) error {
	path, err := session.Path(cmd.Context(), s, leaf)
	if err != nil {
		return err
	}
	snap, err := compact.Load(cmd.Context(), s, leaf, &compact.Setup{Uncalibrated: true, Policy: func(m session.Model) compact.Policy {
		policy, _ := modelPolicy{}.of(m)
		return policy
	}})
	if err != nil {
		return err
	}
	if in.Budget == 0 { // as in a compaction; a budget of the user's is one for all
		in.Budget, in.QuoteBudget = snap.Budget.Summary, snap.Budget.Quotes
	}
	in.Counter, in.Cwd = snap.Meter, snap.Cwd
	in.Items = session.Project(withoutPasses(path)).Items
	return nil
}

// withoutPasses returns a path as if nothing on it had been compacted. A compaction
// before which there is no message stays: what it stands for is not in the log.
func withoutPasses(path []*session.Entry) []*session.Entry {
	var out []*session.Entry
	messages := 0
	for _, e := range path {
		switch e.Type {
		case session.TypeMessage, session.TypeCustomMessage, session.TypeBranchSummary:
			if compact.ExcerptOf(e) != "" {
				continue
			}
			messages++
		case session.TypeCompaction:
			if messages > 0 {
				continue
			}
		case session.TypeContextEdit:
			if compact.StageOf(e) != "" {
				continue
			}
		default:
		}
		out = append(out, e)
	}
	return out
}

func printSummary(cmd *cobra.Command, in summary.Input) error {
	if len(in.Items) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "clew: note: there is nothing to summarize")
		return nil
	}
	pr := newProgress(cmd)
	defer pr.done()
	pr.say("summarizing %s", count(len(in.Items), "message"))
	out, err := summary.Deterministic{}.Summarize(cmd.Context(), in)
	if err != nil {
		return err
	}
	pr.done()
	text := strings.TrimRight(out.Text, "\n")
	if text == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: note: nothing fits a budget of %s\n", count(int(in.Budget), "token"))
		return nil
	}
	if isTerminal(cmd.OutOrStdout()) {
		text = printableText(text)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}
