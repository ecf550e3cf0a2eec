package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/clew-dev/clew/internal/settings"
)

const (
	// maxLines is how many typed lines are kept for a project.
	maxLines = 500
	// maxLine is how long one is at most, in bytes.
	maxLine = 16 << 10
)

// ofProject names a file of clew's about the project.
func (c *Config) ofProject(ending string) (string, error) {
	dir, err := c.Home.Project(c.Dir)
	return filepath.Join(c.Home.Dir, "history", filepath.Base(dir)+ending), err
}

// history is what was typed in a project, in a file with a JSON string a line.
type history struct {
	mu    sync.Mutex
	lines []string
	read  bool
}

// DraftFile keeps what was typed in the project and not sent when clew was left.
func (h *Host) DraftFile() (string, error) { return h.cfg.ofProject(".draft") }

// History implements rpc.Host.
func (h *Host) History() []string {
	h.history.mu.Lock()
	defer h.history.mu.Unlock()
	return slices.Clone(h.typedLines())
}

// typedLines are the lines of the file as it was at first, and those of this run.
func (h *Host) typedLines() []string {
	if path, err := h.cfg.ofProject(".jsonl"); err == nil && !h.history.read {
		h.history.lines = typed(path)
	}
	h.history.read = true
	return h.history.lines
}

// typed reads the file. What can't be read is passed over.
func typed(path string) (lines []string) {
	data, _ := os.ReadFile(path)
	for raw := range bytes.SplitSeq(data, []byte("\n")) {
		var line string
		if json.Unmarshal(raw, &line) == nil && line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-maxLines):]
}

// Remember implements rpc.Host. Several programs may do it at the same time: a line is
// appended. The same line twice in a row is kept once.
func (h *Host) Remember(line string) {
	h.history.mu.Lock()
	defer h.history.mu.Unlock()
	lines := h.typedLines()
	if line == "" || len(line) > maxLine || len(lines) > 0 && lines[len(lines)-1] == line {
		return
	}
	h.history.lines = append(slices.Clone(lines[max(0, len(lines)+1-2*maxLines):]), line)
	path, err := h.cfg.ofProject(".jsonl")
	if err == nil {
		err = remember(path, line)
	}
	if err != nil {
		h.warn(fmt.Errorf("can't save the history of prompts: %w", err))
	}
}

// remember appends a line to the file. One that has grown large keeps its newest lines.
func remember(path, line string) error {
	info, err := os.Stat(path)
	large := err == nil && info.Size() > maxLines*maxLine/8
	lines := []string{line}
	if large {
		old := typed(path)
		lines = append(old[len(old)/2:], line)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	if large {
		return settings.WriteFile(path, b.Bytes())
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}
