package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/png" // for read
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// Limits of the tools, so that no single answer fills a window by accident.
const (
	maxReadLines = 2000
	maxReadBytes = 50 << 10
	maxBashBytes = 256 << 10
	maxMatches   = 100
	maxLineChars = 240 // of a line that grep shows
)

// toolSchemas is what the model is told about the tools.
const toolSchemas = `[` +
	`{"name":"read","description":"Read a text file, or look at an image (png, jpeg). Text is cut at 2000 lines or 50 KiB; go on with offset.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"file, relative to the working folder or absolute"},"offset":{"type":"integer","description":"first line, from 1"},"limit":{"type":"integer","description":"number of lines"}},"required":["path"]}},` +
	`{"name":"write","description":"Write a file. Folders are made as needed; a file that exists is replaced.","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}},` +
	`{"name":"edit","description":"Replace text in a file. Each oldText must stand in the file exactly once. Answers with the differences.","parameters":{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"]}}},"required":["path","edits"]}},` +
	`{"name":"bash","description":"Run a command in bash, in the working folder. Answers with what it printed; a command that fails is an error.","parameters":{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer","description":"seconds"}},"required":["command"]}},` +
	`{"name":"grep","description":"Search files for a regular expression (RE2).","parameters":{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"file or folder"},"glob":{"type":"string","description":"only files whose name matches"},"ignoreCase":{"type":"boolean"},"context":{"type":"integer","description":"lines to show around a match"}},"required":["pattern"]}},` +
	`{"name":"find","description":"Find files by a pattern for their name, such as *_test.go.","parameters":{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern"]}},` +
	`{"name":"ls","description":"List a folder.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}` +
	`]`

// result is what a tool answers.
type result struct {
	blocks []message.Block
	failed bool
}

func text(s string) result { return result{blocks: []message.Block{message.TextBlock(s)}} }

func failure(s string) result {
	r := text(s)
	r.failed = true
	return r
}

func (r result) text() string {
	m := message.Message{Content: r.blocks}
	return m.Text()
}

// toolArgs are the arguments of all tools.
type toolArgs struct {
	Path       string        `json:"path"`
	Offset     int           `json:"offset"`
	Limit      int           `json:"limit"`
	Content    string        `json:"content"`
	Edits      []replacement `json:"edits"`
	Command    string        `json:"command"`
	Timeout    int           `json:"timeout"`
	Pattern    string        `json:"pattern"`
	Glob       string        `json:"glob"`
	IgnoreCase bool          `json:"ignoreCase"`
	Context    int           `json:"context"`
}

// call runs a tool. The error is the recorder's; what the model did wrong is a
// result that failed.
func (b *sandbox) call(ctx context.Context, at time.Time, tool string, raw json.RawMessage) (result, error) {
	var a toolArgs
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return result{}, fmt.Errorf("arguments of %s: %w", tool, err)
	}
	switch tool {
	case "read":
		return b.read(a), nil
	case "write":
		return b.write(a), nil
	case "edit":
		return b.edit(a), nil
	case "bash":
		return b.shell(ctx, at, a)
	case "grep":
		return b.grep(a), nil
	case "find":
		return b.find(a), nil
	case "ls":
		return b.ls(a), nil
	}
	return result{}, fmt.Errorf("no tool %q", tool)
}

func (b *sandbox) fileError(p string, err error) result {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure("No such file: " + p)
	case errors.Is(err, fs.ErrPermission):
		return failure("Not allowed: " + p)
	}
	return failure(b.clean(err.Error()))
}

func (b *sandbox) read(a toolArgs) result {
	data, err := os.ReadFile(b.path(a.Path))
	if err != nil {
		return b.fileError(a.Path, err)
	}
	if conf, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		mime := "image/" + format
		return result{blocks: []message.Block{
			message.TextBlock(fmt.Sprintf("%s: %s, %d x %d, %d bytes", a.Path, mime, conf.Width, conf.Height, len(data))),
			message.ImageBlock(mime, base64.StdEncoding.EncodeToString(data)),
		}}
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return failure(a.Path + " is binary")
	}
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first := max(a.Offset, 1)
	if first > len(lines) {
		return failure(fmt.Sprintf("%s has %d lines; offset %d is behind its end", a.Path, len(lines), first))
	}
	limit := maxReadLines
	if a.Limit > 0 {
		limit = min(limit, a.Limit)
	}
	var out strings.Builder
	next := first
	for _, line := range lines[first-1:] {
		if next-first >= limit || out.Len()+len(line) > maxReadBytes {
			break
		}
		out.WriteString(line)
		next++
	}
	s := b.clean(out.String())
	if left := len(lines) - next + 1; left > 0 {
		s = strings.TrimRight(s, "\n") + fmt.Sprintf("\n\n[%d more lines; go on with offset=%d]", left, next)
	}
	return text(s)
}

