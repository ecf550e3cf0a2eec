package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Where things are in the recorded session, whatever machine recorded it.
const (
	sceneHome = "/home/dev"
	sceneRepo = "/home/dev/clew"
	sceneTemp = "/var/tmp"
	sceneRoot = "/usr/local/go" // of the Go installation
)

// sandbox is a temporary folder that stands for the root of a machine: it
// holds a copy of the repository, which the tools work on.
type sandbox struct {
	root   string // the folder
	goroot string
	env    []string
	hide   []string // pairs for a strings.Replacer: what is, what it is called
	bash   string
}

func newSandbox(ctx context.Context, repo string) (box *sandbox, err error) {
	top, err := capture(ctx, repo, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%w; -repo must be a git checkout", err)
	}
	root, err := os.MkdirTemp("", "clew-record-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errorsJoinRemove(err, root)
		}
	}()
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	box = &sandbox{root: root}
	for _, dir := range []string{sceneRepo, sceneTemp} {
		if err := os.MkdirAll(box.real(dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := box.environment(ctx); err != nil {
		return nil, err
	}
	if err := copyTracked(ctx, top, box.real(sceneRepo)); err != nil {
		return nil, err
	}
	return box, box.commitAll(ctx, time.Date(2026, 2, 27, 16, 40, 0, 0, time.UTC))
}

func errorsJoinRemove(err error, dir string) error {
	if e := os.RemoveAll(dir); e != nil {
		return fmt.Errorf("%w (and %s could not be removed: %w)", err, dir, e)
	}
	return err
}

// environment builds what the commands get to see. It shares the build cache
// and the module cache of the caller, so that recording is quick, under other
// names.
func (b *sandbox) environment(ctx context.Context) error {
	vars := []string{"GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB"}
	text, err := capture(ctx, ".", "go", append([]string{"env"}, vars...)...)
	if err != nil {
		return err
	}
	vals := strings.Split(text, "\n")
	if len(vals) != len(vars) {
		return fmt.Errorf("go env: got %d lines for %d variables", len(vals), len(vars))
	}
	b.goroot = vals[0]
	if b.bash, err = exec.LookPath("bash"); err != nil {
		return err
	}
	b.env = []string{
		"PATH=" + filepath.Join(b.goroot, "bin") + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + b.real(sceneHome), "USER=dev", "LOGNAME=dev",
		"TMPDIR=" + b.real(sceneTemp), "GOTMPDIR=" + b.real(sceneTemp),
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "TERM=dumb",
		"GOMAXPROCS=2", // the compiler's command lines show it
		"GOENV=off", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0",
		// Without -count=1 a second recording would say (cached).
		"GOFLAGS=-trimpath -buildvcs=false -count=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@clew.example",
		"GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@clew.example",
	}
	for i, v := range vars[1:] {
		b.env = append(b.env, v+"="+vals[i+1])
	}
	b.hide = []string{
		b.root, "",
		b.goroot, sceneRoot, // first: a tool chain may live in the module cache
		vals[1], sceneHome + "/.cache/go-build",
		vals[2], sceneHome + "/go/pkg/mod",
	}
	return nil
}

// capture runs a command of the recorder's own and returns what it printed.
func capture(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// copyTracked copies the files that git knows, but not the examples: the
// recorder must not find its own script when it searches.
func copyTracked(ctx context.Context, from, to string) error {
	list, err := capture(ctx, from, "git", "ls-files", "-z", "--cached")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(list, "\x00"), "\x00") {
		if strings.HasPrefix(name, "examples/") {
			continue
		}
		info, err := os.Lstat(filepath.Join(from, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted in the working tree, or a link
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		dst := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(dst, data, info.Mode().Perm()&0o755|0o644); err != nil {
			return err
		}
	}
	return nil
}

// commitAll gives the copy a history of one commit.
func (b *sandbox) commitAll(ctx context.Context, at time.Time) error {
	out, code, err := b.run(ctx, at, "git init -q -b main && git add -A && git commit -q -m 'Import clew'")
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("git in the copy: exit %d: %s", code, out)
	}
	return nil
}

// real returns where a path of the scene is on this machine.
func (b *sandbox) real(scene string) string { return filepath.Join(b.root, filepath.FromSlash(scene)) }

// path returns where a path that a tool was given is on this machine.
func (b *sandbox) path(p string) string {
	if rest, ok := strings.CutPrefix(p, sceneRoot+"/"); ok {
		return filepath.Join(b.goroot, filepath.FromSlash(rest))
	}
	if strings.HasPrefix(p, "/") {
		return b.real(p)
	}
	return filepath.Join(b.real(sceneRepo), filepath.FromSlash(p))
}

// run runs a command line in the copy and returns what it printed, cleaned,
// and its exit code. The commands see the time of the scene only through git.
func (b *sandbox) run(ctx context.Context, at time.Time, command string) (out string, code int, err error) {
	cmd := exec.CommandContext(ctx, b.bash, "--noprofile", "--norc", "-c", command)
	cmd.Dir = b.real(sceneRepo)
	date := at.UTC().Format(time.RFC3339)
	cmd.Env = append(slices.Clone(b.env), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	err = cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return "", 0, fmt.Errorf("%s: %w", command, err)
	}
	return b.clean(buf.String()), cmd.ProcessState.ExitCode(), nil
}

var (
	workDir  = regexp.MustCompile(`/go-(build|link-|vet)[0-9]+`)
	testLine = regexp.MustCompile(`((?:ok  |FAIL)\t)(\S+)(\t)[0-9.]+s`)
	testTime = regexp.MustCompile(`\([0-9]+\.[0-9]{2}s\)`)
	testDir  = regexp.MustCompile(`(/Test[A-Za-z0-9_]*?)[0-9]{4,}/`)
)

// clean gives the places of this machine their names in the scene, and takes
// out what differs from run to run: the numbers of temporary folders and how
// long tests took.
func (b *sandbox) clean(text string) string {
	text = strings.NewReplacer(b.hide...).Replace(text)
	text = workDir.ReplaceAllString(text, "/go-${1}1")
	text = testLine.ReplaceAllStringFunc(text, func(line string) string {
		m := testLine.FindStringSubmatch(line)
		h := fnv.New32a()
		h.Write([]byte(m[2]))
		return fmt.Sprintf("%s%s%s0.%03ds", m[1], m[2], m[3], 4+h.Sum32()%60)
	})
	text = testDir.ReplaceAllString(text, "${1}1/")
	return testTime.ReplaceAllString(text, "(0.00s)")
}

// foreign are folders of a real machine, which must not stand in a session
// that anyone recorded.
var foreign = []string{"/root", "/tmp/", "/work/", "/Users/", "/private/", "/home/"}

// unescaped makes the white space in JSON strings what it stands for, so that
// the n of an escape is no letter before a path.
var unescaped = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\n")

// foreignFolder names the first folder of a real machine in data, or nothing.
func foreignFolder(data []byte) error {
	text := unescaped.Replace(string(data))
	for _, dir := range foreign {
		for from := 0; ; {
			i := strings.Index(text[from:], dir)
			if i < 0 {
				break
			}
			i += from
			from = i + len(dir)
			switch {
			case i > 0 && inName(text[i-1]): // src/tmp/, /var/tmp/
			case dir == "/root" && from < len(text) && inName(text[from]): // /roots
			case strings.HasPrefix(text[i:], sceneHome+"/") || strings.HasPrefix(text[i:], sceneHome+`"`):
			default:
				return fmt.Errorf("it names a folder of a real machine: %q", text[max(0, i-60):min(len(text), from+60)])
			}
		}
	}
	return nil
}

// inName reports whether a byte may belong to the name of a file.
func inName(b byte) bool {
	return b == '.' || b == '_' || b == '-' || b == '~' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// leaks looks for traces of this machine in the recorded session.
func (b *sandbox) leaks(data []byte) error {
	if err := foreignFolder(data); err != nil {
		return err
	}
	names := []string{b.root}
	for i := 2; i < len(b.hide); i += 2 {
		if b.hide[i] != b.hide[i+1] {
			names = append(names, b.hide[i])
		}
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 {
		names = append(names, host)
	}
	// A short name or one that is a word of the trade says nothing.
	if u, err := user.Current(); err == nil && len(u.Username) > 3 && u.Username != "root" {
		names = append(names, u.Username)
	}
	for _, name := range names {
		if i := bytes.Index(data, []byte(name)); i >= 0 {
			return fmt.Errorf("the session contains %q of this machine: %q", name, around(data, i, i+len(name)))
		}
	}
	return nil
}

func around(data []byte, from, to int) []byte {
	return data[max(0, from-60):min(len(data), to+60)]
}

// entries lists a folder for the tools, sorted, without what git keeps.
func entries(dir string) ([]fs.DirEntry, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return e.Name() == ".git" }), nil
}
