// Package hook runs programs as the hooks of a session.
//
//	h, err := hook.New(hook.Config{Event: hook.ToolResult, Command: "/usr/local/bin/redact"})
//	s, err := clew.Open(ctx, path, clew.Config{Hooks: []clew.Hooks{h}})
//
// The program is started anew for each event. It gets the event as one JSON object on its standard input, and answers
// with one JSON object on its standard output, or with nothing. docs/hooks.md describes both.
//
//   - Exit code 0: the answer counts.
//   - Exit code 2: what the event is about is blocked, where it can be; what the
//     program wrote to its standard error is the reason.
//   - Any other end, no end within the timeout, an answer that is too long or not
//     understood: a failure. It counts as no answer, and the session goes on with a
//     warning; with Config.Required it blocks.
//
// A program runs as the user who runs clew, with all that this user may do: it is to be trusted as clew is. What is
// held in is what it costs and what it can break: time, output, its children, and the session.
package hook

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew"
)

// The events.
const (
	SessionStart         = "session_start"
	SessionShutdown      = "session_shutdown"
	Context              = "context"
	ToolResult           = "tool_result"
	SessionBeforeCompact = "session_before_compact"
	SessionCompact       = "session_compact"
	SessionCompactFailed = "session_compact_failed"
	SessionBeforeTree    = "session_before_tree"
	SessionTree          = "session_tree"
	SessionBeforeFork    = "session_before_fork"
)

// The defaults of a Config.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxOutput = 1 << 20
)

// Config says what program is to be run, when and how. Event and Command are required.
type Config struct {
	Event string `json:"event"` // one of Events
	// Command is the program, no command line: an absolute path, a path below Dir, or a name to look up in PATH.
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// Shell makes Command a line for the shell: sh -c, or cmd /C on Windows. Args are its parameters; on Windows
	// there can be none. What is in an event is never part of the line.
	Shell bool `json:"shell"`
	// Dir is the program's working directory. Default: that of this process. No program
	// is looked for in the session's, which anybody may have written into its file.
	Dir string `json:"-"`
	// Env names variables that the program gets beside those that programs need to run, such as PATH, HOME and LANG.
	// A name may end with *. Default: none, so keys and tokens do not reach it.
	Env []string `json:"env"`
	// Timeout is when the program is killed, with its children (on Windows, alone). Default: 10 s.
	Timeout   time.Duration `json:"timeout"`
	MaxOutput int64         `json:"maxOutput"` // the most that it may answer, in bytes. Default: 1 MiB.
	Required  bool          `json:"required"`  // makes a failure block as exit code 2 does, where something can be blocked
	Name      string        `json:"name"`      // for warnings and the log. Default: the last part of Command.
}

// New returns a hook that runs a program for its event.
func New(c Config) (clew.Hooks, error) {
	if err := c.check(); err != nil {
		return clew.Hooks{}, fmt.Errorf("hook %s for %s: %w", cmp.Or(c.Name, c.Command, "without a command"), cmp.Or(c.Event, "no event"), err)
	}
	c.Args, c.Env = slices.Clone(c.Args), slices.Clone(c.Env)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.MaxOutput = cmp.Or(c.MaxOutput, DefaultMaxOutput)
	if c.Name == "" {
		c.Name = filepath.Base(c.Command)
		if first, _, ok := strings.Cut(c.Command, " "); ok && c.Shell {
			c.Name = filepath.Base(first)
		}
	}
	h := clew.Hooks{Name: c.Name}
	at := slices.Index(Events(), c.Event)
	points[at].set(&program{c}, &h)
	return h, nil
}

func (c *Config) check() error {
	switch {
	case !slices.Contains(Events(), c.Event):
		return fmt.Errorf("there is no event %q; there are %s", c.Event, strings.Join(Events(), ", "))
	case c.Command == "":
		return errors.New("it names no command, so nothing could be run; give the path of a program")
	case strings.ContainsRune(c.Command, 0) || slices.ContainsFunc(c.Args, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return errors.New("its command or an argument has a zero byte in it, which no system takes")
	case c.Timeout < 0:
		return fmt.Errorf("its timeout is %v: it could never answer; give a time above 0", c.Timeout)
	case c.MaxOutput < 0:
		return fmt.Errorf("its output may have %d bytes: it could never answer; give a size above 0", c.MaxOutput)
	case c.Shell && len(c.Args) > 0 && runtime.GOOS == "windows":
		return errors.New("a command line for cmd has no parameters; put them into the line")
	}
	return nil
}

func (c *Config) line() (name string, args []string, err error) {
	if c.Shell {
		if runtime.GOOS == "windows" {
			return "cmd", []string{"/C", c.Command}, nil
		}
		return "/bin/sh", append([]string{"-c", c.Command, c.Name}, c.Args...), nil
	}
	if filepath.IsAbs(c.Command) {
		return c.Command, c.Args, nil
	}
	if strings.ContainsAny(c.Command, `/\`) {
		path, err := filepath.Abs(filepath.Join(c.Dir, c.Command))
		return path, c.Args, err
	}
	path, err := exec.LookPath(c.Command)
	return path, c.Args, err
}

// needed are the variables without which programs do not run, or not as their users expect.
var needed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR",
	"TEMP", "TMP", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "USERNAME", "USERPROFILE",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)",
}

func (c *Config) environment() []string {
	var out []string
	for _, v := range os.Environ() {
		name, _, ok := strings.Cut(v, "=")
		if ok && name != "" && (named(needed, name) || named(c.Env, name)) {
			out = append(out, v)
		}
	}
	return append(out, "CLEW_HOOK_EVENT="+c.Event, "CLEW_HOOK_PROTOCOL=1")
}

func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(n string) bool {
		part := name
		if prefix, ok := strings.CutSuffix(n, "*"); ok {
			n, part = prefix, name[:min(len(prefix), len(name))]
		}
		return part == n || runtime.GOOS == "windows" && strings.EqualFold(part, n)
	})
}
