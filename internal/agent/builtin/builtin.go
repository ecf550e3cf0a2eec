// Package builtin has the tools that clew's agent works with: read, write, edit,
// bash, grep, find, ls and todo; and, where a Config has them, recall, web_fetch, task and
// compact.
//
//	set, err := builtin.New(builtin.Config{Dir: "."})
//	defer set.Close()
//	for _, t := range set.Tools() {
//		effect, err := t.Effect(arguments)         // what would it do? ask the user
//		result, err := t.Run(ctx, tool.Call{Arguments: arguments})
//	}
//
// # Places
//
// The tools for files work in one folder, the project, through an os.Root: neither
// ".." nor a symbolic link leads them out of it. A place outside has to be named by
// its absolute path; its Effect says Outside, and Run refuses what no Effect has
// announced. Only regular files are read and written: devices, pipes and sockets
// are refused everywhere, and with them all of /dev, /proc and /sys.
//
// A path may lead to another place at Run than it did at Effect, because a link was
// changed meanwhile. Such a call is refused.
//
// bash is another matter: a command may do whatever the user may.
//
// # Files
//
// write and edit replace a file as a whole: a new one beside it takes its name, so
// that a reader sees the old file or the new one. The permissions are kept; other
// hard links to the file keep the old content. One file is changed at a time, however
// many calls run.
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/procgroup"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

// Config says where and how the tools work. The zero value is ready for use: all
// tools but recall, in the current folder.
type Config struct {
	// Dir is the project: the folder that the tools work in. Default: the current one.
	Dir string
	// Shell runs the commands of bash. Default: bash in PATH, else sh; on Windows
	// PowerShell where there is no bash.
	Shell string
	// Environ has the variables that commands get, as os.Environ gives them; HOME
	// (on Windows USERPROFILE) is what ~ stands for. Default: those of this process.
	Environ []string
	// Recall answers calls of the tool recall: Session.RecallTool. Default: there is no
	// such tool.
	Recall func(ctx context.Context, arguments json.RawMessage) (string, error)
	// Web says which servers web_fetch may ask. Default: WebOff, there is no such tool.
	Web Web
	// Task answers calls of the tool task: agent.Agent.Task. Default: there is no such tool.
	Task func(ctx context.Context, c tool.Call, prompt string) (tool.Result, error)
	// Compact answers calls of the tool compact: agent.Agent.CompactSoon. Default: there is
	// no such tool.
	Compact func(instructions string) error
}

// Set is the tools of one project. It may be used from several goroutines.
type Set struct {
	dir     string // the project: absolute, without symbolic links
	given   string // the same as Config named it
	home    string // "" when there is none
	shell   shell
	environ []string
	recall  func(context.Context, json.RawMessage) (string, error)

	root    *os.Root
	info    fs.FileInfo // of root
	writing sync.Mutex  // one file is changed at a time
	git     *files.Git
	tools   []tool.Tool

	announcing sync.Mutex
	announced  map[string][]string // where the paths of calls led
}

// New returns the tools for a project. The folder must exist; it stays open until Close.
func New(c Config) (*Set, error) {
	s := &Set{environ: c.Environ, recall: c.Recall}
	if s.environ == nil {
		s.environ = os.Environ()
	}
	s.home = procgroup.Home(s.environ)
	var err error
	if s.shell, err = findShell(c.Shell); err != nil {
		return nil, err
	}
	if s.given, err = filepath.Abs(c.Dir); err == nil {
		s.dir, err = filepath.EvalSymlinks(s.given)
	}
	if err == nil {
		s.root, err = os.OpenRoot(s.dir)
	}
	if err != nil {
		return nil, &Error{Op: "tools", Subject: c.Dir, Err: fmt.Errorf("the project can't be opened: %w", err), Hint: "give a folder that exists"}
	}
	if s.info, err = s.root.Stat("."); err != nil {
		return nil, errors.Join(fail("tools", c.Dir, err), s.root.Close())
	}
	s.git = files.NewGit(s.dir, s.environ)
	s.tools = []tool.Tool{s.readTool(), s.writeTool(), s.editTool(), s.bashTool(), s.grepTool(), s.findTool(), s.lsTool(), s.todoTool()}
	if s.recall != nil {
		s.tools = append(s.tools, s.recallTool())
	}
	if c.Web != "" && c.Web != WebOff {
		s.tools = append(s.tools, s.webTool(c.Web))
	}
	if c.Task != nil {
		s.tools = append(s.tools, taskTool(c.Task))
	}
	if c.Compact != nil {
		s.tools = append(s.tools, compactTool(c.Compact))
	}
	return s, nil
}

