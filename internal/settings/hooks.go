package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/vfs"
)

// hooks reads the programs. Those of a project that the user does not trust are read,
// so that mistakes are found, and passed over.
func (f *inFile) hooks(n *node) error {
	if n.list == nil {
		return f.bad(n, "it must be a list of hooks", `such as [{"event": "tool_result", "command": "redact"}]`)
	}
	var hooks []hook.Config
	for _, it := range n.list {
		c := hook.Config{Dir: f.folder()}
		if err := f.object(it, &c, nil); err != nil {
			return err
		}
		if _, err := hook.New(c); err != nil {
			return f.bad(it, err.Error(), "docs/hooks.md describes it")
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

// folder is the one that the file lies in.
func (f *inFile) folder() string {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		abs = f.path
	}
	return filepath.Dir(abs)
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
func (f *inFile) project() string { return filepath.Dir(f.folder()) }

// trusted reports whether the user trusts the project whose file this is. Links are
// followed on both sides, so that a folder has one name.
func (f *inFile) trusted() bool {
	dir := vfs.Real(f.project())
	return f.s.trustAll || slices.ContainsFunc(f.s.trust, func(d string) bool { return vfs.Real(d) == dir })
}

func (f *inFile) howToTrust() string {
	return fmt.Sprintf("to allow it, put %q into trustProjectHooks in your own settings", f.project())
}
