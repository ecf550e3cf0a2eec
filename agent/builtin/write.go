package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model"
)

func (s *Set) writeTool() tool.Tool {
	return &one{
		spec: model.Tool{
			Name: "write",
			Description: "Write a whole file: a new one, folders included, or over one that is there. " +
				"To change a part of a file use edit.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the project. An absolute path outside of it asks the user."},
    "content": {"type": "string", "description": "All that is to be in the file."}
  },
  "required": ["path", "content"]
}`),
		},
		example: `{"path": "src/main.go", "content": "package main\n"}`,
		effect: func(a arguments) (tool.Effect, error) {
			path, content, err := parseWrite(a)
			if err != nil {
				return tool.Effect{}, err
			}
			p, err := s.announce("write", path)
			if err == nil && p.folder {
				err = fail("write", p.shown, errFolderName)
			}
			if err != nil {
				return tool.Effect{}, err
			}
			e := tool.Effect{
				Kind: tool.Write, Paths: []string{p.abs}, Outside: p.outside,
				Line: fmt.Sprintf("write %s (%d bytes)", p.shown, len(content)),
			}
			if old, made, err := s.present(p); err == nil {
				e.Diff = diff(p.shown, old, []byte(content), made)
			}
			return e, nil
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			path, content, err := parseWrite(a)
			if err != nil {
				return tool.Result{}, err
			}
			p, err := s.again("write", path)
			if err == nil && p.folder {
				err = errFolderName
			}
			if err != nil {
				return tool.Result{}, fail("write", p.shown, err)
			}
			r, err := s.write(ctx, p, []byte(content))
			return r, fail("write", p.shown, err)
		},
	}
}

var errFolderName = wrong("the path names a folder: it ends with a slash")

func parseWrite(a arguments) (path, content string, err error) {
	if path, err = a.need("path"); err != nil {
		return "", "", err
	}
	content, err = a.need("content")
	return path, content, err
}

// present returns what a file has in it now. made says that there is none.
func (s *Set) present(p place) (data []byte, made bool, err error) {
	h, err := s.enter(p)
	if err != nil {
		return nil, false, err
	}
	defer h.Close()
	data, info, err := h.whole()
	return data, info == nil, err
}

func (s *Set) write(ctx context.Context, p place, content []byte) (tool.Result, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	h, err := s.enter(p)
	if err != nil {
		return tool.Result{}, err
	}
	defer h.Close()
	before, old, err := h.whole()
	large := errors.Is(err, errLarge) // one that is not compared
	if err != nil && !large {
		return tool.Result{}, err
	}
	same := old != nil && !large && bytes.Equal(before, content)
	if !same {
		if err := h.replace(ctx, content, old); err != nil {
			return tool.Result{}, err
		}
	}
	lines := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		lines++
	}
	size := fmt.Sprintf("%s: %d bytes, %d %s", p.shown, len(content), lines, plural(lines, "line", "lines"))
	var say string
	switch {
	case old == nil:
		say = "Created " + size
	case same:
		say = "Overwrote " + size + "; it had the same content before"
	default:
		say = fmt.Sprintf("Overwrote %s; the file was there before, with %d bytes", size, old.Size())
	}
	r := tool.Text(say)
	if !large {
		r.Details = tool.Details{Diff: diff(p.shown, before, content, old == nil)}.JSON()
	}
	return r, nil
}
