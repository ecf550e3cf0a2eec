//go:build !windows

package jsonl_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// The names beside a session that are derived from its own.
var derived = []string{".lock", ".cut", ".migrating", ".bak", ".new"}

// A link at any derived name, as a cloned repository may hold one, is never written
// through, read, or removed: what needs the name refuses, and says what is there.
// The session itself stays as it was. (Issue 11, defect 1.1.)
func TestLinksBesideASessionAreNotFollowed(t *testing.T) {
	current := lines(head3, msg("a", "")) + "\necho pwned #" // with a torn end
	old := lines(head1, old("a"), old("b"))
	for _, name := range derived {
		for _, op := range []struct {
			name string
			data string
			do   func(path string) error
			uses string // derived names that it needs
		}{
			{"append", current, appendTo, ".lock .cut"},
			{"migrate", old, appendTo, ".lock .migrating .bak"},
			{"purge", current, func(path string) error {
				_, err := jsonl.Purge(ctx, path, jsonl.PurgeOptions{Text: "pwned"})
				return err
			}, ".lock .cut .migrating .bak .new"},
			{"remove", current, func(path string) error {
				_, err := jsonl.Remove(ctx, path)
				return err
			}, ".lock .cut .migrating .bak .new"},
			{"create", "", func(path string) error {
				f, err := jsonl.Create(ctx, path, testHeader, jsonl.Options{})
				if err == nil {
					err = f.Close()
				}
				return err
			}, ".lock"},
			{"repair to", "", func(path string) error {
				_, err := jsonl.Repair(ctx, write(t, current), path)
				return err
			}, ""},
		} {
			for _, target := range []string{"a file", "nothing", "a pipe", "a folder"} {
				dir := t.TempDir()
				path, precious := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "precious")
				if op.data != "" {
					must(t, os.WriteFile(path, []byte(op.data), 0o600))
				}
				switch target {
				case "a file":
					must(t, os.WriteFile(precious, []byte("export A=1\n"), 0o600))
				case "a pipe": // opening it would wait for ever
					must(t, syscall.Mkfifo(precious, 0o600))
				case "a folder":
					must(t, os.Mkdir(precious, 0o700))
				}
				must(t, os.Symlink("precious", path+name))
				err := op.do(path)
				var notFile *vfs.NotFileError
				var rich *session.Error
				switch {
				case !strings.Contains(op.uses, name):
					must(t, err)
				case !errors.As(err, &notFile) || !errors.As(err, &rich) || rich.Hint == "" || strings.Count(err.Error(), "a symbolic link to precious") != 1:
					t.Errorf("%s with %s as a link to %s: error %v", op.name, name, target, err)
				case op.data != "" && read(t, path) != op.data:
					t.Errorf("%s with %s as a link to %s: the session was changed", op.name, name, target)
				}
				if to, err := os.Readlink(path + name); err != nil || to != "precious" {
					t.Errorf("%s: the link %s to %s is gone", op.name, name, target)
				}
				if target == "a file" && read(t, precious) != "export A=1\n" {
					t.Errorf("%s followed %s: %q", op.name, name, read(t, precious))
				}
				if _, err := os.Lstat(precious); target == "nothing" && err == nil {
					t.Errorf("%s made a file where %s leads", op.name, name)
				}
			}
		}
	}
}

func appendTo(path string) error {
	f, err := openQuick(path)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{})
	if err == nil {
		_, err = log.Append(ctx, user("hello"))
	}
	return err
}

// A session that the user names by a symbolic link is the file it leads to.
func TestSessionNamedByALinkHasItsFilesBesideTheFile(t *testing.T) {
	p := write(t, lines(head3, msg("a", ""))+`{"torn`)
	link := filepath.Join(t.TempDir(), "link.jsonl")
	must(t, os.Symlink(p, link))
	must(t, appendTo(link))
	if got := read(t, p+".cut"); got != "{\"torn\n" {
		t.Errorf("cut off: %q", got)
	}
	if left, _ := filepath.Glob(link + ".*"); len(left) > 0 {
		t.Errorf("%v beside the link", left)
	}
	if to, err := os.Readlink(link); err != nil || to != p {
		t.Error("the link is no link any more")
	}
}
