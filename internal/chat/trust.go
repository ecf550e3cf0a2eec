package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// trustKey is the user's setting that names the projects that are trusted.
const trustKey = "trustProjectHooks"

// Untrusted says what a project wants to run or to allow, and may not unless it is
// trusted: see Trust. It is empty where there is nothing.
func (s *Session) Untrusted() []string {
	return slices.DeleteFunc(slices.Clone(s.Warnings()), func(w string) bool { return !strings.Contains(w, trustKey) })
}

// Trust writes down that the project is trusted. What it may do then counts for the
// sessions that are opened from now on, its servers from the next start on.
func (s *Session) Trust(context.Context) error {
	dir := s.cfg.Dir
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".clew", "settings.json")); err == nil {
			dir = d
			break
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	return s.addToList(trustKey, []string{dir})
}

// askedFile remembers what the user was asked to trust in this project.
func (s *Session) askedFile() (path, sum string, err error) {
	dir, err := s.cfg.Home.Project(s.cfg.Dir)
	h := sha256.Sum256([]byte(strings.Join(s.Untrusted(), "\n")))
	return filepath.Join(s.cfg.Home.Dir, "history", filepath.Base(dir)+".trust"), hex.EncodeToString(h[:]), err
}

// AskTrust reports whether the user is to be asked to trust the project: once for what it
// wants, and again when it wants something else.
func (s *Session) AskTrust() bool {
	if len(s.Untrusted()) == 0 {
		return false
	}
	path, sum, err := s.askedFile()
	if err != nil {
		return false
	}
	data, err := os.ReadFile(path)
	return err != nil || string(data) != sum
}

// DontTrust remembers that the user was asked, and said no.
func (s *Session) DontTrust() error {
	path, sum, err := s.askedFile()
	if err != nil {
		return err
	}
	return replaceFile(path, []byte(sum))
}
