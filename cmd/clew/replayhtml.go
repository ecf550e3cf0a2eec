package main

import (
	"bufio"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/replay"
	"github.com/clew-dev/clew/replay/page"
)

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
	f, err := os.CreateTemp(filepath.Dir(fl.html), ".clew-replay-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	if err := page.Write(w, r, notes); err != nil {
		f.Close()
		return err
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), fl.html)
}
