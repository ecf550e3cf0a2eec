package wire

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
)

var update = flag.Bool("update", false, "write what is sent now into testdata/cases, to be reviewed")

// TestCases runs the files of testdata/cases. A file has a head of lines
// "key: value" (target: provider/model, images, settle), the messages as JSON
// lines, and for each profile what is sent and the notes, or the error.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := parseCase(t, string(data))
			var got strings.Builder
			got.WriteString(c.head)
			for _, name := range c.profiles {
				p, err := ProfileByName(name)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "-- %s --\n%s", name, c.run(t, p))
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != string(data) {
				t.Errorf("%s: not what the file says; got\n%s", file, got.String())
			}
		})
	}
}

type wireCase struct {
	head     string // up to the first profile
	target   Target
	options  Options
	lines    []string
	profiles []string
}

func parseCase(t *testing.T, data string) *wireCase {
	t.Helper()
	c := &wireCase{}
	section := ""
	for line := range strings.Lines(data) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok {
			section = strings.TrimSuffix(name, " --")
			if section != "messages" {
				c.profiles = append(c.profiles, section)
			}
		}
		if len(c.profiles) > 0 {
			continue
		}
		c.head += line
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "-- "):
		case section == "messages":
			c.lines = append(c.lines, line)
		case strings.HasPrefix(line, "target: "):
			c.target.Provider, c.target.Model, _ = strings.Cut(line[len("target: "):], "/")
		case line == "images":
			c.target.TakesImages = true
		case line == "settle":
			c.options.CloseOpenCalls = true
		default:
			t.Fatalf("line %q is neither a comment nor a key", line)
		}
	}
	return c
}

func (c *wireCase) run(t *testing.T, p Profile) string {
	t.Helper()
	msgs := parseAll(t, c.lines...)
	var b strings.Builder
	r, notes, err := Build(msgs, p, c.target, c.options)
	if r != nil {
		if r.System != nil {
			fmt.Fprintf(&b, "system: %s\n", r.System)
		}
		if r.Tools != nil {
			fmt.Fprintf(&b, "tools: %s\n", r.Tools)
		}
		for _, m := range r.Messages {
			fmt.Fprintf(&b, "%s\n", m)
		}
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %s\n", err)
	}
	return b.String()
}

func parseAll(t testing.TB, lines ...string) []*message.Message {
	t.Helper()
	msgs := make([]*message.Message, len(lines))
	for i, line := range lines {
		m, err := message.Parse(bytes.Clone([]byte(line)))
		if err != nil {
			t.Fatalf("message %d: %v: %s", i, err, line)
		}
		msgs[i] = m
	}
	return msgs
}
