// Command mutate shows that the tests bite. Each file of testdata/mutations
// describes one deliberate defect and the test that must fail because of it;
// mutate makes the defect, runs the test and reports whether it was noticed:
//
//	go run ./internal/mutate
//	go run ./internal/mutate -run '^jsonl-' -v
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
//	# I4 append-only: a second append must not start over at the beginning.
//	file: session/jsonl/append.go
//	test: ./session/jsonl -run TestAppend
//	-- old --
//	os.O_APPEND
//	-- new --
//	os.O_TRUNC
//
// The first comment says what is attacked. The test line takes package patterns
// and an optional -run. White space counts in the sections, the newline before
// the next marker does not, and an old text must be there exactly once. Further
// pairs of sections are further replacements; "-- old dir/other.go --" makes one
// in another file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
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
	jobs := fs.Int("j", runtime.GOMAXPROCS(0), "how many to try at once")
	verbose := fs.Bool("v", false, "print what the tests printed")
	timeout := fs.Duration("timeout", time.Minute, "time for the tests of one mutation, compiling not counted; a mutant that hangs is killed by it")
	limit := fs.Duration("for", 0, "start no mutation after this much time and report the rest as not run; 0 tries all")
	seed := fs.String("seed", "", "try them in an order drawn from this `text`, so that runs cut short by -for differ; empty means by name")
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
	case *limit < 0:
		return usage(fmt.Errorf("-for is %v; it must not be negative", *limit))
	case fs.NArg() > 0:
		return usage(fmt.Errorf("unexpected argument %q; choose mutations with -run", fs.Arg(0)))
	}

	root, err := moduleRoot(ctx, dir)
	if err != nil {
		return usage(err)
	}
	mutations := filepath.Join(root, "testdata", "mutations")
	all, err := readMutations(mutations, re.MatchString)
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return 1
	}
	if len(all) == 0 {
		return usage(fmt.Errorf("no mutation in %s matches %q", mutations, *pattern))
	}
	if *seed != "" {
		shuffle(all, *seed)
	}

	r := &runner{root: root, timeout: *timeout, now: time.Now, sound: map[string]func() error{}}
	if *limit > 0 {
		r.deadline = r.now().Add(*limit)
	}
	if err := r.runAndReport(ctx, all, *jobs, *verbose, stdout); err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
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

func shuffle(all []*mutation, seed string) {
	h := fnv.New64a()
	_, _ = io.WriteString(h, seed) // a hash does not fail
	rnd := rand.New(rand.NewPCG(h.Sum64(), 0))
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}
