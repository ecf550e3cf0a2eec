package transcript_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// corpus returns the files of recorded sessions.
func corpus(t testing.TB) []string {
	t.Helper()
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "*", "*"))
	if err != nil || len(files) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there are no sessions in it: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	return files
}

func readFile(t testing.TB, path string, opt transcript.ReadOptions) *transcript.Transcript {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := transcript.Read(f, opt)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tr
}

func TestCorpus(t *testing.T) {
	files := corpus(t)
	t.Logf("%d recorded sessions", len(files))
	ctx := context.Background()
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tr := readFile(t, file, transcript.ReadOptions{})
			if want := filepath.Base(filepath.Dir(file)); string(tr.Format) != want {
				t.Errorf("taken for %s (%s), and it stands in the folder %s", tr.Format, tr.Why, want)
			}
			leaf := tr.Entries[len(tr.Entries)-1].ID
			c, err := session.ContextAt(ctx, tr.Store(), leaf)
			if err != nil {
				t.Fatal(err)
			}
			var msgs []*message.Message
			var target wire.Target
			for _, it := range c.Items {
				msgs = append(msgs, it.Message)
				if it.Message.Role == message.RoleAssistant {
					target = wire.Target{Provider: it.Message.Provider, Model: it.Message.Model, TakesImages: true}
				}
			}
			for _, p := range []wire.Profile{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini} {
				if _, _, err := wire.Build(msgs, p, target, wire.Options{SettleMissing: true}); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
			}
		})
	}
}
