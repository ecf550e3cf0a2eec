package builtin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

func (s *Set) editTool() tool.Tool {
	return at(s, model.Tool{
		Name: "edit",
		Description: "Change parts of a file. Each oldText must stand in the file exactly once, to the space; " +
			"all edits are found in the file as it is now, and none may overlap another. If one fails, nothing is changed.",
		Parameters: parameters[editCall](),
	}, `{"path": "src/main.go", "edits": [{"oldText": "old", "newText": "new"}]}`, parseEdit,
		func(c editCall) string { return c.Path },
		func(p place, c editCall) (tool.Effect, error) {
			e := tool.Effect{Kind: tool.Write, Line: "edit " + p.shown}
			if len(c.Edits) > 1 {
				e.Line += fmt.Sprintf(" (%d edits)", len(c.Edits))
			}
			// Whether it can be done is not known before the calls ahead of it are done.
			if before, _, err := s.present(p); err == nil {
				if after, _, err := apply(before, c.Edits); err == nil {
					e.Diff = files.Diff(p.shown, before, after, false)
				}
			}
			return e, nil
		}, s.edit)
}

type editCall struct {
	Path  string `arg:"path!" about:"The file, relative to the project. An absolute path outside of it asks the user."`
	Edits []edit `arg:"edits!"`
}

// parseEdit reads the edits: a list, a list as text, or one at the top level.
func parseEdit(a *arguments) editCall {
	c := read[editCall](a)
	list := a.list("edits")
	if len(list) == 0 || !jsonx.IsNull(jsonx.Get(a.object, "oldText")) {
		list = append(list, a.object)
	}
	for i, object := range list {
		if !jsonx.IsObject(object) {
			a.bad("edits", fmt.Sprintf("edit %d is no object", i+1))
			break
		}
		in := &arguments{op: a.op, example: a.example, object: object, err: a.err}
		c.Edits = append(c.Edits, read[edit](in))
		a.err = in.err
	}
	return c
}

func (s *Set) edit(ctx context.Context, p place, args editCall, c tool.Call) (r tool.Result, err error) {
	err = s.change(ctx, p, c, func(before []byte, old fs.FileInfo) (after []byte, err error) {
		switch {
		case old == nil:
			return nil, &Error{Op: "edit", Subject: p.shown, Err: &files.Because{Kind: fs.ErrNotExist, What: "there is no such file"}, Hint: "look for it with find or ls, or make it with write"}
		case p.folder:
			return nil, errNoFolder
		case old.Size() > files.MaxWhole:
			return nil, files.ErrLarge
		case binary(before[:min(headSize, len(before))]):
			return nil, &Error{Op: "edit", Subject: p.shown, Err: errors.New("the file is no text in UTF-8"), Hint: "use bash"}
		}
		after, lines, err := apply(before, args.Edits)
		if e := (*editError)(nil); errors.As(err, &e) {
			return nil, &Error{Op: "edit", Subject: p.shown, Err: e, Hint: e.hint + "; nothing was changed"}
		}
		r = tool.Text(fmt.Sprintf("Edited %s: %s, at %s", p.shown, text.Counted(len(args.Edits), "edit"), lineList(lines))).With(tool.Details{Diff: files.Diff(p.shown, before, after, false)})
		return after, err
	})
	return r, err
}

// change gives a file new content, made of what it has, with old nil where there is none. One that is too large to be
// read has none, either. The change is recorded before it is made, where somebody keeps changes.
func (s *Set) change(ctx context.Context, p place, c tool.Call, make func(before []byte, old fs.FileInfo) ([]byte, error)) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	h, err := s.enter(p)
	if err != nil {
		return err
	}
	defer h.Close()
	before, old, err := h.Whole()
	large := errors.Is(err, files.ErrLarge)
	if err != nil && !large {
		return err
	}
	after, err := make(before, old)
	if err != nil || old != nil && !large && bytes.Equal(before, after) {
		return err
	}
	change := tool.Change{Path: p.abs, Before: before, After: after, Mode: 0o644, Lost: large}
	if old != nil {
		change.Mode = old.Mode().Perm()
	}
	if c.Record != nil {
		if err := c.Record(ctx, change); err != nil {
			return err
		}
	}
	return h.Replace(ctx, after, old)
}

