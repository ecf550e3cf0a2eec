package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

func TestDefaultDir(t *testing.T) {
	root := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	user := func() (string, error) { return at("user"), nil }
	nobody := func() (string, error) { return "", errors.New("no home") }
	for _, tc := range []struct {
		name, goos string
		env        map[string]string
		user       func() (string, error)
		want       string
	}{
		{"linux", "linux", nil, user, at("user", ".local", "share", "clew")},
		{"linux with XDG", "linux", map[string]string{"XDG_DATA_HOME": at("xdg")}, user, at("xdg", "clew")},
		{"a relative XDG folder is ignored", "linux", map[string]string{"XDG_DATA_HOME": "xdg"}, user, at("user", ".local", "share", "clew")},
		{"macOS has no XDG", "darwin", map[string]string{"XDG_DATA_HOME": at("xdg")}, user, at("user", "Library", "Application Support", "clew")},
		{"Windows", "windows", map[string]string{"LocalAppData": at("local")}, nobody, at("local", "clew")},
		{"Windows without its variable", "windows", nil, user, at("user", "AppData", "Local", "clew")},
		{"the variable wins", "linux", map[string]string{envDir: at("mine"), "XDG_DATA_HOME": at("xdg")}, nobody, at("mine")},
	} {
		got, err := defaultDir(tc.goos, func(k string) string { return tc.env[k] }, tc.user)
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
		}
	}
	if _, err := defaultDir("linux", func(string) string { return "" }, nobody); err == nil || !strings.Contains(err.Error(), envDir) {
		t.Errorf("without a home folder: %v, want an error that names %s", err, envDir)
	}
}

func TestProjectFolders(t *testing.T) {
	h := Home{t.TempDir()}
	work := t.TempDir()
	seen := map[string]string{}
	for _, name := range []string{"app", "app-1", "app 1", "app_1", "项目", "a/app", "b/app", strings.Repeat("long", 60), "nul", ".", "…"} {
		got, err := h.Project(filepath.Join(work, name))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q share %s", name, other, got)
		}
		seen[got] = name
		if filepath.Dir(got) != filepath.Join(h.Dir, "sessions") {
			t.Errorf("%q lies at %s, which is not below the data folder", name, got)
		}
		if base := filepath.Base(got); len([]rune(base)) > 60 || !regexp.MustCompile(`^[\pL\d][\pL\d._-]*-[0-9a-f]{12}$`).MatchString(base) {
			t.Errorf("%q gives the folder %q", name, base)
		}
	}
	got, _ := h.Project(filepath.Join(work, "项目"))
	if !strings.HasPrefix(filepath.Base(got), "项目-") {
		t.Errorf("the folder of 项目 is %s", got)
	}
}

func TestProjectThroughLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	h := Home{t.TempDir()}
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	a, _ := h.Project(dir)
	b, _ := h.Project(link)
	if a != b {
		t.Errorf("%s and, through a link, %s", a, b)
	}
}

func TestRemoveThroughLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	ctx := context.Background()
	h := Home{t.TempDir()}
	f, err := h.Create(ctx, t.TempDir(), nil, nil, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Symlink(f.Path(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Remove(ctx, link); !errors.Is(err, jsonl.ErrLocked) {
		t.Errorf("while the session is open: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	removed, err := jsonl.Remove(ctx, link)
	if err != nil || len(removed) != 2 {
		t.Errorf("removed %q, %v; want the session and the link", removed, err)
	}
	for _, path := range []string{f.Path(), link} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestRemoveRefuses(t *testing.T) {
	ctx := context.Background()
	h := Home{t.TempDir()}
	f, err := h.Create(ctx, t.TempDir(), nil, nil, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := jsonl.Remove(ctx, f.Path()); !errors.Is(err, jsonl.ErrLocked) || !strings.HasPrefix(err.Error(), "remove ") {
		t.Errorf("a session that is open: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.WriteFile(other, []byte(`{"a":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Remove(ctx, other); !errors.Is(err, session.ErrNotSession) {
		t.Errorf("a file that is no session: %v", err)
	}
	for _, path := range []string{f.Path(), other} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
}

// TestPeekReadsEndsOnly shows that of what stands in the middle of a large file the
// name alone is found, and that only near the end, and what stands at its ends is.
func TestPeekReadsEndsOnly(t *testing.T) {
	ctx := context.Background()
	h := Home{t.TempDir()}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f, err := h.Create(ctx, t.TempDir(), func() time.Time { return at }, nil, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{Clock: func() time.Time { at = at.Add(time.Minute); return at }})
	if err != nil {
		t.Fatal(err)
	}
	filler := session.Message(message.User(strings.Repeat("filler ", 30_000), at))
	add := func(d session.Draft) {
		t.Helper()
		if _, err := log.Append(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	add(session.NewSessionInfo("early name"))
	add(session.Message(message.User("the first words", at)))
	add(filler)
	add(session.NewSessionInfo("a name before it"))
	add(session.NewSessionInfo("a name in the middle"))
	add(filler)
	if info, err := jsonl.Peek(ctx, f.Path()); err != nil || info.Name != "a name in the middle" {
		t.Errorf("%q, %v", info.Name, err)
	}
	for range 20 {
		add(filler)
	}
	info, err := jsonl.Peek(ctx, f.Path())
	if err != nil || info.Name != "early name" || info.First != "the first words" {
		t.Errorf("%+v, %v", info, err)
	}
	if !info.Last.Equal(info.Modified) {
		t.Errorf("the last record is longer than what is looked at; Last is %v, not the file's time %v", info.Last, info.Modified)
	}
	add(session.NewSessionInfo("late name"))
	if info, _ = jsonl.Peek(ctx, f.Path()); info.Name != "late name" || !info.Last.Equal(at) {
		t.Errorf("after another name: %q at %v, want the late name at %v", info.Name, info.Last, at)
	}
}
