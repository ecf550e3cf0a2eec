package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// A verdict says what a test made of a mutation.
type verdict int

const (
	killed   verdict = iota // the test failed, as it should
	survived                // the test passed: it does not test what it is named for
	broken                  // nothing was learnt: stale, does not compile, or the test fails anyway
	notRun                  // the run was interrupted
)

func (v verdict) String() string {
	switch v {
	case killed:
		return "killed"
	case survived:
		return "SURVIVED"
	case broken:
		return "ERROR"
	case notRun:
		return "not run"
	}
	return fmt.Sprintf("verdict(%d)", int(v))
}

// outcome is a verdict with its reason in a few words and, where there is more
// to say, what go test printed.
type outcome struct {
	verdict verdict
	why     string
	output  string
	took    time.Duration
}

// runner tries mutations of the module at root.
type runner struct {
	root    string
	timeout time.Duration // of the tests of one mutation
	green   bool          // every test is known to pass without a mutation

	mu    sync.Mutex
	sound map[string]func() error // by test line: does it pass without a mutation
}

// runAll tries all mutations, jobs at a time, and hands each outcome to report
// in the order of all.
func (r *runner) runAll(ctx context.Context, all []*mutation, jobs int, report func(*mutation, outcome)) {
	done := make([]chan outcome, len(all))
	for i := range done {
		done[i] = make(chan outcome, 1)
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range all {
			next <- i
		}
	}()
	for range jobs {
		go func() {
			for i := range next {
				start := time.Now()
				o := r.try(ctx, all[i])
				o.took = time.Since(start)
				done[i] <- o
			}
		}()
	}
	for i, m := range all {
		report(m, <-done[i])
	}
}

// try runs one mutation against its test.
func (r *runner) try(ctx context.Context, m *mutation) outcome {
	if ctx.Err() != nil {
		return outcome{verdict: notRun, why: m.about}
	}
	dir, err := os.MkdirTemp("", "clew-mutate-")
	if err != nil {
		return outcome{verdict: broken, why: err.Error()}
	}
	defer os.RemoveAll(dir)

	// Stale texts are found before anything is compiled.
	overlay, err := m.writeOverlay(r.root, dir)
	if err != nil {
		return outcome{verdict: broken, why: err.Error()}
	}
	if !r.green {
		if err := r.checkTest(ctx, m); err != nil {
			return failure(err)
		}
	}
	res, err := runTests(ctx, r.root, overlay, m, r.timeout)
	switch {
	case err != nil:
		return failure(err)
	case res.unbuilt != "":
		return outcome{verdict: broken, why: "the mutant does not compile: " + res.unbuilt, output: res.output}
	case len(res.failed) == 0:
		return outcome{verdict: survived, why: "passed: go test " + m.testLine(), output: res.output}
	case res.timedOut:
		return outcome{verdict: killed, why: res.failed[0] + " (timed out)", output: res.output}
	default:
		return outcome{verdict: killed, why: res.failed[0], output: res.output}
	}
}

// checkTest reports an error unless the mutation's test runs and passes on the
// code as it is: a test that fails anyway would seem to kill every mutant.
func (r *runner) checkTest(ctx context.Context, m *mutation) error {
	r.mu.Lock()
	check, ok := r.sound[m.testLine()]
	if !ok {
		check = sync.OnceValue(func() error {
			res, err := runTests(ctx, r.root, "", m, r.timeout)
			switch {
			case err != nil:
				return err
			case res.unbuilt != "":
				return fmt.Errorf("does not compile even without the mutation: %s\n%s", res.unbuilt, res.output)
			case len(res.failed) > 0:
				return fmt.Errorf("the test fails even without the mutation: %s\n%s", res.failed[0], res.output)
			case res.passed == 0 && res.skipped > 0:
				return fmt.Errorf("every test is skipped here: go test %s", m.testLine())
			case res.passed == 0:
				return fmt.Errorf("no test matches: go test %s", m.testLine())
			}
			return nil
		})
		r.sound[m.testLine()] = check
	}
	r.mu.Unlock()
	return check()
}

// failure is the outcome of an error whose first line is the reason.
func failure(err error) outcome {
	why, output, _ := strings.Cut(err.Error(), "\n")
	return outcome{verdict: broken, why: why, output: output}
}

// errNotAllKilled says that the run found something to mend.
var errNotAllKilled = errors.New("not every mutation was killed")

// runAndReport tries all mutations and writes one line for each to w, and a
// count at the end. Output of the tests follows a line where it is needed to
// understand an error, or always when verbose.
func (r *runner) runAndReport(ctx context.Context, all []*mutation, jobs int, verbose bool, w io.Writer) error {
	start := time.Now()
	var counts [notRun + 1]int
	r.runAll(ctx, all, jobs, func(m *mutation, o outcome) {
		counts[o.verdict]++
		fmt.Fprintf(w, "%-8s %-40s %6.1fs  %s\n", o.verdict, m.name, o.took.Seconds(), o.why)
		if o.verdict == survived {
			fmt.Fprintf(w, "         %s\n", m.about)
		}
		if verbose || o.verdict == broken {
			for line := range strings.Lines(o.output) {
				fmt.Fprintf(w, "         | %s\n", strings.TrimRight(line, "\n"))
			}
		}
	})
	fmt.Fprintf(w, "mutate: %d killed, %d survived, %d errors, %d not run; %d mutations in %.0fs\n",
		counts[killed], counts[survived], counts[broken], counts[notRun], len(all), time.Since(start).Seconds())
	if err := ctx.Err(); err != nil {
		return err
	}
	if counts[survived]+counts[broken] > 0 {
		return errNotAllKilled
	}
	return nil
}