// bom is the mark with which some programs begin a text in UTF-8.
const bom = "\uFEFF"

// edit replaces the one occurrence of a text in a file.
type edit struct {
	Before string `arg:"oldText!" about:"What is to be replaced, with enough of the lines around it to be the only one."`
	After  string `arg:"newText!" about:"What comes in its place."`
}

// editError says why an edit can't be made.
type editError struct{ what, hint string }

func (e *editError) Error() string { return e.what }
func (e *editError) Unwrap() error { return ErrArguments }

// apply makes all edits, found in content as it is, and returns the lines that they
// begin at. A byte order mark stays, and lines end as they did: CR LF in the file and
// LF in an edit are the same. No other byte changes.
func apply(content []byte, edits []edit) (out []byte, lines []int, err error) {
	body, marked := bytes.CutPrefix(content, []byte(bom))
	flat := unixLines(string(body))
	spans := make([]span, len(edits))
	for i, e := range edits {
		before, after := unixLines(e.Before), unixLines(e.After)
		if marked {
			before, after = strings.TrimPrefix(before, bom), strings.TrimPrefix(after, bom)
		}
		if spans[i], err = find(flat, before, after, i, len(edits)); err != nil {
			return nil, nil, err
		}
		lines = append(lines, lineOf(flat, spans[i].from))
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out = slices.Clone(content[:len(content)-len(body)])
	windows := 2*(len(body)-len(flat)) > strings.Count(flat, "\n") // most lines end with CR LF
	end, at := 0, 0                                                // of the edit before, in flat and in body
	for i, sp := range spans {
		if sp.from < end {
			one, other := spans[i-1].nr, sp.nr
			return nil, nil, &editError{fmt.Sprintf("edits %d and %d overlap, at line %d", min(one, other), max(one, other), lineOf(flat, sp.from)), "make one edit of them"}
		}
		if windows {
			sp.after = strings.ReplaceAll(sp.after, "\n", "\r\n")
		}
		from := origin(body, at, sp.from-end)
		out = append(append(out, body[at:from]...), sp.after...)
		end, at = sp.to, origin(body, from, sp.to-sp.from)
	}
	return append(out, body[at:]...), lines, nil
}

func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// origin is where one gets to from a place of a text by so many bytes, of which a CR LF is one.
func origin(body []byte, at, bytes int) int {
	for ; bytes > 0; bytes-- {
		if body[at] == '\r' && at+1 < len(body) && body[at+1] == '\n' {
			at++
		}
		at++
	}
	return at
}

func lineOf(flat string, at int) int { return 1 + strings.Count(flat[:at], "\n") }

// span is where an edit applies, in the text whose lines end with LF.
type span struct {
	from, to int
	after    string
	nr       int
}

// find finds the one place of edit nr of all.
func find(flat, before, after string, nr, all int) (span, error) {
	which := "oldText"
	if all > 1 {
		which = fmt.Sprintf("oldText of edit %d", nr+1)
	}
	if before == "" {
		return span{}, &editError{which + " is empty", "give the text to replace; to make a file use write"}
	}
	if before == after {
		return span{}, &editError{which + " and newText are the same", "leave this edit out, or say what is to become of it"}
	}
	const most = 10_000
	var places []int
	for at := 0; len(places) < most; {
		k := strings.Index(flat[at:], before)
		if k < 0 {
			break
		}
		places = append(places, at+k)
		at += k + 1
	}
	switch len(places) {
	case 1:
		return span{places[0], places[0] + len(before), after, nr + 1}, nil
	case 0:
		return span{}, missing(flat, which, before, after)
	}
	lines := make([]int, 0, 6)
	for _, at := range places[:min(6, len(places))] {
		lines = append(lines, lineOf(flat, at))
	}
	where := lineList(lines)
	if len(places) > len(lines) {
		where += " and further on"
	}
	return span{}, &editError{fmt.Sprintf("%s occurs %d times in the file, at %s", which, len(places), where), "give more of the lines around the one that is meant"}
}

// missing says that a text is not there, and what is there instead.
func missing(flat, which, before, after string) error {
	e := &editError{which + " is not in the file", "read the file again and copy the text exactly"}
	if at, ok := loose(flat, before); ok {
		e.hint = fmt.Sprintf("with other spaces, tabs or line breaks it is at line %d: read that again and copy it exactly", lineOf(flat, at))
	} else if k := strings.Index(flat, after); len(after) >= 8 && k >= 0 {
		e.hint = fmt.Sprintf("newText is there already, at line %d: the edit may have been made before", lineOf(flat, k))
	}
	return e
}

// loose finds a text where white space does not count.
func loose(flat, s string) (at int, ok bool) {
	want := strings.Join(strings.Fields(s), "")
	if want == "" || len(flat) > files.MaxDiff {
		return 0, false
	}
	left := strings.Index(strings.Join(strings.Fields(flat), ""), want)
	if left < 0 {
		return 0, false
	}
	for {
		r, size := utf8.DecodeRuneInString(flat[at:])
		if !unicode.IsSpace(r) {
			if left <= 0 {
				return at, true
			}
			left -= size
		}
		at += size
	}
}

// lineList names lines: "line 3", "lines 3, 7 and 9".
func lineList(lines []int) string {
	words := strings.Fields(strings.Trim(fmt.Sprint(lines), "[]"))
	if len(words) == 1 {
		return "line " + words[0]
	}
	return "lines " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func (s *Set) writeTool() tool.Tool {
	return at(s, model.Tool{
		Name: "write",
		Description: "Write a whole file: a new one, folders included, or over one that is there. " +
			"To change a part of a file use edit.",
		Parameters: parameters[writeCall](),
	}, `{"path": "src/main.go", "content": "package main\n"}`,
		nil, func(c writeCall) string { return c.Path },
		func(p place, c writeCall) (tool.Effect, error) {
			if p.folder {
				return tool.Effect{}, errFolderName
			}
			e := tool.Effect{Kind: tool.Write, Line: fmt.Sprintf("write %s (%d bytes)", p.shown, len(c.Content))}
			if old, made, err := s.present(p); err == nil {
				e.Diff = files.Diff(p.shown, old, []byte(c.Content), made)
			}
			return e, nil
		}, s.write)
}

type writeCall struct {
	Path    string `arg:"path!" about:"The file, relative to the project. An absolute path outside of it asks the user."`
	Content string `arg:"content!" about:"All that is to be in the file."`
}

var errFolderName = wrong("the path names a folder: it ends with a slash")

// present returns what a file has in it now. made says that there is none.
func (s *Set) present(p place) (data []byte, made bool, err error) {
	h, err := s.enter(p)
	if err != nil {
		return nil, false, err
	}
	defer h.Close()
	data, info, err := h.Whole()
	return data, info == nil, err
}

func (s *Set) write(ctx context.Context, p place, args writeCall, c tool.Call) (r tool.Result, err error) {
	if p.folder {
		return r, errFolderName
	}
	content := []byte(args.Content)
	lines := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		lines++
	}
	size := fmt.Sprintf("%s: %d bytes, %s", p.shown, len(content), text.Counted(lines, "line"))
	err = s.change(ctx, p, c, func(before []byte, old fs.FileInfo) ([]byte, error) {
		switch {
		case old == nil:
			r = tool.Text("Created " + size)
		case bytes.Equal(before, content) && old.Size() == int64(len(content)):
			r = tool.Text("Overwrote " + size + "; it had the same content before")
		default:
			r = tool.Text(fmt.Sprintf("Overwrote %s; the file was there before, with %d bytes", size, old.Size()))
		}
		if old == nil || before != nil {
			r = r.With(tool.Details{Diff: files.Diff(p.shown, before, content, old == nil)})
		}
		return content, nil
	})
	return r, err
}
