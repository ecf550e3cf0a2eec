package builtin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/procgroup"
	"github.com/clew-dev/clew/model"
)

const (
	bashMaxTimeout = 3600 // seconds
	// grace is how long a command may take to end once it is told to, and how long
	// what it left in the background may keep its output open.
	grace = 400 * time.Millisecond
)

// errTimeout is the cause of a context that ran out here.
var errTimeout = errors.New("timeout")

// shell is the program that runs commands.
type shell struct {
	path string
	args []string
}

func findShell(name string) (shell, error) {
	names := []string{"bash", "sh"}
	if runtime.GOOS == "windows" {
		names = []string{"bash", "pwsh", "powershell"}
	}
	if name != "" {
		names = []string{name}
	}
	for _, n := range names {
		path, err := exec.LookPath(n)
		if err != nil {
			continue
		}
		if base := strings.ToLower(n); strings.Contains(base, "pwsh") || strings.Contains(base, "powershell") {
			return shell{path, []string{"-NoProfile", "-NonInteractive", "-Command"}}, nil
		}
		return shell{path, []string{"-c"}}, nil
	}
	return shell{}, &Error{Op: "tools", Subject: strings.Join(names, ", "), Err: errors.New("there is no such shell in PATH"), Hint: "install one, or set Shell to the path of one"}
}

// PowerShell reports whether PowerShell runs the commands.
func (s *Set) PowerShell() bool { return s.shell.args[0] != "-c" }

func (s *Set) bashTool() tool.Tool {
	return &call[bashCall]{
		spec: model.Tool{
			Name: "bash",
			Description: "Run a command in a shell, in the project's folder. Each call is a new shell. The output is followed by the exit code. " +
				"There is no terminal and no input. What is still running in the background at the end is stopped; " +
				"to keep a server running begin with set -m: set -m; server >server.log 2>&1 &",
			Parameters: parameters[bashCall](),
		},
		example: `{"command": "go test ./...", "timeout": 120}`,
		parse: func(a *arguments) bashCall {
			c := read[bashCall](a)
			switch {
			case strings.TrimSpace(c.Command) == "":
				a.bad("command", "the argument is empty")
			case strings.Contains(c.Command, "\x00"):
				a.bad("command", "the argument has a NUL character in it")
			}
			return c
		},
		effect: func(c bashCall) (tool.Effect, error) {
			return tool.Effect{Kind: tool.Run, Command: c.Command, Line: "bash: " + c.Command}, nil
		},
		run: func(ctx context.Context, args bashCall, c tool.Call) (tool.Result, error) {
			return s.recorded(ctx, c, args.Command, time.Duration(args.Timeout*float64(time.Second)))
		},
	}
}

type bashCall struct {
	Command string  `arg:"command!" about:"The command line, or a script of several lines."`
	Timeout float64 `arg:"timeout" least:"0" most:"3600" unset:"120" about:"Seconds after which the command is stopped (default 120)."`
}

// quiet are the variables that keep commands from waiting for a person and from
// painting. CI is not among them: it changes what some builds take for an error.
var quiet = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "DEBIAN_FRONTEND=noninteractive",
}

// recorded runs a command and keeps what it changes, as far as git sees it.
func (s *Set) recorded(ctx context.Context, c tool.Call, command string, timeout time.Duration) (tool.Result, error) {
	if c.Record == nil {
		return s.bash(ctx, command, timeout, c.Output)
	}
	before := s.git.Look(ctx)
	r, err := s.bash(ctx, command, timeout, c.Output)
	ctx = context.WithoutCancel(ctx) // what was changed was changed
	changes, gitErr := s.git.Changes(ctx, before)
	if len(changes) > 0 {
		gitErr = c.Record(ctx, changes...)
	}
	if gitErr != nil && c.Output != nil {
		c.Output("\nWhat this command changed can't be taken back: " + gitErr.Error() + "\n")
	}
	return r, err
}

func (s *Set) bash(ctx context.Context, command string, timeout time.Duration, output func(string)) (tool.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.shell.path, append(s.shell.args[:len(s.shell.args):len(s.shell.args)], command)...)
	cmd.Dir, cmd.WaitDelay = s.dir, grace
	cmd.Env = append(append(s.environ[:len(s.environ):len(s.environ)], quiet...), "PWD="+s.dir)
	out := &commandOutput{tell: output}
	cmd.Stdout, cmd.Stderr = out, out // one pipe: in the order of the writes
	procgroup.Own(cmd)
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		hint := "tell the user: the shell is " + s.shell.path
		if len(command) > 100<<10 {
			hint = "the command may be too long for the system: use write for files"
		}
		return tool.Result{}, &Error{Op: "bash", Err: fmt.Errorf("the command can't be started: %w", err), Hint: hint}
	}
	err := cmd.Wait()
	left := procgroup.Kill(cmd) && ctx.Err() == nil
	out.end()

	text, cut := out.text()
	code := cmd.ProcessState.ExitCode()
	details := tool.Details{Truncated: cut}
	r := tool.Result{IsError: true}
	var end string
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout) && !cmd.ProcessState.Success():
		end = fmt.Sprintf("The command was stopped: it did not end in %v. Give a longer timeout (at most %d seconds), or less to do.", timeout, bashMaxTimeout)
	case cause != nil && !cmd.ProcessState.Success():
		end = "The command was cancelled by the user before it ended."
	default:
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) && !errors.Is(err, exec.ErrWaitDelay) && cause == nil {
			return tool.Result{}, &Error{Op: "bash", Err: fmt.Errorf("the outcome of the command is not known: %w", err), Hint: "look at what it has done before running it again"}
		}
		by := ""
		if n, name := procgroup.Signal(cmd.ProcessState); n != 0 {
			code, by = 128+n, " (killed: "+name+")"
		}
		end = fmt.Sprintf("Command exited with code %d%s", code, by)
		details.ExitCode = &code
		r.IsError = code != 0
		if left {
			end = "What the command left running in the background was stopped.\n" + end
		}
	}
	if text == "" {
		text = "(no output)"
	}
	r.Content = tool.Text(text + "\n\n" + end).Content
	r.Details = details.JSON()
	return r, nil
}
