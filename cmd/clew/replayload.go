package main

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// replayInput is what replay was given.
type replayInput struct {
	paths   []string
	named   map[string]bool // paths that are arguments themselves
	files   int             // that were read
	unread  []unreadFile
	damaged []unreadFile // read but for some of it
	passed  int          // files of a folder that are no sessions
	err     error        // what ended the reading
}

// unreadFile is a file and what is wrong with it.
type unreadFile struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// nothing is the error of an input without a session.
func (in *replayInput) nothing() error {
	switch {
	case len(in.unread) == 1:
		return fmt.Errorf("%s: %s", in.unread[0].Path, in.unread[0].Why)
	case len(in.unread) > 0:
		return fmt.Errorf("none of %d files could be read; the first, %s: %s", len(in.unread), in.unread[0].Path, in.unread[0].Why)
	}
	return fmt.Errorf("no session found: there are %s, and none ends in .jsonl, .json or .traj and holds a conversation", count(in.passed, "file"))
}

// findReplay looks for the files that are to be read.
func findReplay(cmd *cobra.Command, args []string) (*replayInput, error) {
	in := &replayInput{named: map[string]bool{}}
	seen := map[string]bool{}
	take := func(path string) {
		if clean := filepath.Clean(path); !seen[clean] {
			seen[clean] = true
			in.paths = append(in.paths, path)
		}
	}
	for _, arg := range args {
		path, err := resolveSession(cmd.Context(), arg)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			in.named[path] = true
			take(path)
			continue
		}
		err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			switch {
			case cmd.Context().Err() != nil:
				return cmd.Context().Err()
			case err != nil:
				in.unread = append(in.unread, unreadFile{p, errorText(err)})
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
			case d.IsDir() || !d.Type().IsRegular():
			case slices.Contains([]string{".jsonl", ".json", ".traj"}, strings.ToLower(filepath.Ext(p))):
				take(p)
			default:
				in.passed++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// sessions reads the files, each when it is asked for.
func (in *replayInput) sessions(cmd *cobra.Command, pr *progress) iter.Seq[replay.Session] {
	return func(yield func(replay.Session) bool) {
		for i, p := range in.paths {
			pr.say("%s %d of %d: %s", progressBar(i, len(in.paths)), i+1, len(in.paths), filepath.Base(p))
			more, err := in.read(cmd, p, yield)
			if err != nil {
				in.err = err
				return
			}
			if !more {
				return
			}
		}
	}
}

// read reads the sessions of a file. What is wrong with it is noted; a file that was
// not named itself and is no session is passed over.
func (in *replayInput) read(cmd *cobra.Command, path string, yield func(replay.Session) bool) (more bool, err error) {
	named := in.named[path]
	for n := 0; ; n++ {
		t, err := readTranscript(path, n)
		switch {
		case err == nil:
		case !named && (errors.Is(err, transcript.ErrUnknown) || errors.Is(err, transcript.ErrEmpty)):
			in.passed++
			return true, nil
		default:
			in.unread = append(in.unread, unreadFile{path, errorText(err)})
			return true, nil
		}
		if n == 0 {
			in.files++
		}
		if bad := t.Report.Count(transcript.Damaged); bad > 0 {
			in.damaged = append(in.damaged, unreadFile{path, fmt.Sprintf("%s of it could not be read", count(bad, "part"))})
		}
		sessions, err := conversations(cmd, path, n, t)
		if err != nil {
			return false, err
		}
		for _, s := range sessions {
			if !yield(s) {
				return false, nil
			}
		}
		if n+1 >= t.Sessions {
			return true, nil
		}
	}
}

func readTranscript(path string, n int) (*transcript.Transcript, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return transcript.Read(f, transcript.ReadOptions{Select: n})
}

// conversations returns those of a session: of each root the path to the newest
// entry below it.
func conversations(cmd *cobra.Command, path string, n int, t *transcript.Transcript) ([]replay.Session, error) {
	root, newest := map[string]string{}, map[string]string{}
	var roots []string
	for _, e := range t.Entries {
		r, ok := root[e.ParentID]
		if !ok {
			r = e.ID
			roots = append(roots, r)
		}
		root[e.ID], newest[r] = r, e.ID
	}
	store := t.Store()
	var out []replay.Session
	for i, r := range roots {
		entries, err := session.Path(cmd.Context(), store, newest[r])
		if err != nil {
			return nil, err
		}
		name := path
		if t.Sessions > 1 {
			name += fmt.Sprintf("#%d", n+1)
		}
		if len(roots) > 1 {
			name += fmt.Sprintf("#root%d", i+1)
		}
		out = append(out, replay.Session{
			Name: name, Group: string(t.Format), Cwd: t.Header.Cwd, Path: entries,
			ID: fmt.Sprintf("%s %s %s", t.Format, t.Header.ID, entries[0].ID),
		})
	}
	return out, nil
}

// errorText is an error without the path that stands beside it anyway.
func errorText(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
