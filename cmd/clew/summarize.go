package main

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

func newSummarize(cmd *cobra.Command) runFunc {
	var template, instructions, strategy string
	budget := cmd.Flags().String("budget", "", "size limit of the summary in tokens (default: what compact allows for the model's window)")
	cmd.Flags().String("until", "", "summarize up to this entry (an id or the beginning of one)")
	addSummaryFlags(cmd, &template, &instructions, "briefing")
	addStrategyFlag(cmd, &strategy, "auto, a guess")
	stage := "text"
	choiceFlag(cmd, &stage, "stage", "what to print: facts, graph or text", []string{"facts", "graph", "text"})
	return func(args []string) (result, error) {
		t, err := findTemplate(template)
		if err != nil {
			return nil, err
		}
		in := summary.Input{Template: t, Instructions: instructions, ClipLast: true}
		if in.Profile, err = summary.FindProfile(cmp.Or(strategy, summary.AutoProfile)); err != nil {
			return nil, usagef("--strategy: %w", err)
		}
		if in.Budget, err = numberFlag("budget", *budget, budgetNumber); err != nil {
			return nil, err
		}
		return withLeaf(cmd, args[0], "until", func(f kept, leaf string) (result, error) {
			if err := prepareSummary(cmd, f, leaf, &in); err != nil {
				return nil, err
			}
			return makeSummary(cmd, in, stage)
		})
	}
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

// withoutPasses returns a path as if nothing on it had been compacted, without the copies
// of what was kept. A compaction before which there is no message stays: what it stands
// for is not in the log.
func withoutPasses(path []*session.Entry) []*session.Entry {
	var out []*session.Entry
	messages := 0
	on := map[string]bool{}
	for _, e := range path {
		if on[e.ID] = true; on[e.CopyOf()] {
			continue
		}
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

// summaryReport is what summarize --json prints: one of the three.
type summaryReport struct {
	File   string         `json:"file"`
	Facts  *summary.Facts `json:"facts,omitempty"`
	Graph  *summary.Graph `json:"graph,omitempty"`
	Text   string         `json:"text,omitempty"`
	Tokens int64          `json:"tokens,omitempty"` // of the text
}

func makeSummary(cmd *cobra.Command, in summary.Input, stage string) (*summaryReport, error) {
	out := &summaryReport{File: cmd.Flags().Arg(0)}
	if len(in.Items) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "clew: note: there is nothing to summarize")
		return out, nil
	}
	defer working(cmd, "summarizing %s", count(len(in.Items), "message"))()
	made, err := summary.Deterministic{}.Stages(cmd.Context(), in)
	if err != nil {
		return nil, err
	}
	switch stage {
	case "facts":
		out.Facts = &made.Facts
	case "graph":
		out.Graph = &made.Graph
	default:
		out.Text, out.Tokens = strings.TrimRight(made.Text.Text, "\n"), made.Text.Tokens
		if out.Text == "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "clew: note: nothing fits a budget of %s\n", count(int(in.Budget), "token"))
		}
	}
	return out, nil
}

func (r *summaryReport) text(rep *report) {
	switch {
	case r.Facts != nil:
		printFacts(rep, r.Facts)
	case r.Graph != nil:
		printGraph(rep.w, r.Graph)
	case r.Text != "" && rep.screen:
		fmt.Fprintln(rep.w, printableText(r.Text))
	case r.Text != "":
		fmt.Fprintln(rep.w, r.Text)
	}
}

// printFacts writes a line for each fact, cut to the width of a terminal.
func printFacts(rep *report, f *summary.Facts) {
	line := func(kind, state, text, entry string) {
		first, handle := fmt.Sprintf("%-9s %-9s ", kind, printable(state)), handleOf(entry)
		if text = printable(text); rep.screen {
			text = cut(text, max(rep.wide-textWidth(first+handle), 10))
		}
		rep.w.WriteString(first + text + handle + "\n")
	}
	for _, x := range f.Files {
		line("file", string(x.State), x.Path, x.Entry)
	}
	for _, x := range f.Commands {
		line("command", string(x.Status), x.Text, x.Entry)
	}
	for _, x := range f.Commits {
		line("commit", x.Hash, x.Subject, x.Entry)
	}
	for _, x := range f.Errors {
		line("error", string(x.Check), strings.Join(append([]string{x.Subject}, x.Lines...), " | "), x.Entry)
	}
	for _, x := range f.Todos {
		line("todo", string(x.Status), x.Text, x.Entry)
	}
	for _, x := range f.Rules {
		line("rule", "", x.Text, x.Entry)
	}
	for _, x := range f.Decisions {
		line("decision", "", x.Text, x.Entry)
	}
}

func handleOf(entry string) string {
	if entry == "" {
		return ""
	}
	return " [#" + short(entry, 8) + "]"
}

// printedNames is how many names printGraph writes.
const printedNames = 40

// printGraph writes the names that are used most, each with the statements that have it.
func printGraph(w *bufio.Writer, g *summary.Graph) {
	fmt.Fprintf(w, "%s, %s\n", count(len(g.Names), "name"), count(len(g.Statements), "statement"))
	for _, n := range g.Names[:min(len(g.Names), printedNames)] {
		fmt.Fprintf(w, "\n%s  worth %.2f, in %s\n", printable(n.Name), n.Worth, count(len(n.Entries), "entry", "entries"))
		for i, said := 0, 0; i < len(g.Statements) && said < 3; i++ {
			if st := g.Statements[i]; slices.Contains(st.Names, n.Name) {
				said++
				fmt.Fprintf(w, "  %s%s\n", cut(printable(st.Text), 90), handleOf(st.Entry))
			}
		}
	}
}
