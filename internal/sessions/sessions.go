// Package sessions finds session files: those of the data folder, and those of other programs where these keep them.
//
//	found, err := sessions.In(ctx, h, cwd)
//	for _, s := range found {
//		fmt.Println(s.ID, s.Name, s.Path)
//	}
package sessions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Found is a session file, as both its ends show it.
type Found struct {
	transcript.Glance
	Program  transcript.Format // whose it is; Clew for those of the data folder
	Path     string
	Size     int64     // in bytes
	Modified time.Time // of the file
}

// Clew is the name of the sessions in the data folder, whose format is that of pi.
const Clew transcript.Format = "clew"

// In reports whether a session belongs to the project in a folder. Old versions of Gemini CLI
// name the folder by its hash alone.
func (f *Found) In(dir string) bool {
	if f.Cwd == "" && f.Format == transcript.GeminiCLI {
		sum := sha256.Sum256([]byte(dir))
		return strings.Contains(f.Path, hex.EncodeToString(sum[:]))
	}
	return f.Cwd == dir || f.Cwd != "" && vfs.Real(f.Cwd) == vfs.Real(dir)
}

// Fullness says how much of its window a context takes, or its size where the window is not
// known; "" where neither is.
func (f *Found) Fullness() string {
	switch {
	case f.Tokens == 0:
		return ""
	case f.Window == 0:
		return fmt.Sprintf("%dk", max((f.Tokens+500)/1000, 1))
	}
	return fmt.Sprintf("%d %%", f.Tokens*100/f.Window)
}

// program says where another program keeps its sessions.
type program struct {
	format transcript.Format
	env    string   // a variable that names its folder
	folder []string // below the user's home, where the variable is not set
	files  []string // patterns below the folder; ** is any number of folders
}

// programs are those whose folders are known. Each is from the program's documentation or
// source: Claude Code, Codex (codex-rs/rollout), Gemini CLI (packages/core/src/services),
// GitHub Copilot CLI, pi (packages/coding-agent).
var programs = []program{
	{transcript.ClaudeCode, "CLAUDE_CONFIG_DIR", []string{".claude"}, []string{"projects/*/*.jsonl"}},
	{transcript.Codex, "CODEX_HOME", []string{".codex"}, []string{"sessions/**/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"}},
	{transcript.GeminiCLI, "", []string{".gemini"}, []string{"tmp/*/chats/*.json", "tmp/*/chats/*.jsonl"}},
	{transcript.CopilotCLI, "COPILOT_HOME", []string{".copilot"}, []string{"session-state/*/events.jsonl", "session-state/*.jsonl"}},
	{transcript.OpenCode, "", []string{".local", "share", "opencode"}, nil}, // see openCodeSessions
	{transcript.Pi, "PI_CODING_AGENT_DIR", []string{".pi", "agent"}, []string{"sessions/*/*.jsonl"}},
}

// Programs returns the names of the programs whose sessions Elsewhere finds.
func Programs() []transcript.Format {
	var out []transcript.Format
	for _, p := range programs {
		out = append(out, p.format)
	}
	return out
}

// dir returns the folder of the program.
func (p *program) dir(getenv func(string) string, userHome string) string {
	if p.env != "" {
		if dir := getenv(p.env); dir != "" {
			return dir
		}
	}
	return filepath.Join(append([]string{userHome}, p.folder...)...)
}

// ProgramDir returns the folder in which a program keeps what is its own, empty for one
// that Programs does not name.
func ProgramDir(name transcript.Format, getenv func(string) string, userHome string) string {
	i := slices.IndexFunc(programs, func(p program) bool { return p.format == name })
	if i < 0 {
		return ""
	}
	return programs[i].dir(getenv, userHome)
}

// Elsewhere lists the sessions of other programs, or of those named, where these keep
// them, newest first. Clew, if it is named, stands for the data folder. Of each file only
// the ends are read. other counts files that are no sessions; what can't be read is among
// them.
func Elsewhere(ctx context.Context, getenv func(string) string, userHome string, names ...transcript.Format) (found []Found, other int, err error) {
	var paths []place
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.format) {
			continue
		}
		dir := p.dir(getenv, userHome)
		for _, pattern := range p.files {
			paths = append(paths, match(p.format, dir, strings.Split(pattern, "/"))...)
		}
	}
	if slices.Contains(names, Clew) {
		h, err := home.Of(getenv, userHome)
		if err != nil {
			return nil, 0, err
		}
		paths = append(paths, files(h)...)
	}
	var asked []Found
	var failed bool
	var wg sync.WaitGroup
	if len(names) == 0 || slices.Contains(names, transcript.OpenCode) {
		wg.Go(func() { asked, failed = openCodeSessions(ctx, getenv, userHome) })
	}
	found, other, err = look(ctx, paths)
	wg.Wait()
	found = append(found, asked...)
	if failed {
		other++
	}
	newestFirst(found)
	return found, other, err
}

