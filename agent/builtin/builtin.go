package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/clew-dev/clew/agent/tool"
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
	said    announced
	writing sync.Mutex // one file is changed at a time
	tools   []tool.Tool
}

// New returns the tools for a project. The folder must exist; it stays open until Close.
func New(c Config) (*Set, error) {
	s := &Set{environ: c.Environ, recall: c.Recall}
	if s.environ == nil {
		s.environ = os.Environ()
	}
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	s.home = variable(s.environ, home)
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
	s.tools = []tool.Tool{s.readTool(), s.writeTool(), s.editTool(), s.bashTool(), s.grepTool(), s.findTool(), s.lsTool()}
	if s.recall != nil {
		s.tools = append(s.tools, s.recallTool())
	}
	return s, nil
}

// Tools returns the tools, always in the same order.
func (s *Set) Tools() []tool.Tool { return append([]tool.Tool(nil), s.tools...) }

// Dir returns the project: absolute, with symbolic links resolved.
func (s *Set) Dir() string { return s.dir }

// Close closes the folder. Calls after it fail.
func (s *Set) Close() error { return s.root.Close() }

// one is a tool made of functions.
type one struct {
	spec    model.Tool
	example string
	effect  func(arguments) (tool.Effect, error)
	run     func(context.Context, arguments, tool.Call) (tool.Result, error)
}

func (t *one) Spec() model.Tool { return t.spec }

func (t *one) Effect(data json.RawMessage) (tool.Effect, error) {
	a, err := parseArguments(t.spec.Name, t.example, data)
	if err != nil {
		return tool.Effect{}, err
	}
	e, err := t.effect(a)
	e.Line = text.OneLine(e.Line, maxLine)
	return e, err
}

func (t *one) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	a, err := parseArguments(t.spec.Name, t.example, c.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	return t.run(ctx, a, c)
}

// variable returns the value of an environment variable; the last one counts.
func variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		n, v, _ := strings.Cut(environ[i], "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}
