//go:build man

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// With the tag man the program writes its manual pages and completion scripts
// into the folder that is its only argument, for a release to pack:
//
//	go run -tags man ./cmd/clew dist/doc
//
// Help texts are laid out for 80 columns, so the pages keep their lines; a
// generator that takes them for Markdown flows lists together.
func init() {
	if err := writeDocs(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "clew:", err)
		os.Exit(exitFailed)
	}
	os.Exit(exitDone)
}

func writeDocs(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write := func(name string, fill func(io.Writer) error) error {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := fill(f); err != nil {
			return err
		}
		return f.Close()
	}
	root := newRoot()
	for _, c := range append(root.Commands(), root) {
		if c != root && !c.IsAvailableCommand() {
			continue
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		if err := write(name+".1", func(w io.Writer) error { return manPage(w, name, c) }); err != nil {
			return err
		}
	}
	files := map[string]string{"bash": "clew.bash", "fish": "clew.fish", "powershell": "clew.ps1", "zsh": "_clew"}
	for _, shell := range shells {
		err := write(files[shell], func(w io.Writer) error {
			root.SetOut(w)
			root.SetArgs([]string{"completion", shell})
			return root.Execute()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// manPage writes the page of a command in the macros of man(7).
func manPage(w io.Writer, name string, c *cobra.Command) error {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	c.InitDefaultHelpFlag()
	fmt.Fprintf(&b, ".TH %q 1 \"\" clew clew\n", strings.ToUpper(name))
	section("NAME", name+" - "+c.Short)
	section("SYNOPSIS", c.UseLine())
	section("DESCRIPTION", c.Long)
	b.WriteString(".SH OPTIONS\n")
	c.Flags().VisitAll(func(f *pflag.Flag) {
		kind, usage := pflag.UnquoteUsage(f)
		flag := "--" + f.Name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(flag+" "+kind)), roff(usage))
	})
	section("EXAMPLES", strings.TrimRight(c.Example, "\n"))
	if !c.HasParent() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR clew-%s (1)\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	} else {
		b.WriteString(".SH SEE ALSO\n.BR clew (1)\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// roff escapes what the macros would take for their own.
func roff(s string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
