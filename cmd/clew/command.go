package main

import (
	"embed"
	"regexp"
	"slices"
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
