package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model"
)

const lsLimit = 500 // names, where the call has no limit

func (s *Set) lsTool() tool.Tool {
	return &one{
		spec: model.Tool{
			Name:        "ls",
			Description: "List what is in a folder, sorted, hidden files included. Folders end with /, symbolic links with @.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The folder, relative to the project (default: the project)."},
    "limit": {"type": "integer", "minimum": 1, "description": "At most so many names (default 500)."}
  }
}`),
		},
		example: `{"path": "src"}`,
		effect: func(a arguments) (tool.Effect, error) {
			arg, _, err := parseLook(a, lsLimit)
			if err != nil {
				return tool.Effect{}, err
			}
			return s.lookEffect("ls", arg, "")
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			arg, limit, err := parseLook(a, lsLimit)
			if err != nil {
				return tool.Result{}, err
			}
			t, err := s.look("ls", arg)
			if err != nil {
				return tool.Result{}, err
			}
			defer t.Close()
			r, err := t.list(limit)
			return r, fail("ls", t.p.shown, err)
		},
	}
}

// parseLook reads the arguments of calls that look through a folder.
func parseLook(a arguments, unset int) (arg string, limit int, err error) {
	if arg, _, err = a.text("path"); err != nil {
		return "", 0, err
	}
	if arg == "" {
		arg = "."
	}
	limit, err = a.count("limit", unset, 100_000)
	return arg, limit, err
}

// lookEffect is the effect of such a call.
func (s *Set) lookEffect(op, arg, what string) (tool.Effect, error) {
	p, err := s.announce(op, arg)
	if err != nil {
		return tool.Effect{}, err
	}
	line := op
	if what != "" {
		line += " " + what + " in"
	}
	return tool.Effect{Kind: tool.Read, Paths: []string{p.abs}, Outside: p.outside, Line: line + " " + p.shown}, nil
}

func (t *tree) list(limit int) (tool.Result, error) {
	info, err := t.root.Lstat(t.name)
	if err != nil {
		return tool.Result{}, err
	}
	if !info.IsDir() {
		return tool.Result{}, errNotFolder
	}
	list, err := fs.ReadDir(t.root.FS(), t.start)
	if err != nil {
		return tool.Result{}, err
	}
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int {
		return cmp.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name()))
	})
	if len(list) == 0 {
		return tool.Text("(the folder is empty)"), nil
	}
	var names []string
	for _, d := range list[:min(limit, len(list))] {
		name := oneName(d.Name())
		switch {
		case d.IsDir():
			name += "/"
		case d.Type()&fs.ModeSymlink != 0:
			name += "@"
		}
		names = append(names, name)
	}
	more := ""
	if len(list) > limit {
		more = fmt.Sprintf("%d of %d names; give a larger limit for the rest", limit, len(list))
	}
	r := tool.Text(strings.Join(names, "\n") + note(more))
	r.Details = tool.Details{Truncated: more != ""}.JSON()
	return r, nil
}

var errNotFolder = errors.New("it is a file, not a folder")
