package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model"
)

const findLimit = 1_000 // names, where the call has no limit

func (s *Set) findTool() tool.Tool {
	return &one{
		spec: model.Tool{
			Name: "find",
			Description: "Find files and folders by name. What .gitignore names is left out, hidden files are not. " +
				"Results are relative to the project; folders end with /.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "A glob: *.go anywhere below, src/**/*_test.go from the path on; ** is any number of folders, {a,b} is one of both."},
    "path": {"type": "string", "description": "The folder to look in (default: the project)."},
    "limit": {"type": "integer", "minimum": 1, "description": "At most so many (default 1000)."}
  },
  "required": ["pattern"]
}`),
		},
		example: `{"pattern": "**/*.go", "path": "src"}`,
		effect: func(a arguments) (tool.Effect, error) {
			g, err := parseGlob(a, "pattern")
			if err != nil {
				return tool.Effect{}, err
			}
			arg, _, err := parseLook(a, findLimit)
			if err != nil {
				return tool.Effect{}, err
			}
			return s.lookEffect("find", arg, string(g))
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			g, err := parseGlob(a, "pattern")
			if err != nil {
				return tool.Result{}, err
			}
			arg, limit, err := parseLook(a, findLimit)
			if err != nil {
				return tool.Result{}, err
			}
			t, err := s.look("find", arg)
			if err != nil {
				return tool.Result{}, err
			}
			defer t.Close()
			r, err := t.find(ctx, g, limit)
			return r, fail("find", t.p.shown, err)
		},
	}
}

// glob is a pattern for paths. Without a slash it is about names.
type glob string

func parseGlob(a arguments, name string) (glob, error) {
	pattern, err := a.need(name)
	if err != nil {
		return "", err
	}
	switch {
	case pattern == "":
		return "", a.bad(name, "the pattern is empty")
	case filepath.IsAbs(pattern):
		return "", a.bad(name, "the pattern begins with a folder: give that as path")
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !doublestar.ValidatePattern(pattern) {
		return "", a.bad(name, "the pattern is no glob: a bracket, brace or backslash is not closed")
	}
	return glob(pattern), nil
}

func (g glob) match(rel string) bool {
	if !strings.Contains(string(g), "/") {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(string(g), rel)
	return err == nil && ok
}

func (t *tree) find(ctx context.Context, g glob, limit int) (tool.Result, error) {
	info, err := t.root.Lstat(t.name)
	if err != nil {
		return tool.Result{}, err
	}
	if !info.IsDir() {
		return tool.Result{}, errNotFolder
	}
	var found []string
	more := ""
	err = t.walk(ctx, func(name string, d fs.DirEntry) error {
		if !g.match(t.rel(name)) {
			return nil
		}
		if len(found) == limit {
			more = fmt.Sprintf("there are more than %d; narrow the pattern down or give a larger limit", limit)
			return fs.SkipAll
		}
		shown := t.shown(name)
		if d.IsDir() {
			shown += "/"
		}
		found = append(found, shown)
		return nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	text := strings.Join(found, "\n")
	if len(found) == 0 {
		text = "Nothing found: no name matches " + oneName(string(g))
	}
	r := tool.Text(text + note(more, t.rest()))
	r.Details = tool.Details{Truncated: more != "" || t.full}.JSON()
	return r, nil
}
