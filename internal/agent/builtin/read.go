package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// What one call of read brings at most.
const (
	readBytes = 256 << 10 // of text
	// countBytes is up to which size of a file its lines are counted.
	countBytes = 64 << 20
)

func (s *Set) readTool() tool.Tool {
	return at(s, model.Tool{
		Name: "read",
		Description: "Read a file: a text, 2000 lines and 256 KiB at a time, or an image (PNG, JPEG, GIF, WebP). " +
			"What is left out, and how to go on, is said at the end.",
		Parameters: parameters[readCall](),
	}, `{"path": "src/main.go", "offset": 1, "limit": 200}`,
		nil, func(c readCall) string { return c.Path },
		func(p place, c readCall) (tool.Effect, error) {
			e := tool.Effect{Kind: tool.Read, Line: "read " + p.shown}
			if c.Offset > 1 {
				e.Line += fmt.Sprintf(", from line %d on", c.Offset)
			}
			return e, nil
		}, s.read)
}

type readCall struct {
	Path   string `arg:"path!" about:"The file, relative to the project. An absolute path outside of it asks the user."`
	Offset int    `arg:"offset" least:"1" most:"2147483647" unset:"1" about:"The line to begin with, from 1 on."`
	Limit  int    `arg:"limit" least:"1" most:"2147483647" unset:"2000" about:"At most so many lines."`
}

func (s *Set) read(ctx context.Context, p place, c readCall, _ tool.Call) (tool.Result, error) {
	h, err := s.enter(p)
	if err != nil {
		return tool.Result{}, err
	}
	defer h.Close()
	f, info, err := files.Open(h.Root, h.Name)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	if p.folder {
		return tool.Result{}, errNoFolder
	}
	r := bufio.NewReaderSize(f, 64<<10)
	head, err := r.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Result{}, err
	}
	kind := http.DetectContentType(head)
	if slices.Contains(tool.ImageTypes, kind) {
		return readImage(f, p, kind, info.Size())
	}
	if binary(head) {
		return describe(p, kind, head, info.Size()), nil
	}
	return readText(ctx, r, p, c, info.Size())
}

var errNoFolder = errors.New("it is a file, and the path names a folder: it ends with a slash")

func readImage(f *os.File, p place, kind string, size int64) (tool.Result, error) {
	if size > tool.MaxImage {
		return tool.Result{}, &Error{
			Op: "read", Subject: p.shown, Err: fmt.Errorf("the image has %d bytes, and at most %d can be shown", size, tool.MaxImage),
			Hint: "make a smaller one with bash",
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return tool.Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, tool.MaxImage))
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Content: []message.Block{
		message.TextBlock(fmt.Sprintf("%s: %s, %d bytes", p.shown, kind, len(data))),
		message.ImageBlock(kind, base64.StdEncoding.EncodeToString(data)),
	}}, nil
}

// describe says what a file is that is no text.
func describe(p place, kind string, head []byte, size int64) tool.Result {
	hint := "use bash to look into it, with file, strings or xxd"
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		kind, hint = "text in UTF-16", "use bash to turn it into UTF-8, with iconv"
	}
	return tool.Text(fmt.Sprintf("%s is no text in UTF-8: %s, %d bytes, the first are % x. It is not shown; %s.",
		p.shown, kind, size, head[:min(16, len(head))], hint))
}

func readText(ctx context.Context, r *bufio.Reader, p place, c readCall, size int64) (tool.Result, error) {
	if head, err := r.Peek(len(bom)); err == nil && string(head) == bom {
		_, _ = r.Discard(len(bom)) // it was just seen
	}
	var out strings.Builder
	var notes []string
	repaired, n, shown := false, 0, 0
	more := false // there are lines after those that are shown
	for {
		if n%1024 == 0 && ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		keep := readBytes
		if more || n+1 < c.Offset {
			keep = 0
		}
		line, length, err := nextLine(r, keep)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return tool.Result{}, err
		}
		if n++; n < c.Offset || more {
			continue
		}
		if shown > 0 && (shown == c.Limit || int64(out.Len())+length+1 > readBytes) {
			more = true
			if size > countBytes {
				break
			}
			continue
		}
		if shown > 0 {
			out.WriteByte('\n')
		}
		shown++
		if int64(len(line)) < length {
			notes = append(notes, fmt.Sprintf("line %d has %d bytes, only the first %d are shown: use bash for the rest, with cut -c", n, length, len(line)))
			line = line[:len(line)-half(line)]
		}
		good := text.Valid(string(line))
		repaired = repaired || good != string(line)
		out.WriteString(good)
	}
	last := c.Offset + shown - 1
	switch {
	case n == 0:
		return tool.Text("(the file is empty)"), nil
	case shown == 0:
		return tool.Result{}, &Error{Op: "read", Subject: p.shown, Err: wrong(fmt.Sprintf("the file has %s, there is no line %d", text.Counted(n, "line"), c.Offset)), Hint: "give a smaller offset"}
	case more && size > countBytes:
		notes = append(notes, fmt.Sprintf("lines %d to %d of a file of %d bytes; go on with offset %d", c.Offset, last, size, last+1))
	case more:
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d; go on with offset %d", c.Offset, last, n, last+1))
	case c.Offset > 1:
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d", c.Offset, last, n))
	}
	if repaired {
		notes = append(notes, "bytes that are no UTF-8 are shown as \uFFFD")
	}
	return tool.Text(out.String() + note(notes...)).With(tool.Details{Truncated: more}), nil
}

func (s *Set) recallTool() tool.Tool {
	about := recall.AgentTool()
	return &call[[]byte]{
		spec:  model.Tool{Name: about.Name, Description: about.Description, Parameters: about.Schema},
		parse: func(a *arguments) []byte { return a.object },
		effect: func(object []byte) (tool.Effect, error) {
			line := about.Name
			for _, name := range []string{"id", "query", "path", "tool", "role"} {
				if what := jsonx.StringAt(object, name); what != "" {
					line += " " + what
					break
				}
			}
			return tool.Effect{Kind: tool.Read, Line: line}, nil
		},
		run: func(ctx context.Context, object []byte, _ tool.Call) (tool.Result, error) {
			text, err := s.recall(ctx, object)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(text), nil
		},
	}
}
