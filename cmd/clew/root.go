package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs one command line, without the program's name, and returns the exit
// code: 0 done, 1 failed, 2 wrong use.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintf(stderr, "clew: %s\n", oneLine(advise(err).Error()))
	}
	if own := (*exitError)(nil); errors.As(err, &own) {
		return own.code
	}
	if errors.As(err, new(*usageError)) {
		return exitUsage
	}
	return exitFailed
}

// The groups in which help lists the commands.
const (
	groupLook   = "look"
	groupChange = "change"
	groupOther  = "other"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "clew COMMAND",
		Short: "Keep long agent conversations inside the model's window",
		Long: `clew works on session files: the logs in which agents keep their
conversations. It shows what the model is sent and what that costs, checks
and mends files, and compacts a session that has become too long, without
losing anything.

A SESSION or FILE is a path, the id of a session in the data folder or the
first digits of one (clew ls lists them), or - for standard input.

Exit codes: 0 done, 1 failed, 2 wrong use.`,
		Example: `  clew context session.jsonl
  clew compact --window 64000 --out compacted.jsonl session.jsonl`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().String("color", "auto", "use colours: auto, always or never")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkColor(cmd) }
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate)
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look at sessions:"},
		&cobra.Group{ID: groupChange, Title: "Change sessions:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(groupOther)
	root.AddCommand(
		newContext(), newExplain(), newLs(), newRecall(), newReplay(), newSummarize(), newTree(), newVerify(),
		newBranch(), newClone(), newCompact(), newExport(), newFork(), newImport(), newLabel(), newName(), newPin(), newPurge(), newUndo(), newUnpin(), newRepair(), newRm(),
		newChat(), newCompletion(), newModels(), newSettings(), newVersion(),
	)
	return root
}

// noCommand is what a first word that is no command comes to.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "clew help lists the commands"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return &usageError{fmt.Errorf("unknown command %q; %s", args[0], hint)}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show how a command is used",
		Example: "  clew help compact",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// usageTemplate is what help shows below a command's description.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$cmds := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 78 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

For every command:
{{.InheritedFlags.FlagUsagesWrapped 78 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

clew COMMAND --help says more about a command.{{end}}
`
