package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A script is a text file of steps. A line that begins with @ begins a step or
// a part of one; the lines up to the next @ are its text.
//
//	@name TEXT            names the session
//	@model PROVIDER ID    changes the model
//	@level LEVEL          changes the thinking level
//	@wait DURATION        lets the clock advance before the next step
//	@user                 a message of the user
//	@shell                a command the user runs
//	@assistant            an answer, made of the parts that follow;
//	                      stop=error|aborted, error="..." for one that failed
//	@think                part: reasoning
//	@say                  part: text
//	@call TOOL key=value  part: a tool call; the text is the argument that has
//	                      several lines (command of bash, content of write,
//	                      edits of edit)
//	@results 2,1,3        the order in which the results of the calls came
//	@mark NAME            remembers the place for @goto and @label
//	@label NAME TEXT      labels the entry before that mark
//	@goto NAME            goes back to that mark
//
// Of the keys of a call, those that begin with a colon are for the recorder:
// :fails means that the tool must report an error (else it must not),
// :want="..." that its answer must contain the text, :takes=2s how long it
// took. An edit is written as lines between <<<<, ==== and >>>>.
type step struct {
	at   string // file:line, for messages
	kind string
	text string
	args []string
	opts map[string]string

	thinking []string
	says     []string
	calls    []call
	order    []int // of the results, indexes into calls
}

// call is one scripted tool call.
type call struct {
	at    string
	tool  string
	args  json.RawMessage
	fails bool
	want  []string
	takes time.Duration
}

func loadScript(fsys fs.FS) ([]*step, error) {
	names, err := fs.Glob(fsys, "script/*.txt")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var steps []*step
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		more, err := parseScript(path.Base(name), string(data))
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

func parseScript(name, text string) ([]*step, error) {
	var steps []*step
	for _, d := range splitDirectives(name, text) {
		words, err := splitWords(d.head)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.at, err)
		}
		var cur *step
		if len(steps) > 0 {
			cur = steps[len(steps)-1]
		}
		switch kind := words[0]; kind {
		case "think", "say", "call", "results":
			if cur == nil || cur.kind != "assistant" {
				return nil, fmt.Errorf("%s: @%s outside an @assistant", d.at, kind)
			}
			if err := cur.part(d, kind, words[1:]); err != nil {
				return nil, fmt.Errorf("%s: %w", d.at, err)
			}
		case "name", "model", "level", "wait", "user", "shell", "assistant", "mark", "label", "goto":
			s := &step{at: d.at, kind: kind, text: d.body, opts: map[string]string{}}
			for _, w := range words[1:] {
				if k, v, ok := strings.Cut(w, "="); ok && kind == "assistant" {
					s.opts[k] = v
				} else {
					s.args = append(s.args, w)
				}
			}
			steps = append(steps, s)
		default:
			return nil, fmt.Errorf("%s: unknown step @%s", d.at, kind)
		}
	}
	return steps, nil
}

func (s *step) part(d directive, kind string, words []string) error {
	switch kind {
	case "think":
		s.thinking = append(s.thinking, d.body)
	case "say":
		s.says = append(s.says, d.body)
	case "call":
		c, err := parseCall(d, words)
		if err != nil {
			return err
		}
		s.calls = append(s.calls, c)
	case "results":
		if len(words) != 1 {
			return fmt.Errorf("@results takes one list")
		}
		for _, w := range strings.Split(words[0], ",") {
			n, err := strconv.Atoi(w)
			if err != nil || n < 1 || n > len(s.calls) || slices.Contains(s.order, n-1) {
				return fmt.Errorf("@results %s: want each of 1 to %d once", words[0], len(s.calls))
			}
			s.order = append(s.order, n-1)
		}
		if len(s.order) != len(s.calls) {
			return fmt.Errorf("@results %s: want each of 1 to %d once", words[0], len(s.calls))
		}
	}
	return nil
}

func parseCall(d directive, words []string) (c call, err error) {
	if len(words) == 0 {
		return c, fmt.Errorf("@call without a tool")
	}
	c = call{at: d.at, tool: words[0]}
	args := newArgs()
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case ":fails":
			c.fails = true
		case ":want":
			c.want = append(c.want, v)
		case ":takes":
			if c.takes, err = time.ParseDuration(v); err != nil {
				return c, err
			}
		case "offset", "limit", "timeout", "context":
			n, err := strconv.Atoi(v)
			if err != nil {
				return c, err
			}
			args.set(k, n)
		case "ignoreCase":
			args.set(k, v == "true")
		default:
			if strings.HasPrefix(k, ":") {
				return c, fmt.Errorf("unknown key %s", k)
			}
			args.set(k, v)
		}
	}
	switch c.tool {
	case "bash":
		args.set("command", d.body)
	case "write":
		args.set("content", d.body+"\n")
	case "edit":
		edits, err := parseEdits(d.body)
		if err != nil {
			return c, err
		}
		args.set("edits", edits)
	}
	c.args = args.json()
	return c, nil
}

func parseEdits(body string) (edits []replacement, err error) {
	var cur *strings.Builder
	var from, to strings.Builder
	for line := range strings.Lines(body + "\n") {
		switch strings.TrimSuffix(line, "\n") {
		case "<<<<":
			from.Reset()
			to.Reset()
			cur = &from
		case "====":
			cur = &to
		case ">>>>":
			edits = append(edits, replacement{from.String(), to.String()})
			cur = nil
		default:
			if cur == nil {
				return nil, fmt.Errorf("a line outside <<<< and >>>>: %q", line)
			}
			cur.WriteString(line)
		}
	}
	if cur != nil || len(edits) == 0 {
		return nil, fmt.Errorf("an edit needs <<<<, ==== and >>>>")
	}
	return edits, nil
}

// directive is a line that begins with @ and the lines after it.
type directive struct {
	at, head, body string
}

// splitDirectives drops lines before the first directive, and blank lines
// around a body.
func splitDirectives(name, text string) []directive {
	var all []directive
	var body []string
	flush := func() {
		if len(all) > 0 {
			all[len(all)-1].body = strings.Trim(strings.Join(body, "\n"), "\n")
		}
		body = nil
	}
	for i, line := range strings.Split(text, "\n") {
		if head, ok := strings.CutPrefix(line, "@"); ok {
			flush()
			all = append(all, directive{at: fmt.Sprintf("%s:%d", name, i+1), head: head})
			continue
		}
		body = append(body, line)
	}
	flush()
	return all
}

// splitWords splits at spaces outside double quotes. A quoted part is read as
// Go reads a string.
func splitWords(s string) ([]string, error) {
	var words []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var w strings.Builder
		for s != "" && s[0] != ' ' {
			if s[0] != '"' {
				w.WriteByte(s[0])
				s = s[1:]
				continue
			}
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, fmt.Errorf("a quote does not end: %s", s)
			}
			text, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			w.WriteString(text)
			s = s[len(q):]
		}
		words = append(words, w.String())
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("a lone @")
	}
	return words, nil
}

// args builds the arguments object of a call in the order of the script.
type args struct{ buf []byte }

func newArgs() *args { return &args{buf: []byte{'{'}} }

func (a *args) set(key string, val any) {
	if len(a.buf) > 1 {
		a.buf = append(a.buf, ',')
	}
	a.buf = append(a.buf, encode(key)...)
	a.buf = append(a.buf, ':')
	a.buf = append(a.buf, encode(val)...)
}

func (a *args) json() json.RawMessage { return append(a.buf, '}') }

// encode is json.Marshal without the escapes for HTML.
func encode(val any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(val); err != nil {
		panic(err) // strings, numbers and replacements only
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