func (b *sandbox) write(a toolArgs) result {
	p := b.path(a.Path)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return b.fileError(a.Path, err)
	}
	if err := os.WriteFile(p, []byte(a.Content), 0o644); err != nil {
		return b.fileError(a.Path, err)
	}
	return text(fmt.Sprintf("Wrote %d bytes to %s", len(a.Content), a.Path))
}

func (b *sandbox) edit(a toolArgs) result {
	data, err := os.ReadFile(b.path(a.Path))
	if err != nil {
		return b.fileError(a.Path, err)
	}
	s := string(data)
	for i, e := range a.Edits {
		switch n := strings.Count(s, e.OldText); {
		case e.OldText == "" || n == 0:
			return failure(fmt.Sprintf("%s was not changed: the text of edit %d is not in it", a.Path, i+1))
		case n > 1:
			return failure(fmt.Sprintf("%s was not changed: the text of edit %d stands in it more than once", a.Path, i+1))
		}
	}
	after, diff, err := applyEdits(s, a.Edits)
	if err != nil {
		return failure(fmt.Sprintf("%s was not changed: %v", a.Path, err))
	}
	if err := os.WriteFile(b.path(a.Path), []byte(after), 0o644); err != nil {
		return b.fileError(a.Path, err)
	}
	return text(fmt.Sprintf("--- %s\n+++ %s\n%s", a.Path, a.Path, strings.TrimRight(diff, "\n")))
}

func (b *sandbox) shell(ctx context.Context, at time.Time, a toolArgs) (result, error) {
	out, code, err := b.run(ctx, at, a.Command)
	if err != nil {
		return result{}, err
	}
	if len(out) > maxBashBytes {
		cut := len(out) - maxBashBytes
		cut += strings.IndexByte(out[cut:], '\n') + 1
		out = fmt.Sprintf("[the first %d bytes are left out]\n%s", cut, out[cut:])
	}
	out = strings.TrimRight(out, "\n")
	if code != 0 {
		if out != "" {
			out += "\n\n"
		}
		return failure(fmt.Sprintf("%sCommand exited with code %d", out, code)), nil
	}
	if out == "" {
		out = "(no output)"
	}
	return text(out), nil
}

func (b *sandbox) grep(a toolArgs) result {
	expr := a.Pattern
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return failure("The pattern is no regular expression: " + err.Error())
	}
	files, err := b.files(a.Path)
	if err != nil {
		return b.fileError(a.Path, err)
	}
	var out strings.Builder
	matches := 0
	for _, f := range files {
		if ok, _ := path.Match(a.Glob, path.Base(f)); a.Glob != "" && !ok {
			continue
		}
		data, err := os.ReadFile(b.path(f))
		if err != nil || bytes.IndexByte(data, 0) >= 0 {
			continue
		}
		var lines []string
		sc := bufio.NewScanner(bytes.NewReader(data))
		sc.Buffer(nil, len(data)+1)
		for sc.Scan() {
			lines = append(lines, sc.Text())
		}
		shown := -1 // the last line that was shown
		for i, l := range lines {
			if !re.MatchString(l) {
				continue
			}
			if matches++; matches > maxMatches {
				fmt.Fprintf(&out, "[more than %d matches; narrow the search]\n", maxMatches)
				return text(b.clean(strings.TrimRight(out.String(), "\n")))
			}
			for j := max(shown+1, i-a.Context); j <= min(len(lines)-1, i+a.Context); j++ {
				sep := "-"
				if re.MatchString(lines[j]) {
					sep = ":"
				}
				line := []rune(lines[j])
				if len(line) > maxLineChars {
					line = append(line[:maxLineChars:maxLineChars], '…')
				}
				fmt.Fprintf(&out, "%s%s%d%s%s\n", f, sep, j+1, sep, string(line))
				shown = j
			}
		}
	}
	if matches == 0 {
		return text("No match")
	}
	return text(b.clean(strings.TrimRight(out.String(), "\n")))
}

// files lists the files under a path, sorted, as the session names them.
func (b *sandbox) files(p string) ([]string, error) {
	if p == "" {
		p = "."
	}
	info, err := os.Stat(b.path(p))
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{p}, nil
	}
	list, err := entries(b.path(p))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range list {
		sub, err := b.files(path.Join(p, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, sub...)
	}
	slices.Sort(all)
	return all, nil
}

func (b *sandbox) find(a toolArgs) result {
	files, err := b.files(a.Path)
	if err != nil {
		return b.fileError(a.Path, err)
	}
	var found []string
	for _, f := range files {
		if ok, err := path.Match(a.Pattern, path.Base(f)); err != nil {
			return failure("The pattern is not sound: " + a.Pattern)
		} else if ok {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return text("No file matches")
	}
	return text(strings.Join(found, "\n"))
}

func (b *sandbox) ls(a toolArgs) result {
	list, err := entries(b.path(a.Path))
	if err != nil {
		return b.fileError(a.Path, err)
	}
	var names []string
	for _, e := range list {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return text("(empty)")
	}
	return text(strings.Join(names, "\n"))
}
