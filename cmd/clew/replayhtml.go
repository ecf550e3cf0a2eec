package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/page"
)

// checkHTML looks whether the report can be written, before the long work.
func (fl *replayFlags) checkHTML() error {
	if fl.html == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(fl.html)); err != nil {
		return usagef("--html %s: its folder: %s", fl.html, errorText(err))
	} else if !info.IsDir() {
		return usagef("--html %s: %s is no folder", fl.html, filepath.Dir(fl.html))
	}
	if info, err := os.Stat(fl.html); err == nil && info.IsDir() {
		return usagef("--html %s: that is a folder; name a file in it", fl.html)
	}
	return nil
}

// writeHTML writes the report with plots, when it is asked for: whole or not at all.
func (fl *replayFlags) writeHTML(r *replay.Report, in *replayInput) error {
	if fl.html == "" {
		return nil
	}
	notes := page.Notes{Passed: in.passed}
	for _, f := range in.unread {
		notes.Unread = append(notes.Unread, page.File(f))
	}
	for _, f := range in.damaged {
		notes.Damaged = append(notes.Damaged, page.File(f))
	}
	if err := writePage(fl.html, r, notes); err != nil {
		return fmt.Errorf("--html %s: %s", fl.html, errorText(err))
	}
	return nil
}

func writePage(path string, r *replay.Report, notes page.Notes) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".clew-replay-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	err = cmp.Or(page.Write(w, r, notes), w.Flush())
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
