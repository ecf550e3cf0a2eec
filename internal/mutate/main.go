// Command mutate shows that the tests bite. Each file of testdata/mutations
// describes one deliberate defect and the test that must fail because of it;
// mutate makes the defect, runs the test and reports whether it was noticed:
//
//	go run ./internal/mutate
//	go run ./internal/mutate -run '^jsonl-' -v
//	go run ./internal/mutate -ci       only those that CI runs
//	go run ./internal/mutate -check    list those that no longer fit the code; runs nothing
//	go run ./internal/mutate -rows     try the rows of testdata/seeds.md: a statement, its test, its mutation
//
// The tree is never changed: the defect reaches the compiler through the go
// command's -overlay. A mutation is killed when its test fails, has survived
// when it passes, and is an error when nothing was learnt: its old text is not
// in the file exactly once, the mutant does not compile, or the test does not
// pass without it. The exit status is 0 when nothing survived and nothing was
// an error, 1 otherwise, and 2 for wrong usage.
//
// A mutation file looks like this:
//
//	# Appending must not start over at the beginning of the file.
//	ci: I4
//	file: session/jsonl/append.go
//	test: ./session/jsonl -run TestAppend
//	-- old --
//	os.O_APPEND
//	-- new --
//	os.O_TRUNC
//
// The first comment says what is attacked. The test line takes package patterns
// and an optional -run. A ci line makes the mutation one of those that CI runs; it
// names the invariant that is attacked, or "gate" for a release gate. White
// space counts in the sections, the newline before the next marker does not, and
// an old text must be there exactly once. Further pairs of sections are further
// replacements; "-- old dir/other.go --" makes one in another file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, ".", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main for the module that holds dir.
func run(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("mutate", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run ./internal/mutate [flags]")
		fs.PrintDefaults()
	}
	pattern := fs.String("run", "", "try only the mutations whose name matches this `regexp`")
	ci := fs.Bool("ci", false, "try only the mutations that have a ci line")
	check := fs.Bool("check", false, "list the mutations whose texts or tests are not in the code; compile and run nothing")
	green := fs.Bool("green", false, "take it that every test passes without a mutation, as right after go test ./...")
	jobs := fs.Int("j", runtime.GOMAXPROCS(0), "how many to try at once")
	verbose := fs.Bool("v", false, "print what the tests printed")
	timeout := fs.Duration("timeout", time.Minute, "time for the tests of one mutation, compiling not counted; a mutant that hangs is killed by it")
	rows := fs.Bool("rows", false, "try the rows of testdata/seeds.md: each row's test must fail under the row's mutation; -run matches ids of rows")
	since := fs.String("since", "", "with -rows, try only rows whose code, test or mutation has changed since this git `revision`")
	most := fs.Int("most", 0, "with -rows, try at most so many mutations, spread over those that are asked for; 0: all")
	documents := fs.String("documents", "", "with -rows, check that each sentence of the documents in this `folder` is a row or prose")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	usage := func(err error) int {
		fmt.Fprintln(stderr, "mutate:", err)
		return 2
	}
	re, err := regexp.Compile(*pattern)
	switch {
	case err != nil:
		return usage(fmt.Errorf("-run: %w", err))
	case *jobs < 1:
		return usage(fmt.Errorf("-j is %d; it must be at least 1", *jobs))
	case *timeout <= 0:
		return usage(fmt.Errorf("-timeout is %v; it must be more than 0", *timeout))
	case !*rows && *since+*documents != "":
		return usage(errors.New("-since and -documents are for -rows"))
	case fs.NArg() > 0:
		return usage(fmt.Errorf("unexpected argument %q; choose mutations with -run", fs.Arg(0)))
	}

	root, err := moduleRoot(ctx, dir)
	if err != nil {
		return usage(err)
	}
	folder := filepath.Join(root, "testdata", "mutations")
	all, err := readMutations(folder, func(m *mutation) bool {
		return *rows || re.MatchString(m.name) && (m.ci != "" || !*ci)
	})
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return 1
	}
	if len(all) == 0 {
		return usage(fmt.Errorf("no mutation in %s matches %q", folder, *pattern))
	}
	if *check && !*rows {
		return reportStale(root, all, stdout)
	}
	r := &runner{root: root, timeout: *timeout, green: *green, sound: map[string]func() error{}}
	if *rows {
		err = r.runRows(ctx, all, rowOptions{*check, re, *since, *documents, *most, *jobs, *verbose}, stdout)
	} else {
		err = r.runAndReport(ctx, all, *jobs, *verbose, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return 1
	}
	return 0
}

// reportStale prints one line for each mutation that no longer fits the code.
func reportStale(root string, all []*mutation, w io.Writer) int {
	stale := 0
	for _, m := range all {
		for _, err := range m.stale(root) {
			fmt.Fprintf(w, "stale    %-40s %v\n", m.name, err)
			stale++
		}
	}
	fmt.Fprintf(w, "mutate: %d mutations, %d complaints\n", len(all), stale)
	if stale > 0 {
		return 1
	}
	return 0
}

// moduleRoot returns the absolute path of the main module that holds dir.
func moduleRoot(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMOD")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("%s is not inside a Go module", dir)
	}
	return filepath.Dir(mod), nil
}
