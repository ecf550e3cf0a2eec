package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/replay"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// replayInput is what replay was given.
type replayInput struct {
	sessions []replay.Session
	files    int
	unread   []unreadFile
	damaged  []unreadFile // read but for some of it
	passed   int          // files of a folder that are no sessions
	again    []unreadFile // sessions that another file holds too
	seen     map[string]int
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

// loadReplay reads the files and folders that are named.
func loadReplay(cmd *cobra.Command, pr *progress, args []string) (*replayInput, error) {
	in := &replayInput{}
	var paths []string
	named := map[string]bool{}
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
			paths = append(paths, path)
			named[path] = true
			continue
		}
		err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				in.unread = append(in.unread, unreadFile{p, errorText(err)})
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir() || !d.Type().IsRegular():
				return nil
			case slices.Contains([]string{".jsonl", ".json", ".traj"}, strings.ToLower(filepath.Ext(p))):
				paths = append(paths, p)
			default:
				in.passed++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for i, p := range paths {
		if err := cmd.Context().Err(); err != nil {
			return nil, err
		}
		if clean := filepath.Clean(p); seen[clean] {
			continue
		} else {
			seen[clean] = true
		}
		pr.say("reading %d of %d: %s", i+1, len(paths), p)
		if err := in.read(cmd, p, named[p]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// read reads the sessions of a file. What is wrong with it is noted; a file that was
// not named itself and is no session is passed over.
func (in *replayInput) read(cmd *cobra.Command, path string, named bool) error {
	for n := 0; ; n++ {
		t, err := readTranscript(path, n)
		switch {
		case err == nil:
		case errors.Is(err, transcript.ErrUnknown) && !named, errors.Is(err, transcript.ErrEmpty) && !named:
			in.passed++
			return nil
		default:
			in.unread = append(in.unread, unreadFile{path, errorText(err)})
			return nil
		}
		if n == 0 {
			in.files++
		}
		if bad := t.Report.Count(transcript.Damaged); bad > 0 {
			in.damaged = append(in.damaged, unreadFile{path, fmt.Sprintf("%s of it could not be read", count(bad, "part"))})
		}
		if err := in.add(cmd, path, n, t); err != nil {
			return err
		}
		if n+1 >= t.Sessions {
			return nil
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

// add takes the conversations of a session: of each root the path to the newest
// entry below it.
func (in *replayInput) add(cmd *cobra.Command, path string, n int, t *transcript.Transcript) error {
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
	for i, r := range roots {
		entries, err := session.Path(cmd.Context(), store, newest[r])
		if err != nil {
			return err
		}
		name := path
		if t.Sessions > 1 {
			name += fmt.Sprintf("#%d", n+1)
		}
		if len(roots) > 1 {
			name += fmt.Sprintf("#root%d", i+1)
		}
		in.take(fmt.Sprint(t.Format, t.Header.ID, entries[0].ID), replay.Session{Name: name, Group: string(t.Format), Cwd: t.Header.Cwd, Path: entries})
	}
	return nil
}

// take takes a conversation in. Of one that several files hold, as they do where a
// program saves it again and again, the longest counts.
func (in *replayInput) take(key string, s replay.Session) {
	i, ok := in.seen[key]
	if !ok {
		if in.seen == nil {
			in.seen = map[string]int{}
		}
		in.seen[key] = len(in.sessions)
		in.sessions = append(in.sessions, s)
		return
	}
	longer, shorter := &in.sessions[i], &s
	if len(s.Path) > len(longer.Path) {
		longer, shorter = shorter, longer
	}
	in.again = append(in.again, unreadFile{shorter.Name, "the same session as " + longer.Name + ", which is used"})
	in.sessions[i] = *longer
}

// errorText is an error without the path that stands beside it anyway.
func errorText(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
