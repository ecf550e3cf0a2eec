package builtin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

const (
	grepLine  = 500      // characters of a line that are shown
	grepBytes = 32 << 20 // of a file that is searched
)

func (s *Set) grepTool() tool.Tool {
	return at(s, model.Tool{
		Name: "grep",
		Description: "Search the lines of files for a regular expression. What .gitignore names is left out, and files that are no text. " +
			"Each line comes as path:number: text.",
		Parameters: parameters[grepCall](),
	}, `{"pattern": "func main", "path": "src", "glob": "*.go"}`, parseGrep,
		func(c grepCall) string { return c.Path },
		func(p place, c grepCall) (tool.Effect, error) { return readIn(p, "grep "+c.Pattern+" in "), nil }, s.grep)
}

type grepCall struct {
	Pattern    string `arg:"pattern!" about:"A regular expression in the syntax of RE2: no look-around, no back references."`
	Path       string `arg:"path" unset:"." about:"The folder or file to search (default: the project)."`
	Glob       glob   `arg:"glob" about:"Only files that match: *.go, src/**/*.ts."`
	IgnoreCase bool   `arg:"ignoreCase" about:"Upper and lower case are the same."`
	Literal    bool   `arg:"literal" about:"The pattern is plain text."`
	Context    int    `arg:"context" least:"0" most:"100" about:"So many lines before and after each match."`
	Limit      int    `arg:"limit" least:"1" most:"100000" unset:"100" about:"At most so many matches (default 100)."`
	re         *regexp.Regexp
}

func parseGrep(a *arguments) grepCall {
	c := read[grepCall](a)
	if c.Pattern == "" {
		a.bad("pattern", "the pattern is empty")
	}
	expr := c.Pattern
	if c.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if c.IgnoreCase {
		expr = "(?i)" + expr
	}
	var err error
	if c.re, err = regexp.Compile(expr); err != nil && a.err == nil {
		a.err = &Error{
			Op: "grep", Subject: oneLine(c.Pattern), Err: wrong(strings.TrimPrefix(err.Error(), "error parsing regexp: ")),
			Hint: "the syntax is that of RE2, without look-around and back references; for plain text give \"literal\": true",
		}
	}
	if c.Glob != "" {
		c.Glob = parseGlob(a, "glob", c.Glob)
	}
	return c
}

// hits are the lines that a search has found.
type hits struct {
	call    grepCall
	out     strings.Builder
	count   int
	more    bool // than the limit
	clipped bool // a line was cut
	large   int  // files that were too large to search
	binary  int  // files that are no text
	secret  int  // files that were passed over, because a search is not asked about each
}

func (s *Set) grep(ctx context.Context, p place, c grepCall, _ tool.Call) (tool.Result, error) {
	t, info, err := s.open(p)
	if err != nil {
		return tool.Result{}, err
	}
	defer t.Close()
	h := &hits{call: c}
	if info.IsDir() {
		err = t.walk(ctx, func(name string, d fs.DirEntry) error {
			if !d.Type().IsRegular() || c.Glob != "" && !c.Glob.match(t.rel(name)) {
				return nil
			}
			if permission.Secret(name) {
				h.secret++
				return nil
			}
			if err := t.search(ctx, name, h); err != nil {
				if ctx.Err() != nil {
					return err
				}
				t.denied++ // it may be gone, too
			}
			if h.more {
				return fs.SkipAll
			}
			return nil
		})
	} else {
		err = t.search(ctx, t.start, h)
	}
	if err != nil {
		return tool.Result{}, err
	}
	found := strings.TrimSuffix(h.out.String(), "\n")
	if h.count == 0 {
		found = "No line matches " + oneName(c.Pattern)
	}
	var notes []string
	if h.more {
		notes = append(notes, fmt.Sprintf("there are more than %d matches; narrow the search down or give a larger limit", c.Limit))
	}
	if h.clipped {
		notes = append(notes, "long lines are cut; read the file for the whole of them")
	}
	if h.binary > 0 && !info.IsDir() {
		notes = append(notes, "the file is no text and was not searched; use bash")
	}
	if h.large > 0 {
		notes = append(notes, text.Counted(h.large, "file")+" larger than 32 MiB not searched; use bash")
	}
	if h.secret > 0 {
		were := " were"
		if h.secret == 1 {
			were = " was"
		}
		notes = append(notes, text.Counted(h.secret, "file")+were+" passed over, for there may be keys and passwords; to search one give it as the path")
	}
	return tool.Text(found + note(append(notes, t.rest())...)).With(tool.Details{Truncated: h.more || t.full}), nil
}

// search searches one file.
func (t *tree) search(ctx context.Context, name string, h *hits) error {
	f, info, err := files.Open(t.Root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > grepBytes {
		h.large++
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, grepBytes))
	if err != nil {
		return err
	}
	if binary(data[:min(headSize, len(data))]) {
		h.binary++
		return nil
	}
	if len(data) == 0 {
		return nil
	}
	return h.in(ctx, t.shown(name), data)
}

// in searches a text. A line is told once, however many matches it is next to.
func (h *hits) in(ctx context.Context, shown string, data []byte) error {
	c := h.call
	// Most files have nothing of what each match begins with.
	if prefix, _ := c.re.LiteralPrefix(); prefix != "" && !bytes.Contains(data, []byte(prefix)) {
		return nil
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	told := 0 // lines before it are told, or not to be
	for i := range lines {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !c.re.Match(bytes.TrimSuffix(lines[i], []byte("\r"))) {
			continue
		}
		if h.count == c.Limit {
			h.more = true
			return nil
		}
		h.count++
		from := max(told, i-c.Context)
		if c.Context > 0 && h.out.Len() > 0 && (told == 0 || from > told) {
			h.out.WriteString("--\n")
		}
		for k := from; k < i; k++ {
			h.tell(shown, "-", k, lines[k])
		}
		h.tell(shown, ":", i, lines[i])
		told = i + 1
		for k := told; k <= i+c.Context && k < len(lines); k++ {
			if c.re.Match(bytes.TrimSuffix(lines[k], []byte("\r"))) {
				break // it is told as a match of its own
			}
			h.tell(shown, "-", k, lines[k])
			told = k + 1
		}
	}
	return nil
}

func (h *hits) tell(shown, mark string, nr int, line []byte) {
	// More than is shown of a line is not looked at: it may be a megabyte.
	part := string(line[:min(len(line), 4*grepLine)])
	s := text.Clip(text.Valid(strings.TrimSuffix(part, "\r")), grepLine)
	h.clipped = h.clipped || len(part) < len(line) || strings.HasSuffix(s, text.Ellipsis) && !strings.HasSuffix(part, text.Ellipsis)
	fmt.Fprintf(&h.out, "%s%s%d%s %s\n", shown, mark, nr+1, mark, s)
}
