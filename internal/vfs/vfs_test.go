package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

var errTest = errors.New("test")

func hello(w io.Writer) error {
	_, err := io.WriteString(w, "hello")
	return err
}

func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "(nothing)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A new file is there whole, with its permissions, and never takes the place of
// another one.
func TestNewFiles(t *testing.T) {
	for name, make := range map[string]func(FS, string, fs.FileMode, func(io.Writer) error) error{"WriteNew": WriteNew, "Publish": Publish} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "f")
			if err := make(OS{}, p, 0o600, hello); err != nil {
				t.Fatal(err)
			}
			if content(t, p) != "hello" || len(left(t, filepath.Dir(p))) != 1 {
				t.Errorf("%q, %v", content(t, p), left(t, filepath.Dir(p)))
			}
			if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
				t.Errorf("%v %v", info.Mode(), err)
			}
			err := make(OS{}, p, 0o600, func(w io.Writer) error { _, err := io.WriteString(w, "other"); return err })
			if !errors.Is(err, fs.ErrExist) || content(t, p) != "hello" {
				t.Errorf("error %v, %q", err, content(t, p))
			}
			other := filepath.Join(filepath.Dir(p), "other")
			if err := make(OS{}, other, 0o600, func(io.Writer) error { return errTest }); !errors.Is(err, errTest) || len(left(t, filepath.Dir(p))) != 1 {
				t.Errorf("error %v, %v", err, left(t, filepath.Dir(p)))
			}
			// What stands in the way of the name that is written first is no obstacle.
			if err := os.WriteFile(other+".new", []byte("left"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := make(OS{}, other, 0o600, hello); err != nil || content(t, other) != "hello" {
				t.Errorf("error %v, %q", err, content(t, other))
			}
		})
	}
}

// Each step of them fails once: no file is left, or a whole one where the error
// was not one of writing.
func TestNewFilesUnderFaults(t *testing.T) {
	for name, make := range map[string]func(FS, string, fs.FileMode, func(io.Writer) error) error{"WriteNew": WriteNew, "Publish": Publish} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				p := filepath.Join(t.TempDir(), "f")
				failed := ""
				f := &Fault{FS: OS{}, At: func(k int, op, _ string) (int, error) {
					// Whenever a part of the file stands under the name, it is a bug of Publish.
					if got := content(t, p); name == "Publish" && failed != "link" && got != "(nothing)" && got != "hello" {
						t.Errorf("%q stands under the name before %s", got, op)
					}
					if k == n {
						failed = op
						return 2, errTest
					}
					return 0, nil
				}}
				err := make(f, p, 0o600, hello)
				if failed == "" {
					if err != nil || f.Count() != n-1 {
						t.Errorf("error %v after %d operations", err, f.Count())
					}
					return
				}
				switch got := content(t, p); {
				case err == nil && got == "hello" && (failed == "remove" || failed == "link"):
				case errors.Is(err, errTest) && got == "(nothing)":
				default:
					t.Errorf("operation %d, %s: error %v, %q", n, failed, err, got)
				}
			}
		})
	}
}

func TestFault(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	var ops []string
	fail, short := "", -1
	f := &Fault{FS: OS{}, At: func(n int, op, name string) (int, error) {
		if n != len(ops)+1 {
			t.Errorf("operation %d is numbered %d", len(ops)+1, n)
		}
		ops = append(ops, op)
		if op == fail {
			return 3, errTest
		}
		return 0, nil
	}, Short: func(n int) { short = n }}
	if _, err := f.OpenFile(p, os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	fail = "create"
	if _, err := f.OpenFile(p, os.O_CREATE|os.O_RDWR, 0o600); !errors.Is(err, errTest) || content(t, p) != "(nothing)" {
		t.Errorf("error %v", err)
	}
	fail = ""
	file, err := f.OpenFile(p, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n, err := file.Write([]byte("hello")); n != 5 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	fail = "write"
	if n, err := file.Write([]byte("there")); n != 3 || !errors.Is(err, errTest) || short != 3 || content(t, p) != "hellothe" {
		t.Errorf("%d %v %d %q", n, err, short, content(t, p))
	}
	for _, c := range []struct {
		op string
		do func() error
	}{
		{"sync", file.Sync},
		{"truncate", func() error { return file.Truncate(1) }},
		{"rename", func() error { return f.Rename(p, p+"2") }},
		{"link", func() error { return f.Link(p, p+"2") }},
		{"remove", func() error { return f.Remove(p) }},
		{"syncdir", func() error { return f.SyncDir(dir) }},
	} {
		fail = c.op
		if err := c.do(); !errors.Is(err, errTest) || content(t, p) != "hellothe" || len(left(t, dir)) != 1 {
			t.Errorf("%s: error %v", c.op, err)
		}
	}
	fail = ""
	for _, do := range []func() error{
		file.Sync,
		func() error { return file.Truncate(5) },
		func() error { return f.SyncDir(dir) },
		func() error { return f.Link(p, p+"2") },
		func() error { return f.Remove(p + "2") },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	if content(t, p) != "hello" || f.Count() != len(ops) {
		t.Errorf("%q after %d operations, %v", content(t, p), f.Count(), ops)
	}
}

// A program that is killed while it publishes a file leaves nothing, where the
// system has files without names. (Issue 11, defect 1.8: OUT.new of a killed repair.)
func TestPublishThatIsCutOffLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has files without names")
	}
	dir := t.TempDir()
	func() {
		defer func() { _ = recover() }()
		_ = Publish(OS{}, filepath.Join(dir, "f"), 0o600, func(w io.Writer) error {
			_, _ = io.WriteString(w, "hel")
			if names := left(t, dir); len(names) > 0 {
				t.Errorf("a kill would leave %v", names)
			}
			panic("killed")
		})
	}()
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("%v are left", names)
	}
}

// What has the name of a file of ours and is none is neither opened nor removed.
func TestOwnFilesAreNoLinks(t *testing.T) {
	dir := t.TempDir()
	p, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := os.WriteFile(p, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	_, rerr := ReadOwn(OS{}, link)
	_, oerr := OpenOwn(OS{}, link, os.O_WRONLY|os.O_CREATE, 0o600)
	for _, err := range []error{rerr, oerr, RemoveOwn(OS{}, link), CheckOwn(OS{}, link), CheckOwn(OS{}, dir)} {
		if _, ok := errors.AsType[*NotFileError](err); !ok {
			t.Errorf("error %v", err)
		}
	}
	if f, err := (OS{}).OpenFile(link, os.O_RDONLY|NoFollow, 0); err == nil && NoFollow != 0 {
		_ = f.Close()
		t.Error("the system follows the link")
	}
	if data, err := ReadOwn(OS{}, p); err != nil || string(data) != "hello" {
		t.Error(err)
	}
	if err := errors.Join(RemoveOwn(OS{}, p), RemoveOwn(OS{}, p), CheckOwn(OS{}, p)); err != nil || len(left(t, dir)) != 1 {
		t.Error(err)
	}
}
