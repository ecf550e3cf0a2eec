// Command clew shows, checks, mends and compacts the sessions of agents.
//
// Run clew without arguments for the list of commands. clew help json describes
// what --json prints.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clew-dev/clew/session"
)

// Main runs one command line, without the program's name, and returns the exit
// code: 0 done, 1 failed, 2 wrong use.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRoot(args...)
	root.SetArgs(recallWords(root, args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, errDeclined) {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if !errors.Is(err, errSilent) {
		complain(root, err)
	}
	if own, ok := errors.AsType[*exitError](err); ok {
		return own.code
	}
	return exitFailed
}

// The groups in which help lists the commands.
const (
	groupLook   = "look"
	groupChange = "change"
	groupOther  = "other"
)

// runFunc is what a command does. Its result is shown, beside an error too.
type runFunc func(args []string) (result, error)

// commandRow is a command: make adds its flags to what help says of it.
type commandRow struct {
	name, group string
	json        bool // it has --json
	make        func(cmd *cobra.Command) runFunc
}

// commands are all commands but help.
var commands = []commandRow{
	{"context", groupLook, true, newContext},
	{"explain", groupLook, true, newExplain},
	{"ls", groupLook, true, newLs},
	{"recall", groupLook, true, newRecall},
	{"replay", groupLook, true, newReplay},
	{"summarize", groupLook, true, newSummarize},
	{"tree", groupLook, true, newTree},
	{"verify", groupLook, true, newVerify},
	{"branch", groupChange, true, newBranch},
	{"clone", groupChange, true, newFork},
	{"compact", groupChange, true, newCompact},
	{"export", groupChange, true, newExport},
	{"fork", groupChange, true, newFork},
	{"import", groupChange, true, newImport},
	{"label", groupChange, true, newLabel},
	{"name", groupChange, true, newName},
	{"pin", groupChange, true, newPin},
	{"purge", groupChange, true, newPurge},
	{"undo", groupChange, true, newUndo},
	{"unpin", groupChange, true, newPin},
	{"repair", groupChange, true, newRepair},
	{"resume", groupChange, true, newResume},
	{"rm", groupChange, true, newRm},
	{"chat", groupOther, false, newChat},
	{"completion", groupOther, false, newCompletion},
	{"db", groupOther, true, newDB},
	{"gateway", groupOther, false, newGateway},
	{"hook", groupOther, false, newHook},
	{"mcp", groupOther, false, newMCP},
	{"models", groupOther, true, newModels},
	{"settings", groupOther, true, newSettings},
	{"setup", groupOther, true, newSetup},
	{"top", groupOther, true, newTop},
	{"version", groupOther, true, newVersion},
	{"wrap", groupOther, false, newWrap},
}

// newRoot makes the program. Where the arguments begin with the name of a command it has
// that command alone: to make them all takes longer than many of them run.
func newRoot(args ...string) *cobra.Command {
	root := newCommand("clew")
	root.SilenceErrors, root.SilenceUsage, root.Args = true, true, noCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.Flags().BoolP("version", "v", false, "print the version and exit")
	root.Version = readVersion().String()
	root.SetVersionTemplate("clew {{.Version}}\n")
	color := "auto"
	root.PersistentFlags().Var(choice{&color, []string{color, "always", "never"}}, "color", "use colours: auto, always or never")
	root.SetFlagErrorFunc(flagError)
	usage, err := helpTexts.ReadFile("help/usage.tmpl") // what help shows below a description
	if err != nil {
		panic(err) // it is part of the program
	}
	root.SetUsageTemplate(string(usage))
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look at sessions:"},
		&cobra.Group{ID: groupChange, Title: "Change sessions:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(groupOther)
	alone := slices.ContainsFunc(commands, func(c commandRow) bool { return len(args) > 0 && c.name == args[0] })
	for _, c := range commands {
		if alone && c.name != args[0] {
			continue
		}
		root.AddCommand(c.command())
	}
	return root
}

func (c *commandRow) command() *cobra.Command {
	cmd := newCommand(c.name)
	cmd.GroupID = c.group
	run := c.make(cmd)
	if c.json {
		cmd.Flags().Bool("json", false, "print JSON; clew help json describes it")
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		r, err := run(args)
		if r != nil {
			err = cmp.Or(err, show(cmd, r))
		}
		return err
	}
	return cmd
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
	return usagef("unknown command %q; %s", args[0], hint)
}

func newHelp() *cobra.Command {
	cmd := newCommand("help")
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && slices.Contains(topics, args[0]) {
			text, err := topic(args[0], args[1:])
			if err == nil {
				_, err = io.WriteString(cmd.OutOrStdout(), text)
			}
			return err
		}
		found, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return noCommand(cmd.Root(), rest)
		}
		found.InitDefaultHelpFlag()
		return found.Help()
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			names = append(names, topics...)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// versionInfo is what version --json prints.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Format   int    `json:"format"`
}

func newVersion(*cobra.Command) runFunc {
	return func([]string) (result, error) { return readVersion(), nil }
}

func (v versionInfo) text(rep *report) { fmt.Fprintf(rep.w, "clew %s\n", v) }

func (v versionInfo) String() string {
	line := v.Version
	if v.Revision != "" {
		line += " (" + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			line += ", with changes"
		}
		line += ")"
	}
	return fmt.Sprintf("%s, session format %d, %s, %s", line, v.Format, v.Go, v.Platform)
}

