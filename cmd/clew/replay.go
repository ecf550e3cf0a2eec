package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/replay"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

func newReplay() *cobra.Command {
	var dump, policies string
	var budget, tail int
	cmd := &cobra.Command{
		Use:     "replay FILE|DIR...",
		Short:   "Say what each policy would have kept of recorded sessions",
		Example: "  clew replay ~/.claude/projects",
		GroupID: groupLook,
		Args:    argCount(1, -1),
	}
	cmd.Flags().StringVar(&dump, "dump", "", "write each text and what it misses to this folder")
	cmd.Flags().StringVar(&policies, "policy", "", "policies, with commas between")
	cmd.Flags().IntVar(&budget, "budget", replay.DefaultBudget, "tokens of a text")
	cmd.Flags().IntVar(&tail, "tail", replay.DefaultTail, "tokens of the tail")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var sessions []replay.Session
		for _, arg := range args {
			err := filepath.WalkDir(arg, func(p string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				f, err := os.Open(p)
				if err != nil {
					return err
				}
				defer f.Close()
				t, err := transcript.Read(f, transcript.ReadOptions{})
				if err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s: %v\n", p, err)
					return nil
				}
				last := map[string]string{} // of each root the newest entry below it
				root := map[string]string{}
				var roots []string
				for _, e := range t.Entries {
					r, ok := root[e.ParentID]
					if !ok {
						r = e.ID
						roots = append(roots, r)
					}
					root[e.ID] = r
					last[r] = e.ID
				}
				for i, r := range roots {
					path, err := session.Path(cmd.Context(), session.NewMemory(t.Header, t.Entries...), last[r])
					if err != nil {
						return err
					}
					name := filepath.Base(p)
					if i > 0 {
						name = fmt.Sprintf("%s.%d", name, i+1)
					}
					sessions = append(sessions, replay.Session{Name: name, Group: string(t.Format), Cwd: t.Header.Cwd, Path: path})
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		opt := replay.Options{Budget: budget, Tail: tail, Chain: true}
		if policies != "" {
			var err error
			if opt.Policies, err = replay.FindPolicies(strings.Split(policies, ",")); err != nil {
				return usagef("%w", err)
			}
		}
		if dump != "" {
			if err := os.MkdirAll(dump, 0o755); err != nil {
				return err
			}
			opt.Text = func(t replay.Text) {
				var b strings.Builder
				fmt.Fprintf(&b, "%s\n\n======== session %s, point %d, recorded %v\ncCR %.2f CR %.2f IR %.2f IR-c %.2f trail %.2f fresh %.2f foreign %.3f plain %.2f tokens %d\n",
					t.Text, t.Session, t.Point, t.Recorded, t.Score.Contextual.Value, t.Score.Recall.Value, t.Score.Instructions.Value, t.Score.Constraints.Value, t.Score.TrailF1.Value, t.Score.Fresh.Value, t.Score.Foreign.Value, t.Score.Plain, t.Score.Tokens)
				fmt.Fprintf(&b, "\n== needs missed\n%s\n\n== needs there, but not in context\n%s\n\n== sentences missed\n%s\n\n== foreign\n%s\n",
					strings.Join(t.Score.Missed, "\n"), strings.Join(t.Score.MissedContext, "\n"), strings.Join(t.Score.MissedSentences, "\n"), strings.Join(t.Score.ForeignIDs, "\n"))
				fmt.Fprintf(&b, "\n== trail missing\n%v\n\n== trail wrong\n%v\n\n== stale\n%v\n", t.Score.MissedPairs, t.Score.WrongPairs, t.Score.Stale)
				_ = os.WriteFile(filepath.Join(dump, fmt.Sprintf("%s-%05d-%s.txt", t.Session, t.Point, t.Policy)), []byte(b.String()), 0o644)
			}
		}
		r, err := replay.Run(cmd.Context(), sessions, opt)
		if err != nil {
			return err
		}
		for _, s := range r.Sessions {
			fmt.Fprintf(cmd.ErrOrStderr(), "%-70s %5d messages %7d tokens %d points %s %v\n", s.Name, s.Messages, s.Tokens, len(s.Points), s.Skipped, s.SkippedRecorded)
		}
		for _, recorded := range []bool{false, true} {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 2, 8, 2, ' ', tabwriter.AlignRight)
			fmt.Fprintf(w, "policy\tcCR\tCR\tCRu\tIR\tIR-c\ttrail\tmod\tfresh\tforeign\tplain\tprec\tchain\tdecay\ttokens\tpoints\tsessions\t\n")
			for _, row := range r.Rows(recorded) {
				fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.4f\t%.2f\t%.2f\t%s\t%s\t%.0f\t%d\t%d\t\n", row.Policy, row.Contextual.Value, row.Recall.Value, row.RecallByUse.Value, row.Instructions.Value, row.Constraints.Value, row.TrailF1.Value, row.Modified.Value, row.Fresh.Value, row.Foreign.Value, row.Plain.Value, row.Precision.Value, chainText(row), decayText(row), row.Tokens, row.Points, row.Sessions)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 2, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "policy\tpooled\tmedian\tuntaxed\trewrites\tpeak\tmean\tinvalidated\trecall\tsessions\t\n")
		for _, row := range r.Costs.Rows {
			fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%d\t%d\t%.0f\t%.0f\t%.2f\t%d\t\n", row.Policy, row.Pooled, row.Median, row.Untaxed, row.Rewrites, row.Peak, row.Mean, row.Invalidated, row.Recall, row.Sessions)
		}
		return w.Flush()
	}
	return cmd
}

func chainText(r replay.Row) string {
	return fmt.Sprintf("%.2f/%.2f/%.2f", r.Chain[0].Value, r.Chain[1].Value, r.Chain[2].Value)
}

func decayText(r replay.Row) string {
	if d, ok := r.Decay(); ok {
		return fmt.Sprintf("%.0f%%", 100*d)
	}
	return "-"
}
