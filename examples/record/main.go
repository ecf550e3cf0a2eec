package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

//go:embed script/*.txt
var scripts embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "record:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("record", flag.ContinueOnError)
	file := fs.String("o", filepath.Join("examples", "long-session.jsonl"), "the session file to write, or to read with -check and -print")
	repo := fs.String("repo", ".", "the checkout to work on a copy of; any folder in it will do")
	check := fs.Bool("check", false, "examine the session file and print what it has, instead of recording")
	show := fs.Bool("print", false, "print the session file for reading, instead of recording")
	draft := fs.Bool("draft", false, "write the file even if it lacks what the session must have: for work on the script")
	width := fs.Int("width", 300, "with -print: characters of each block to show; 0 for all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; name the session file with -o", fs.Arg(0))
	}
	switch {
	case *check:
		data, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		rep, err := examine(ctx, data)
		if err != nil {
			return fmt.Errorf("%s: %w", *file, err)
		}
		rep.print(out)
		if err := rep.failed(); err != nil {
			return fmt.Errorf("%s: %w", *file, err)
		}
		return nil
	case *show:
		data, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		return transcript(ctx, out, data, *width)
	}
	return recordTo(ctx, *file, *repo, *draft, out)
}

// recordTo records, examines what it got and only then writes the file.
func recordTo(ctx context.Context, file, repo string, draft bool, out io.Writer) error {
	steps, err := loadScript(scripts)
	if err != nil {
		return err
	}
	box, err := newSandbox(ctx, repo)
	if err != nil {
		return err
	}
	defer os.RemoveAll(box.root)
	data, err := play(ctx, box, steps)
	if err != nil {
		return err
	}
	if err := box.leaks(data); err != nil {
		return err
	}
	rep, err := examine(ctx, data)
	if err != nil {
		return err
	}
	defer rep.print(out)
	if err := rep.failed(); err != nil && !draft {
		return err
	}
	tmp := file + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