// version is set by the linker (-X main.version=1.2.3) where the source is an
// archive, of which the go command knows no version.
var version string

// readVersion tells the version from what the go command put into the binary.
func readVersion() versionInfo {
	v := versionInfo{
		Version: "unknown", Format: session.Version,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	v.Version = cmp.Or(version, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// shells are those for which there are completion scripts.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	"zsh":        (*cobra.Command).GenZshCompletion,
}

func newCompletion(cmd *cobra.Command) runFunc {
	cmd.ValidArgs = slices.Sorted(maps.Keys(shells))
	return func(args []string) (result, error) {
		write := shells[args[0]]
		if write == nil {
			return nil, usagef("completion: no shell %q; there are %s", args[0], strings.Join(cmd.ValidArgs, ", "))
		}
		return nil, write(cmd.Root(), cmd.OutOrStdout())
	}
}

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // a signal ended it
)

// exitError ends a command with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// wrongUse makes an error one in how clew was called.
func wrongUse(err error) error { return &exitError{exitUsage, err} }

// usagef builds such an error.
func usagef(format string, args ...any) error { return wrongUse(fmt.Errorf(format, args...)) }

// errSilent ends a command with exit code 1 that has said everything already.
var errSilent = errors.New("failed")

// flagError makes cobra's flag errors usage errors that say where to look.
func flagError(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if _, ok := bad.GetFlag().Value.(choice); ok {
			return usagef("%s--%s %s: %w", strings.TrimPrefix(cmd.Name()+": ", "clew: "), bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
		}
	}
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// advise puts the command that helps into an error of the library, which knows none.
func advise(err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok {
		return err
	}
	if errors.Is(err, session.ErrNotSession) {
		if instead := readOnlyError(e.Subject); instead != nil {
			return instead
		}
	}
	switch {
	case errors.Is(err, session.ErrNotFound) && e.File != "":
		e.Hint = "clew tree " + e.File + " lists the entries"
	case e.Op == "open" && e.Hint == "check the path":
		e.Hint += "; clew ls lists the sessions in the data folder"
	case e.Hint == "name a session file in it":
		e.Hint += "; clew ls FOLDER lists them"
	default:
		e.Hint = withCommand(e.Hint)
	}
	return err
}

// withCommand names the commands that do what a remedy of the library says.
func withCommand(remedy string) string {
	return strings.NewReplacer(
		"make a repaired copy", "clew repair FILE --out FILE makes a sound copy",
		"undo it,", "clew undo takes it back,",
		"import a repaired copy", "clew repair FILE --out FILE makes a sound copy to import",
		"call postgres.Migrate on it", "clew db migrate makes them",
		"see that the server runs, and that host, port, database and user are right", "see that PostgreSQL runs there; --db, the setting database and PGHOST say where",
	).Replace(remedy)
}

//go:embed help
var helpTexts embed.FS

// examplesHeading begins the examples in a help text.
const examplesHeading = "\nExamples:\n"

// newCommand makes a command of help/NAME.txt: the first line says how it is called, the
// second what it does, then come a description and examples. The first line also says how
// many arguments it takes.
func newCommand(name string) *cobra.Command {
	data, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	about, examples, _ := strings.Cut(string(data), examplesHeading)
	use, about, _ := strings.Cut(about, "\n")
	short, long, _ := strings.Cut(about, "\n")
	cmd := &cobra.Command{
		Use: use, Short: short, Long: strings.TrimSpace(long), Example: strings.TrimRight(examples, "\n"),
		Args: argCount,
	}
	if strings.Contains(use, "TARGET") {
		cmd.ValidArgsFunction = completeTarget
	}
	return cmd
}

// argCount checks that a command gets as many arguments as its usage line names: those in
// brackets may be left out, and one with dots may be repeated.
func argCount(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	for i, word := range words {
		if i >= len(args) && !strings.HasPrefix(word, "[") {
			return usagef("%s: missing %s; usage: %s", cmd.Name(), strings.Trim(word, "."), cmd.UseLine())
		}
	}
	if len(args) > len(words) && !strings.Contains(cmd.Use, "...") {
		return usagef("%s: unexpected argument %q; usage: %s", cmd.Name(), args[len(words)], cmd.UseLine())
	}
	return nil
}

// topics are the references that clew help prints, help/NAME.md.
var topics = []string{"hooks", "json", "rpc"}

// topic returns a reference: all of it, or its introduction and the sections on what about
// names, with the sections that those link to.
func topic(name string, about []string) (string, error) {
	data, err := helpTexts.ReadFile("help/" + name + ".md")
	if err != nil {
		return "", err
	}
	var sections, headings []string // the first section is the introduction
	for line := range strings.Lines(string(data)) {
		if heading := strings.TrimLeft(line, "#"); len(sections) == 0 || len(heading) <= len(line)-2 {
			sections = append(sections, "")
			headings = append(headings, strings.Trim(heading, " `\n"))
		}
		sections[len(sections)-1] += line
	}
	link := regexp.MustCompile(`\[([^]\n]+)\]\(#([^)\n]+)\)`)
	plain := func(text string) string { return link.ReplaceAllString(text, "$1") }
	if len(about) == 0 {
		return plain(string(data)), nil
	}
	want := map[int]bool{0: true}
	var add func(i int)
	add = func(i int) {
		want[i] = true
		for _, m := range link.FindAllStringSubmatch(sections[i], -1) {
			at := slices.IndexFunc(headings, func(h string) bool {
				return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(h), "'", ""), " ", "-") == m[2]
			})
			if at >= 0 && !want[at] {
				add(at)
			}
		}
	}
	for i, h := range headings[1:] {
		first, _, _ := strings.Cut(h, " ")
		if all := strings.Join(about, " "); first == all || slices.Contains(strings.Split(h, ", "), all) {
			add(i + 1)
		}
	}
	if len(want) == 1 {
		return "", usagef("clew help %s says nothing about %s; it has: %s", name, strings.Join(about, " "), strings.Join(headings[1:], "; "))
	}
	var b strings.Builder
	for i, s := range sections {
		if want[i] {
			b.WriteString(s)
		}
	}
	return strings.TrimRight(plain(b.String()), "\n") + "\n", nil
}
