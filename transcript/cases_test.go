package transcript_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

var update = flag.Bool("update", false, "rewrite what the cases of testdata/read expect")

// TestCases reads each testdata/read/*.txtar: the file in is read, with the
// options that the comment names, and listed; want is what it must come to.
// An entry that does not hang under the one before it says under which.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d cases (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var opt transcript.ReadOptions
			for word := range strings.FieldsSeq(string(a.Comment)) {
				if f, ok := strings.CutPrefix(word, "format="); ok {
					opt.Format = transcript.Format(f)
				}
				opt.Sidechains = opt.Sidechains || word == "sidechains"
			}
			var in, want []byte
			at := -1
			for i, f := range a.Files {
				switch f.Name {
				case "in":
					in = f.Data
				case "torn":
					in = bytes.TrimSuffix(f.Data, []byte("\n"))
				case "want":
					want, at = f.Data, i
				}
			}
			got := []byte(list(t, in, opt))
			if *update {
				if at < 0 {
					a.Files = append(a.Files, txtar.File{Name: "want"})
					at = len(a.Files) - 1
				}
				a.Files[at].Data = got
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// list writes what a source comes to, for people.
func list(t *testing.T, in []byte, opt transcript.ReadOptions) string {
	tr, err := transcript.Read(bytes.NewReader(in), opt)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	whole(t, tr)
	var w strings.Builder
	fmt.Fprintf(&w, "%s: %s\n", tr.Format, tr.Why)
	if tr.Sessions > 1 {
		fmt.Fprintf(&w, "%d sessions\n", tr.Sessions)
	}
	if h := tr.Header; h.Cwd != "" {
		fmt.Fprintf(&w, "session %s in %s\n", h.ID, h.Cwd)
	}
	number := map[string]int{}
	for i, e := range tr.Entries {
		number[e.ID] = i + 1
		fmt.Fprintf(&w, "%d. ", i+1)
		if i > 0 && e.ParentID != tr.Entries[i-1].ID {
			fmt.Fprintf(&w, "(under %d) ", number[e.ParentID])
		}
		listEntry(&w, e, number)
		fmt.Fprintf(&w, " @%d\n", tr.Lines[i])
	}
	for _, rw := range tr.Rewrites {
		fmt.Fprintf(&w, "rewrite: %s, entry %d, before %d, trigger %q, encrypted %v\n", rw.Kind, rw.Index+1, rw.TokensBefore, rw.Trigger, rw.Encrypted)
	}
	for _, n := range tr.Report.Notes {
		fmt.Fprintf(&w, "%s %s ×%d at %d %s\n", n.Class, n.Kind, n.Count, n.Line, n.Example)
	}
	return w.String()
}

func listEntry(w *strings.Builder, e *session.Entry, number map[string]int) {
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		if err != nil {
			fmt.Fprintf(w, "bad message: %v", err)
			return
		}
		if of := e.CopyOf(); of != "" {
			fmt.Fprintf(w, "copy of %d ", number[of])
		}
		listMessage(w, m)
	case session.TypeCompaction:
		c, _ := e.Compaction()
		fmt.Fprintf(w, "compaction %q", c.Summary)
		if c.FirstKeptEntryID != e.ID {
			fmt.Fprintf(w, " keeps from %d", number[c.FirstKeptEntryID])
		}
		if c.SystemMessage != nil {
			fmt.Fprintf(w, " system %q", c.SystemMessage.Text())
		}
		if source := jsonx.Get(c.Details, "source"); source != nil {
			fmt.Fprintf(w, " source %s", source)
		}
	case session.TypeContextEdit:
		c, _ := e.ContextEdit()
		fmt.Fprintf(w, "edit of %d: %s", number[c.TargetID], c.Content)
	case session.TypeSessionInfo:
		name, _ := e.SessionName()
		fmt.Fprintf(w, "name %q", name)
	case session.TypeCustom:
		c, _ := e.Custom()
		fmt.Fprintf(w, "%s %s", c.CustomType, c.Data)
	default:
		fmt.Fprintf(w, "%s", e.Type)
	}
}

func listMessage(w *strings.Builder, m *message.Message) {
	w.WriteString(string(m.Role))
	switch m.Role {
	case message.RoleUser:
		if m.Source() != message.OriginUser {
			fmt.Fprintf(w, " (%s)", m.Source())
		}
	case message.RoleAssistant:
		fmt.Fprintf(w, " %s/%s", m.Provider, m.Model)
		if m.ResponseModel != "" {
			fmt.Fprintf(w, "=%s", m.ResponseModel)
		}
		fmt.Fprintf(w, " %s", m.StopReason)
		if m.ErrorMessage != "" {
			fmt.Fprintf(w, " error %q", m.ErrorMessage)
		}
		if u := m.Usage; u != nil && u.Total() > 0 {
			fmt.Fprintf(w, " usage %d+%dr+%dw>%d", u.Input, u.CacheRead, u.CacheWrite, u.Output)
		}
	case message.RoleToolResult:
		fmt.Fprintf(w, " of %s %s", m.ToolName, m.ToolCallID)
		if m.IsError {
			w.WriteString(" failed")
		}
	default:
	}
	for i := range m.Content {
		b := &m.Content[i]
		switch b.Type {
		case message.BlockText:
			fmt.Fprintf(w, " %q", b.Text)
		case message.BlockThinking:
			fmt.Fprintf(w, " thinking %q", b.Text)
			if b.Redacted {
				w.WriteString(" redacted")
			}
		case message.BlockToolCall:
			fmt.Fprintf(w, " %s(%s) %s", b.Name, b.Arguments, b.ID)
		case message.BlockImage:
			fmt.Fprintf(w, " image %s %s", b.MIMEType, b.Data)
		default:
			fmt.Fprintf(w, " %s", b.JSON())
		}
		if b.Signature != "" {
			fmt.Fprintf(w, " <%s>", b.Signature)
		}
	}
	if m.ToolsAdded != nil {
		fmt.Fprintf(w, " tools %s", m.ToolsAdded)
	}
}

// TestNoMessage: a file in which nobody says anything is refused, and the error says what
// it has instead.
func TestNoMessage(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"instructions alone": {
			`{"timestamp":"2026-01-05T15:02:01Z","type":"session_meta","payload":{"id":"0199","instructions":"Be brief."}}
{"timestamp":"2026-01-05T15:02:01Z","type":"turn_context","payload":{}}`,
			"no message in it: it looks like codex and has 1 × turn_context",
		},
		"bookkeeping alone": {
			`{"type":"file-history-snapshot","messageId":"x","snapshot":{}}
{"type":"file-history-snapshot","messageId":"y","snapshot":{}}
{"type":"user","uui`,
			"no message in it: it looks like claude-code and has 1 × lines that are not one JSON object, 2 × file-history-snapshot",
		},
	} {
		_, err := transcript.Read(strings.NewReader(tc.in), transcript.ReadOptions{})
		if !errors.Is(err, transcript.ErrEmpty) || err.Error() != tc.want {
			t.Errorf("%s: %v\nwant %s", name, err, tc.want)
		}
	}
}
