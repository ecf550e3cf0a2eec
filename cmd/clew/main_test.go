package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"clew": main})
}

// TestScripts runs testdata/script: what each command prints, its exit code,
// and what it leaves on the disk.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("CLEW_DATA_DIR", env.WorkDir+string(os.PathSeparator)+"data")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode,
		},
	})
}

// scriptCode is the script command "code N clew ARGS...": the command must end
// with exit code N.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var ok bool
		if got, ok = exitCode(err); !ok {
			ts.Fatalf("%v", err)
		}
	}
	if args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func exitCode(err error) (int, bool) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), true
	}
	return 0, false
}
