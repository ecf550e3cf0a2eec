package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help
var helpTexts embed.FS

// examplesHeading begins the examples in a help text.
const examplesHeading = "\nExamples:\n"

// newCommand makes a command of help/NAME.txt: the first line says how it is called, the
// second what it does, then come a description and examples. The first line also says how
// many arguments it takes.
func newCommand(name, group string) *cobra.Command {
	data, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	about, examples, _ := strings.Cut(string(data), examplesHeading)
	use, about, _ := strings.Cut(about, "\n")
	short, long, _ := strings.Cut(about, "\n")
	return &cobra.Command{
		Use: use, Short: short, Long: strings.TrimSpace(long), Example: strings.TrimRight(examples, "\n"),
		GroupID: group, Args: argCount,
	}
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
