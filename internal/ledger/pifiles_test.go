package ledger_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func TestPiFiles(t *testing.T) {
	conv := testchat.New()
	conv.Call("read", `{"path":"./a.go"}`, "x")
	conv.Call("read", `{"path":"b.go"}`, "ENOENT").Failed()
	conv.Call("edit", `{"path":"a.go","oldText":"","newText":""}`, "failed").Failed()
	conv.Call("write", `{"path":"b.go","content":""}`, "ok")
	conv.Call("Read", `{"path":"no.go"}`, "x")
	conv.Call("read", `{"file_path":"no.go"}`, "x")
	conv.Call("read", "{\"path\":\"\U0001F600.go\"}", "x")
	conv.Call("read", "{\"path\":\"\uE000.go\"}", "x")
	byHook := func(line string) session.Item {
		e, err := session.ParseEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		path := session.Project([]*session.Entry{e})
		return path.Items[0]
	}
	items := append([]session.Item{
		{Message: &message.Message{Role: message.RoleCompactionSummary, Details: json.RawMessage(`{"readFiles":["old.go"],"modifiedFiles":["c.go"]}`)}},
		{Message: &message.Message{Role: message.RoleBranchSummary, Details: json.RawMessage(`{"readFiles":["branch.go"],"modifiedFiles":["d.go"]}`)}},
		byHook(`{"type":"compaction","id":"1","parentId":null,"summary":"s","firstKeptEntryId":"1","tokensBefore":1,"fromHook":true,"details":{"readFiles":["pi-hook.go"]}}`),
		byHook(`{"type":"branch_summary","id":"2","parentId":null,"fromId":"root","summary":"s","fromHook":true,"details":{"readFiles":["pi-hook.go"]}}`),
		byHook(`{"type":"branch_summary","id":"3","parentId":null,"fromId":"root","summary":"s","fromHook":true,"details":{"readFiles":["clew.go"],"clew":{"v":1}}}`),
	}, conv.Items()...)
	read, modified := ledger.PiFiles(items)
	if want := []string{"./a.go", "branch.go", "clew.go", "old.go", "\U0001F600.go", "\uE000.go"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	if want := []string{"a.go", "b.go", "c.go", "d.go"}; !slices.Equal(modified, want) {
		t.Errorf("modified %q, want %q", modified, want)
	}
	if read, modified = ledger.PiFiles(nil); read == nil || modified == nil {
		t.Error("no lists instead of empty ones")
	}
}

// corpus returns the folder with recorded sessions, or skips the test.
func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CLEW_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
		if _, err := os.Stat(dir); err != nil {
			t.Skip("no corpus: set CLEW_CORPUS")
		}
	}
	return dir
}

type piCut struct {
	FirstKept string `json:"firstKept"`
	Files     *struct {
		Read     []string `json:"readFiles"`
		Modified []string `json:"modifiedFiles"`
	} `json:"files"`
}

// The lists that pi computed for its cuts of random sessions. Pi leaves out what it knows from branch summaries.
func TestPiFilesAsPi(t *testing.T) {
	goldens, err := filepath.Glob(filepath.Join(corpus(t), "pi-fuzz", "*.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(goldens) == 0 {
		t.Fatal("no pi-fuzz sessions in the corpus")
	}
	compared := 0
	for _, name := range goldens {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Leaves []struct {
				Leaf string `json:"leaf"`
				Cuts []struct {
					Prep *piCut `json:"prep"`
				} `json:"cuts"`
			} `json:"leaves"`
		}
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatal(err)
		}
		store := open(t, name[:len(name)-len(".golden.json")]+".jsonl")
		for _, leaf := range golden.Leaves {
			cx, err := session.ContextAt(t.Context(), store, leaf.Leaf)
			if err != nil {
				t.Fatal(err)
			}
			for _, cut := range leaf.Cuts {
				if cut.Prep == nil || cut.Prep.Files == nil {
					continue
				}
				end := slices.IndexFunc(cx.Items, func(it session.Item) bool { return it.Entry.ID == cut.Prep.FirstKept })
				if end < 0 {
					continue // the first kept entry contributes nothing
				}
				compared++
				read, modified := ledger.PiFiles(slices.DeleteFunc(slices.Clone(cx.Items[:end]), func(it session.Item) bool {
					return it.Message.Role == message.RoleBranchSummary
				}))
				if !slices.Equal(read, cut.Prep.Files.Read) || !slices.Equal(modified, cut.Prep.Files.Modified) {
					t.Errorf("%s, leaf %s, cut at %s: read %q, modified %q; pi has %q, %q", filepath.Base(name), leaf.Leaf,
						cut.Prep.FirstKept, read, modified, cut.Prep.Files.Read, cut.Prep.Files.Modified)
				}
			}
		}
	}
	t.Logf("compared %d cuts of %d sessions", compared, len(goldens))
	if compared < 100 {
		t.Errorf("only %d cuts", compared)
	}
}

// open reads a version 3 session into memory.
func open(t *testing.T, path string) session.Store {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var entries []*session.Entry
	for i, line := range bytes.Split(data, []byte("\n")) {
		if i == 0 || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := session.ParseEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return session.NewMemory(session.Header{}, entries...)
}
