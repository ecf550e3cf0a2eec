package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

func (s *Set) editTool() tool.Tool {
	return &one{
		spec: model.Tool{
			Name: "edit",
			Description: "Change parts of a file. Each oldText must stand in the file exactly once, to the space; " +
				"all edits are found in the file as it is now, and none may overlap another. If one fails, nothing is changed.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the project. An absolute path outside of it asks the user."},
    "edits": {
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "properties": {
          "oldText": {"type": "string", "description": "What is to be replaced, with enough of the lines around it to be the only one."},
          "newText": {"type": "string", "description": "What comes in its place."}
        },
        "required": ["oldText", "newText"]
      }
    }
  },
  "required": ["path", "edits"]
}`),
		},
		example: `{"path": "src/main.go", "edits": [{"oldText": "old", "newText": "new"}]}`,
		effect: func(a arguments) (tool.Effect, error) {
			path, edits, err := parseEdit(a)
			if err != nil {
				return tool.Effect{}, err
			}
			p, err := s.announce("edit", path)
			if err != nil {
				return tool.Effect{}, err
			}
			e := tool.Effect{Kind: tool.Write, Paths: []string{p.abs}, Outside: p.outside, Line: "edit " + p.shown}
			if len(edits) > 1 {
				e.Line += fmt.Sprintf(" (%d edits)", len(edits))
			}
			// Whether it can be done is not known before the calls ahead of it are done.
			if before, _, err := s.present(p); err == nil {
				if after, _, err := apply(before, edits); err == nil {
					e.Diff = diff(p.shown, before, after, false)
				}
			}
			return e, nil
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			path, edits, err := parseEdit(a)
			if err != nil {
				return tool.Result{}, err
			}
			p, err := s.again("edit", path)
			if err != nil {
				return tool.Result{}, err
			}
			r, err := s.edit(ctx, p, edits)
			return r, fail("edit", p.shown, err)
		},
	}
}

// parseEdit reads the edits: a list, a list as text, or one at the top level.
func parseEdit(a arguments) (path string, edits []edit, err error) {
	if path, err = a.need("path"); err != nil {
		return "", nil, err
	}
	list := jsonx.Get(a.object, "edits")
	if s, ok := jsonx.String(list); ok {
		list = []byte(strings.TrimSpace(s))
		if end, err := jsonx.Scan(list, 0); err != nil || end != len(list) {
			return "", nil, a.bad("edits", "the argument is no list")
		}
	}
	if jsonx.IsObject(list) {
		list = jsonx.Array([][]byte{list})
	}
	if !jsonx.IsNull(list) && !jsonx.IsArray(list) {
		return "", nil, a.bad("edits", "the argument is no list")
	}
	one := func(object []byte) error {
		if !jsonx.IsObject(object) {
			return a.bad("edits", fmt.Sprintf("edit %d is no object", len(edits)+1))
		}
		in := arguments{op: a.op, example: a.example, object: object}
		before, err := in.need("oldText")
		if err != nil {
			return err
		}
		after, err := in.need("newText")
		edits = append(edits, edit{before, after})
		return err
	}
	jsonx.Elements(list, func(object []byte) bool {
		err = one(object)
		return err == nil
	})
	if err != nil {
		return "", nil, err
	}
	if len(edits) == 0 || !jsonx.IsNull(jsonx.Get(a.object, "oldText")) {
		err = one(a.object)
	}
	return path, edits, err
}

func (s *Set) edit(ctx context.Context, p place, edits []edit) (tool.Result, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	h, err := s.enter(p)
	if err != nil {
		return tool.Result{}, err
	}
	defer h.Close()
	before, old, err := h.whole()
	switch {
	case err != nil:
		return tool.Result{}, err
	case old == nil:
		return tool.Result{}, &Error{Op: "edit", Subject: p.shown, Err: &because{fs.ErrNotExist, "there is no such file"}, Hint: "look for it with find or ls, or make it with write"}
	case p.folder:
		return tool.Result{}, errNoFolder
	case binary(before[:min(headSize, len(before))]):
		return tool.Result{}, &Error{Op: "edit", Subject: p.shown, Err: errors.New("the file is no text in UTF-8"), Hint: "use bash"}
	}
	after, lines, err := apply(before, edits)
	if err != nil {
		var e *editError
		if errors.As(err, &e) {
			return tool.Result{}, &Error{Op: "edit", Subject: p.shown, Err: e, Hint: e.hint + "; nothing was changed"}
		}
		return tool.Result{}, err
	}
	if err := h.replace(ctx, after, old); err != nil {
		return tool.Result{}, err
	}
	r := tool.Text(fmt.Sprintf("Edited %s: %d %s, at %s", p.shown, len(edits), plural(len(edits), "edit", "edits"), lineList(lines)))
	r.Details = tool.Details{Diff: diff(p.shown, before, after, false)}.JSON()
	return r, nil
}
