// Package home knows where sessions live: a data folder by the platform's convention, in it one folder for each
// project, in that one file for each session, named by time and id.
//
// Package sessions lists them. Any other path works as well: a session is its file, and nothing in it says where it lies.
package home

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// envDir is the environment variable that names another data folder.
const envDir = "CLEW_DATA_DIR"

// Home is a data folder.
type Home struct {
	Dir string // its path. It need not exist.
}

// Default returns the data folder of the user: $CLEW_DATA_DIR, or clew in $XDG_DATA_HOME or ~/.local/share, in
// ~/Library/Application Support on macOS, in %LocalAppData% on Windows.
func Default() (Home, error) {
	dir, err := defaultDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return Home{}, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("the data folder: %w", err)
	}
	return Home{dir}, nil
}

// Of returns the data folder that an environment names, for a user's home.
func Of(getenv func(string) string, userHome string) (Home, error) {
	dir, err := defaultDir(runtime.GOOS, getenv, func() (string, error) { return userHome, nil })
	return Home{dir}, err
}

func defaultDir(goos string, getenv func(string) string, userHome func() (string, error)) (string, error) {
	if dir := getenv(envDir); dir != "" {
		return dir, nil
	}
	// A relative $XDG_DATA_HOME is invalid and to be ignored (XDG Base Directory Specification).
	if dir := getenv("XDG_DATA_HOME"); goos != "windows" && goos != "darwin" && filepath.IsAbs(dir) {
		return filepath.Join(dir, "clew"), nil
	}
	if goos == "windows" {
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "clew"), nil
		}
	}
	user, err := userHome()
	if err != nil {
		return "", errors.New("no home folder to keep sessions in; set " + envDir + " to a folder")
	}
	switch goos {
	case "windows":
		return filepath.Join(user, "AppData", "Local", "clew"), nil
	case "darwin":
		return filepath.Join(user, "Library", "Application Support", "clew"), nil
	}
	return filepath.Join(user, ".local", "share", "clew"), nil
}

// Sessions returns the folder of all sessions.
func (h Home) Sessions() string { return filepath.Join(h.Dir, "sessions") }

// Database returns the folder of what belongs to sessions in databases and is kept on this machine.
func (h Home) Database() string { return filepath.Join(h.Dir, "database") }

// Project returns the folder of the sessions of a project: its name, for people, and a
// hash of its path. The same folder reached by a symbolic link is the same project.
func (h Home) Project(cwd string) (string, error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return "", fmt.Errorf("the folder of the project: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	sum := sha256.Sum256([]byte(filepath.ToSlash(abs)))
	return filepath.Join(h.Sessions(), readable(filepath.Base(abs), "project")+"-"+hex.EncodeToString(sum[:6])), nil
}

// maxReadable keeps the names of files short enough for every file system.
const maxReadable = 40

// readable keeps what every file system takes in a name; without any of that it is fallback.
func readable(base, fallback string) string {
	name := []rune(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, base))
	short := strings.Trim(string(name[:min(len(name), maxReadable)]), "._-")
	if short == "" {
		return fallback
	}
	return short
}

// NewHeader returns the header of a new session. Without a clock it is of now, without newID its id is random.
func NewHeader(cwd string, clock func() time.Time, newID func() string) session.Header {
	if clock == nil {
		clock = time.Now
	}
	h := session.Header{Version: session.Version, Cwd: cwd, Timestamp: clock()}
	if newID != nil {
		h.ID = newID()
		return h
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read
	h.ID = hex.EncodeToString(b[:])
	return h
}

// Create makes a new session of the project in cwd, with NewHeader, and opens it for writing.
func (h Home) Create(ctx context.Context, cwd string, clock func() time.Time, newID func() string, opt jsonl.Options) (*jsonl.File, error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return nil, fmt.Errorf("the folder of the project: %w", err)
	}
	dir, err := h.Project(abs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &session.Error{
			Op: "create a session in", Subject: dir, Err: err,
			Hint: "check who may write there, or set " + envDir + " to another folder",
		}
	}
	header := NewHeader(abs, clock, newID)
	return jsonl.Create(ctx, filepath.Join(dir, FileName(header.Timestamp, header.ID)), header, opt)
}

// FileName returns the name of a session's file: it sorts by time.
func FileName(at time.Time, id string) string {
	return at.UTC().Format("2006-01-02T15-04-05.000Z") + "_" + readable(id, "session") + ".jsonl"
}