func newestFirst(found []Found) {
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Path, b.Path))
	})
}

// files are those of all sessions in the data folder.
func files(h home.Home) []place { return match(Clew, h.Sessions(), []string{"*", "*.jsonl"}) }

// Folder lists the sessions of any program in a folder, newest first.
func Folder(ctx context.Context, dir string) (found []Found, other int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, folderError(dir, err)
	}
	var paths []place
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && slices.Contains([]string{".jsonl", ".json", ".traj"}, ext) {
			paths = append(paths, place{path: filepath.Join(dir, e.Name())})
		}
	}
	return look(ctx, paths)
}

// In lists the sessions in the data folder of the project in cwd, of all projects if it is empty, newest first. What can't be read is
// left out.
func In(ctx context.Context, h home.Home, cwd string) ([]Found, error) {
	files := files(h)
	if cwd != "" {
		dir, err := h.Project(cwd)
		if err != nil {
			return nil, err
		}
		files = match(Clew, dir, []string{"*.jsonl"})
	}
	found, _, err := look(ctx, files)
	return found, err
}

// Find returns the sessions, in all projects, whose id is the given one, or begins so when there is none with that id.
func Find(ctx context.Context, h home.Home, id string) ([]Found, error) {
	all, _, err := look(ctx, files(h))
	return WithID(all, id), err
}

// WithID returns those sessions whose id is the given one, or begins so when there is none with that id.
func WithID(all []Found, id string) (found []Found) {
	exact := slices.DeleteFunc(slices.Clone(all), func(f Found) bool { return f.ID != id })
	if id == "" || len(exact) > 0 {
		return exact
	}
	return slices.DeleteFunc(slices.Clone(all), func(f Found) bool { return !strings.HasPrefix(f.ID, id) })
}

func folderError(dir string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	hint := "check who may read the folder"
	if errors.Is(err, fs.ErrNotExist) {
		hint = "check the path"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
		if st, serr := os.Stat(dir); serr == nil && !st.IsDir() {
			hint = "name the folder the file is in"
		}
	}
	return &session.Error{Op: "list", Subject: dir, Err: err, Hint: hint}
}

// place is a file, and whose folder it is in.
type place struct {
	program transcript.Format
	path    string
}

// look looks at files.
func look(ctx context.Context, paths []place) (found []Found, other int, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := make(chan place)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for at := range work {
				f, err := glance(at)
				mu.Lock()
				// Gemini CLI leaves files in which nothing is said where a session goes on.
				if err == nil && (f.First != "" || f.ID != "" && f.Format != transcript.GeminiCLI) {
					found = append(found, f)
				} else {
					other++
				}
				mu.Unlock()
			}
		})
	}
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		work <- path
	}
	close(work)
	wg.Wait()
	newestFirst(found)
	return found, other, ctx.Err()
}

// glance looks at a file.
func glance(at place) (Found, error) {
	path := at.path
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return Found{}, fs.ErrInvalid // a pipe would make us wait
	}
	f, err := os.Open(path)
	if err != nil {
		return Found{}, err
	}
	defer f.Close()
	g, err := transcript.Peek(f, info.Size())
	if g.Last.IsZero() {
		g.Last = info.ModTime()
	}
	if at.program == transcript.GeminiCLI && g.Cwd == "" {
		g.Cwd = geminiOwner(filepath.Dir(filepath.Dir(path)))
	}
	return Found{Glance: g, Program: cmp.Or(at.program, g.Format), Path: path, Size: info.Size(), Modified: info.ModTime()}, err
}

// match lists the files below a folder that fit a pattern, by its parts. A folder that
// can't be read has none.
func match(whose transcript.Format, dir string, parts []string) (out []place) {
	if parts[0] == "**" {
		out = match(whose, dir, parts[1:])
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		fits, _ := filepath.Match(parts[0], e.Name())
		switch {
		case parts[0] == "**":
			if e.IsDir() {
				out = append(out, match(whose, name, parts)...)
			}
		case !fits:
		case len(parts) > 1:
			if e.IsDir() {
				out = append(out, match(whose, name, parts[1:])...)
			}
		case !e.IsDir() && !strings.HasPrefix(e.Name(), "agent-"): // work of an agent that another one started
			out = append(out, place{whose, name})
		}
	}
	return out
}
