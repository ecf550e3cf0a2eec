package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/hook"
)

// hookJSON is a hook in a file; docs/hooks.md describes it.
type hookJSON struct {
	Name      string   `json:"name"`
	Event     string   `json:"event"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Shell     bool     `json:"shell"`
	Timeout   duration `json:"timeout"`
	MaxOutput int64    `json:"maxOutput"`
	Env       []string `json:"env"`
	Required  bool     `json:"required"`
}

// duration is a text such as "10s", or a number of seconds.
type duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(data []byte) error {
	text := string(data)
	if data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e6 {
		*d = duration(seconds * float64(time.Second))
		return nil
	}
	t, err := time.ParseDuration(text)
	if err != nil || t <= 0 {
		return fmt.Errorf("%s is no timeout; write a time above 0, such as \"10s\"", data)
	}
	*d = duration(t)
	return nil
}

// hooks reads the programs. Those of a project that the user does not trust are read,
// so that mistakes are found, and passed over.
func (f *inFile) hooks(n *node) error {
	var list []json.RawMessage
	if n.raw == nil || json.Unmarshal(n.raw, &list) != nil {
		return f.bad(n, "it must be a list of hooks", `such as [{"event": "tool_result", "command": "redact"}]`)
	}
	var hooks []hook.Config
	for i, raw := range list {
		c, err := f.hook(raw)
		if err != nil {
			return f.bad(n, fmt.Sprintf("number %d: %s", i+1, strings.TrimPrefix(err.Error(), "json: ")), "docs/hooks.md describes it")
		}
		hooks = append(hooks, c)
	}
	if f.from == FromProject && len(hooks) > 0 && !f.trusted() {
		what := fmt.Sprintf("the project's %d hooks are not run: they are programs", len(hooks))
		if len(hooks) == 1 {
			what = "the project's hook is not run: it is a program"
		}
		f.passOver(n, what)
		return nil
	}
	f.s.Hooks = append(f.s.Hooks, hooks...)
	for i, h := range hooks {
		line := strings.TrimSpace(h.Command + " " + strings.Join(h.Args, " "))
		f.s.extra = append(f.s.extra, Setting{
			Key: fmt.Sprintf("hooks[%d] %s", len(f.s.Hooks)-len(hooks)+i, h.Event), Value: line, Origin: Origin{f.from, f.path, n.line},
		})
	}
	return nil
}

func (f *inFile) hook(raw json.RawMessage) (hook.Config, error) {
	var h hookJSON
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return hook.Config{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return hook.Config{}, fmt.Errorf("something follows the hook")
	}
	dir, err := filepath.Abs(filepath.Dir(f.path))
	if err != nil {
		return hook.Config{}, err
	}
	c := hook.Config{
		Name: h.Name, Event: h.Event, Command: h.Command, Args: h.Args, Shell: h.Shell, Dir: dir, Env: h.Env,
		Timeout: time.Duration(h.Timeout), MaxOutput: h.MaxOutput, Required: h.Required,
	}
	_, err = hook.New(c)
	return c, err
}

// trust reads which projects may run programs.
func (f *inFile) trust(n *node) error {
	if f.from == FromProject {
		return f.bad(n, "a project can't trust itself", "it belongs into the user's file")
	}
	var all bool
	if n.raw != nil && json.Unmarshal(n.raw, &all) == nil {
		f.s.trustAll = all
		return nil
	}
	var dirs []string
	if n.raw == nil || json.Unmarshal(n.raw, &dirs) != nil {
		return f.bad(n, "it must be true, false, or a list of folders", `such as ["/home/me/project"]`)
	}
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			return f.bad(n, fmt.Sprintf("%q is no absolute path, so it could mean any folder", d), "write where the project lies")
		}
		f.s.trust = append(f.s.trust, filepath.Clean(d))
	}
	return nil
}

// project is the folder of the project whose file this is.
func (f *inFile) project() string {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return f.path
	}
	return filepath.Dir(filepath.Dir(abs))
}

// trusted reports whether the user trusts the project whose file this is. Links are
// followed on both sides, so that a folder has one name.
func (f *inFile) trusted() bool {
	dir := realPath(f.project())
	return f.s.trustAll || slices.ContainsFunc(f.s.trust, func(d string) bool { return realPath(d) == dir })
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func (f *inFile) howToTrust() string {
	return fmt.Sprintf("to allow it, put %q into trustProjectHooks in your own settings", f.project())
}
