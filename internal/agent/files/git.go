package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/agent/tool"
)

const (
	gitTime      = 3 * time.Second // for one look at a repository; what takes longer is not looked at again
	maxUntracked = 5000            // files that git does not know
	maxNew       = 64 << 20        // bytes of these
	maxChanged   = 500             // files that a command has changed, and are kept
	maxContent   = 64 << 20        // bytes of these
)

// Git sees what commands change in a project, where it is in a git repository. It looks
// with an index and a store of objects of its own: the user's repository is not written to.
// Files that git ignores are not seen.
type Git struct {
	dir     string
	environ []string

	mu   sync.Mutex
	tmp  string // "" until it is used
	env  []string
	off  []string // settings that turn the filters off: names and values
	last error    // why it is not used any more
}

// NewGit returns one for a project. environ is that of the commands.
func NewGit(dir string, environ []string) *Git { return &Git{dir: dir, environ: environ} }

// Close removes what it needed.
func (g *Git) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = fs.ErrClosed
	if g.tmp == "" {
		return nil
	}
	return os.RemoveAll(g.tmp)
}

// Look returns the state of the project's files, for Changes; "" where there is no
// repository, or looking would take too long.
func (g *Git) Look(ctx context.Context) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	tree, err := g.look(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) && g.tmp != "" {
		g.last = err // where there is no repository there may be one later
	}
	return tree
}

func (g *Git) look(ctx context.Context) (string, error) {
	if g.tmp == "" {
		if err := g.start(ctx); err != nil {
			return "", err
		}
	}
	untracked, err := g.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return "", err
	}
	add, count, size := "--all", 0, int64(0)
	for name := range bytes.SplitSeq(untracked, []byte{0}) {
		if info, err := os.Lstat(filepath.Join(g.dir, string(name))); err == nil {
			count, size = count+1, size+info.Size()
		}
	}
	if count > maxUntracked || size > maxNew {
		add = "--update"
	}
	if _, err := g.git(ctx, nil, "add", add, "--ignore-errors", "--", "."); err != nil {
		return "", err
	}
	tree, err := g.git(ctx, nil, "write-tree")
	return strings.TrimSpace(string(tree)), err
}

// start makes the index, a copy of the user's so that what was not changed is not read.
func (g *Git) start(ctx context.Context) error {
	out, err := g.git(ctx, nil, "rev-parse", "--path-format=absolute", "--git-path", "index", "--git-path", "objects")
	if err != nil {
		return err
	}
	index, objects, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	tmp, err := os.MkdirTemp("", "clew-git-")
	if err != nil {
		return err
	}
	g.tmp = tmp
	if err := os.Mkdir(filepath.Join(tmp, "objects"), 0o700); err != nil {
		return err
	}
	own := filepath.Join(tmp, "index")
	if data, err := os.ReadFile(index); err == nil {
		if err := os.WriteFile(own, data, 0o600); err != nil {
			return err
		}
	}
	filters, _ := g.git(ctx, nil, "config", "-z", "--name-only", "--get-regexp", `^filter\.`) // fails where there are none
	for name := range strings.SplitSeq(string(filters), "\x00") {
		if at := strings.LastIndexByte(name, '.'); at > 0 {
			g.off = append(g.off, name[:at]+".clean", "", name[:at]+".process", "", name[:at]+".required", "false")
		}
	}
	g.env = []string{"GIT_INDEX_FILE=" + own, "GIT_OBJECT_DIRECTORY=" + filepath.Join(tmp, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects}
	return nil
}

// git runs git without what a repository may have it run: monitors, hooks and filters.
func (g *Git) git(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = g.dir, in, time.Second
	set := append([]string{"core.fsmonitor", "false", "core.hooksPath", os.DevNull, "core.autocrlf", "false", "core.safecrlf", "false"}, g.off...)
	cmd.Env = append(append(append([]string{}, g.environ...), g.env...), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(set)/2))
	for i := 0; i < len(set); i += 2 { // as arguments, names with a "=" in them could not be written
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, set[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, set[i+1]))
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}

// Changes returns what has changed since a look. What is too much to keep is left out.
func (g *Git) Changes(ctx context.Context, since string) ([]tool.Change, error) {
	now := ""
	if since != "" {
		now = g.Look(ctx)
	}
	if now == "" || now == since {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	top, err := g.git(ctx, nil, "rev-parse", "--path-format=absolute", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	raw, err := g.git(ctx, nil, "diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", since, now)
	if err != nil {
		return nil, err
	}
	// Each is ":100644 100755 OLD NEW M", a NUL, the name, a NUL.
	fields := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	var out []tool.Change
	var ask strings.Builder
	for i := 0; i+1 < len(fields) && len(out) < maxChanged; i += 2 {
		about := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(about) != 5 || !regular(about[0]) || !regular(about[1]) || about[2] == about[3] {
			continue
		}
		c := tool.Change{Path: filepath.Join(strings.TrimSpace(string(top)), filepath.FromSlash(fields[i+1])), Mode: 0o644}
		if about[0] == "100755" || about[1] == "100755" {
			c.Mode = 0o755
		}
		out = append(out, c)
		ask.WriteString(about[2] + "\n" + about[3] + "\n")
	}
	contents, err := g.contents(ctx, ask.String())
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Before, out[i].After = contents[2*i], contents[2*i+1]
		out[i].Lost = bytes.HasPrefix(out[i].Before, []byte("version https://git-lfs.")) // what stands for the content
	}
	return out, nil
}

func regular(mode string) bool { return mode == "100644" || mode == "100755" || mode == "000000" }

// contents returns the content of objects, nil for none.
func (g *Git) contents(ctx context.Context, names string) ([][]byte, error) {
	sizes, err := g.git(ctx, strings.NewReader(names), "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for line := range strings.Lines(string(sizes)) {
		n, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64) // of what is missing there is none
		if total += n; total > maxContent {
			return nil, errors.New("a command has changed more than can be kept")
		}
	}
	all, err := g.git(ctx, strings.NewReader(names), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for range strings.Count(names, "\n") {
		head, rest, _ := bytes.Cut(all, []byte("\n"))
		words := strings.Fields(string(head)) // NAME blob SIZE, or NAME missing
		if len(words) != 3 {
			out, all = append(out, nil), rest
			continue
		}
		n, err := strconv.Atoi(words[2])
		if err != nil || n < 0 || n >= len(rest) {
			return nil, fmt.Errorf("git cat-file: %q is no answer", head)
		}
		out, all = append(out, rest[:n:n]), rest[n+1:]
	}
	return out, nil
}