// Tools returns the tools, always in the same order.
func (s *Set) Tools() []tool.Tool { return append([]tool.Tool(nil), s.tools...) }

// Close closes the folder. Calls after it fail.
func (s *Set) Close() error { return errors.Join(s.git.Close(), s.root.Close()) }

// call is a tool made of functions. parse reads the arguments for the two others.
type call[A any] struct {
	spec    model.Tool
	example string               // of arguments, for errors
	parse   func(a *arguments) A // nil: as read does
	effect  func(A) (tool.Effect, error)
	run     func(ctx context.Context, args A, c tool.Call) (tool.Result, error)
}

func (t *call[A]) Spec() model.Tool { return t.spec }

func (t *call[A]) arguments(data json.RawMessage) (args A, err error) {
	a := parseArguments(t.spec.Name, t.example, data)
	if t.parse == nil {
		args = read[A](a)
	} else if a.err == nil {
		args = t.parse(a)
	}
	return args, a.err
}

func (t *call[A]) Effect(data json.RawMessage) (tool.Effect, error) {
	args, err := t.arguments(data)
	if err != nil {
		return tool.Effect{}, err
	}
	e, err := t.effect(args)
	e.Line = oneLine(e.Line)
	return e, err
}

func (t *call[A]) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	args, err := t.arguments(c.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	return t.run(ctx, args, c)
}

// at makes a tool for a path of the arguments: where it leads is looked at when the user is asked, and again when the
// call runs.
func at[A any](s *Set, spec model.Tool, example string, parse func(*arguments) A, path func(A) string,
	effect func(place, A) (tool.Effect, error), run func(context.Context, place, A, tool.Call) (tool.Result, error),
) tool.Tool {
	return &call[A]{
		spec: spec, example: example, parse: parse,
		effect: func(args A) (tool.Effect, error) {
			p, err := s.announce(spec.Name, path(args))
			if err != nil {
				return tool.Effect{}, err
			}
			e, err := effect(p, args)
			e.Paths, e.Outside = []string{p.abs}, p.outside
			return e, fail(spec.Name, p.shown, err)
		},
		run: func(ctx context.Context, args A, c tool.Call) (tool.Result, error) {
			p, err := s.again(spec.Name, path(args))
			if err != nil {
				return tool.Result{}, err
			}
			r, err := run(ctx, p, args, c)
			return r, fail(spec.Name, p.shown, err)
		},
	}
}

// maxLine is how many characters a line for the user has at most.
const maxLine = 200

// oneLine makes a text fit to be shown to the user on one line.
func oneLine(s string) string { return text.OneLine(s, maxLine) }

// maxAnnounced is how many paths are remembered between Effect and Run.
const maxAnnounced = 4096

// announce is resolve for Effect. It remembers where the path led, for each call once, so that Run touches that place or
// none.
func (s *Set) announce(op, arg string) (place, error) {
	p, err := s.resolve(op, arg)
	if err != nil {
		return p, err
	}
	s.announcing.Lock()
	defer s.announcing.Unlock()
	if s.announced == nil || len(s.announced) >= maxAnnounced {
		s.announced = map[string][]string{} // what was forgotten has to be announced again
	}
	key := op + "\x00" + arg
	s.announced[key] = append(s.announced[key], p.abs)
	return p, nil
}

// again is resolve for Run: what leads elsewhere than Effect said is refused, and
// what is outside and was not announced. Where a path led to two places, it is not known which the user agreed to.
func (s *Set) again(op, arg string) (place, error) {
	p, err := s.resolve(op, arg)
	if err != nil {
		return p, err
	}
	s.announcing.Lock()
	defer s.announcing.Unlock()
	key := op + "\x00" + arg
	all := s.announced[key]
	same, known := !slices.ContainsFunc(all, func(was string) bool { return was != p.abs }), len(all) > 0
	if len(all) < 2 || !same {
		delete(s.announced, key)
	} else {
		s.announced[key] = all[1:]
	}
	switch {
	case known && !same:
		return p, &Error{Op: op, Subject: oneLine(arg), Err: files.Replaced("the path leads elsewhere than when it was looked at: to " + p.shown), Hint: "call again, if that place is meant"}
	case !known && p.outside:
		return p, &Error{Op: op, Subject: oneLine(arg), Err: files.Refused("the path is outside the project, and the user was not asked"), Hint: "call again"}
	}
	return p, nil
}
