package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// memoryLimit bounds the data of one test process in KiB. A mutation that takes
// the end off a loop often appends for ever, and would otherwise take the
// machine down before the time limit is reached.
const memoryLimit = 4 << 20

// buildAllowance is added to the tests' own time limit for compiling and linking.
const buildAllowance = 5 * time.Minute

// testResult is what one run of go test said.
type testResult struct {
	passed   int      // tests that passed
	skipped  int      // tests that were skipped
	failed   []string // tests that failed, in order; a package path where no test is to blame
	timedOut bool
	unbuilt  string // import path of what did not compile, empty if all did
	output   string // what tests and compiler printed
}

// runTests runs the tests of m in root, through the overlay file unless that is
// empty. An error means that go test itself could not do its work.
func runTests(ctx context.Context, root, overlay string, m *mutation, timeout time.Duration) (*testResult, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+buildAllowance)
	defer cancel()

	// Vet is off because its complaint about a mutant would look like a kill.
	args := []string{"test", "-json", "-vet=off", "-failfast", "-timeout=" + timeout.String()}
	if runtime.GOOS == "linux" {
		args = append(args, fmt.Sprintf(`-exec=sh -c 'ulimit -d %d; exec "$0" "$@"'`, memoryLimit))
	}
	if overlay != "" {
		args = append(args, "-count=1")
	}
	if m.run != "" {
		args = append(args, "-run", m.run)
	}
	args = append(args, m.pkgs...)

	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PWD="+root)
	if overlay != "" {
		// In the environment and not in args, so that a test that itself runs
		// the go command on this module sees the mutant too.
		cmd.Env = append(cmd.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" '-overlay="+overlay+"'"))
	}
	cmd.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(os.Interrupt)
	}
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("go test stopped: %w", err)
	}

	res, err := readEvents(&stdout)
	if err != nil {
		return nil, err
	}
	res.output += stderr.String()
	if runErr != nil && len(res.failed) == 0 && res.unbuilt == "" {
		return nil, fmt.Errorf("go test: %w\n%s", runErr, strings.TrimSpace(res.output))
	}
	return res, nil
}

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

func readEvents(r *bytes.Buffer) (*testResult, error) {
	res := &testResult{}
	var out strings.Builder
	blamed := map[string]bool{} // packages in which a test has failed
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var e event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			// The go command prints what concerns no package as plain text.
			out.Write(sc.Bytes())
			out.WriteByte('\n')
			continue
		}
		switch e.Action {
		case "output", "build-output":
			out.WriteString(e.Output)
			if strings.HasPrefix(e.Output, "panic: test timed out after ") {
				res.timedOut = true
			}
		case "build-fail":
			res.unbuilt = e.ImportPath
		case "pass":
			if e.Test != "" {
				res.passed++
			}
		case "skip":
			if e.Test != "" {
				res.skipped++
			}
		case "fail":
			switch {
			case e.FailedBuild != "":
				res.unbuilt = e.FailedBuild
			case e.Test != "":
				blamed[e.Package] = true
				// A subtest is reported before its parents; it says enough.
				if !slices.ContainsFunc(res.failed, func(f string) bool { return strings.HasPrefix(f, e.Test+"/") }) {
					res.failed = append(res.failed, e.Test)
				}
			case !blamed[e.Package]:
				res.failed = append(res.failed, e.Package)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("reading go test's output: %w", err)
	}
	res.output = out.String()
	return res, nil
}
