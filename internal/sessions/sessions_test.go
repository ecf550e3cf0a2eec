package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
)

func TestCreateListFindRemove(t *testing.T) {
	ctx := context.Background()
	h := home.Home{Dir: filepath.Join(t.TempDir(), "data")}
	one, two := t.TempDir(), t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	create := func(cwd, id, text string) string {
		t.Helper()
		at = at.Add(time.Hour)
		clock := func() time.Time { return at }
		f, err := h.Create(ctx, cwd, clock, func() string { return id }, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		log, err := session.NewLog(ctx, f, session.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(ctx, session.Message(message.User(text, at)), session.NewSessionInfo("name of "+id)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return f.Path()
	}
	for _, cwd := range []string{"", one} {
		if found, err := In(ctx, h, cwd); err != nil || len(found) != 0 {
			t.Fatalf("before the first session: %v, %v", found, err)
		}
	}
	pa := create(one, "aaaa1111", "first")
	create(one, "aaaa2222", "second")
	create(two, "bbbb1111", "third")
	if base := filepath.Base(pa); base != "2026-03-01T13-00-00.000Z_aaaa1111.jsonl" {
		t.Errorf("the file is called %s", base)
	}

	l, err := In(ctx, h, one)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(l); got != "aaaa2222 aaaa1111" {
		t.Errorf("the project has %q, want the newest first", got)
	}
	first := l[1]
	if first.Name != "name of aaaa1111" || first.First != "first" || first.Cwd != one || !first.Last.Equal(at.Add(-2*time.Hour)) {
		t.Errorf("listed as %+v", first)
	}
	if l, _ := In(ctx, h, ""); ids(l) != "bbbb1111 aaaa2222 aaaa1111" {
		t.Errorf("all: %q", ids(l))
	}
	for id, want := range map[string]int{"aaaa": 2, "aaaa1": 1, "b": 1, "bbbb1111": 1, "c": 0, "": 0} {
		if found, err := Find(ctx, h, id); err != nil || len(found) != want {
			t.Errorf("Find(%q): %d sessions, %v; want %d", id, len(found), err, want)
		}
	}

	for _, end := range []string{".cut", ".bak", ".bak2", ".migrating", ".bakery", "x"} {
		if err := os.WriteFile(pa+end, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := jsonl.Remove(ctx, pa)
	if err != nil || len(removed) != 5 {
		t.Errorf("removed %q, %v; want the session and four files of its own", removed, err)
	}
	left, _ := filepath.Glob(pa + "*")
	if len(left) != 2 {
		t.Errorf("left: %q; want .bakery and x, which are not the session's", left)
	}
}

func TestFolderListsSessionsOfAnyProgram(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	files := map[string]string{
		"session.jsonl": `{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T00:00:00.000Z","cwd":"/x"}` + "\n",
		"claude.jsonl":  `{"type":"user","sessionId":"x","uuid":"u","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hello"}}` + "\n",
		"empty.jsonl":   "",
		"package.json":  `{"name":"x"}`,
		"notes.txt":     "hello",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	found, other, err := Folder(ctx, dir)
	if err != nil || len(found) != 2 || other != 2 || found[0].ID != "s1" || found[1].Program != transcript.ClaudeCode {
		t.Errorf("%+v, %d others, %v; want two sessions, the newest first, and two others", found, other, err)
	}
	_, _, err = Folder(ctx, filepath.Join(dir, "nowhere"))
	var rich *session.Error
	if !errors.As(err, &rich) || rich.Hint == "" {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, _, err := Folder(ctx, filepath.Join(dir, "notes.txt")); err == nil || !strings.Contains(err.Error(), "name the folder") {
		t.Errorf("a file: %v", err)
	}
}

func ids(found []Found) string {
	var out []string
	for _, s := range found {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}
