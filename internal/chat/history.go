package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/settings"
)

const (
	// maxLines is how many typed lines are kept for a project.
	maxLines = 500
	// maxLine is how long one is at most, in bytes.
	maxLine = 16 << 10
)

// history is what was typed in a project.
type history struct {
	home home.Home
	dir  string
	warn func(error)

	mu       sync.Mutex
	lines    []string
	haveRead bool
}

// historyFile has what was typed in the project, a JSON string a line.
func (h *history) historyFile() (string, error) {
	dir, err := h.home.Project(h.dir)
	return filepath.Join(h.home.Dir, "history", filepath.Base(dir)+".jsonl"), err
}

// DraftFile keeps what was typed in the project and not sent when clew was left.
func (h *history) DraftFile() (string, error) {
	path, err := h.historyFile()
	return strings.TrimSuffix(path, ".jsonl") + ".draft", err
}

// History implements rpc.Host.
func (h *history) History() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readHistory()
	return slices.Clone(h.lines)
}

func (h *history) readHistory() {
	if h.haveRead {
		return
	}
	h.haveRead = true
	h.lines = append(h.typed(), h.lines...)
}

// typed reads the file. What can't be read is passed over.
func (h *history) typed() (lines []string) {
	path, err := h.historyFile()
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
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
func (h *history) Remember(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readHistory()
	if line == "" || len(line) > maxLine || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if err := h.remember(line); err != nil {
		h.warn(fmt.Errorf("can't save the history of prompts: %w", err))
	}
}

func (h *history) remember(line string) error {
	path, err := h.historyFile()
	if err != nil {
		return err
	}
	if len(h.lines) > maxLines*2 {
		h.lines = slices.Clone(h.lines[len(h.lines)-maxLines:])
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLines*maxLine/8 {
		if err := h.trimHistory(path); err != nil {
			return err
		}
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// trimHistory leaves the newest lines in the file.
func (h *history) trimHistory(path string) error {
	var b bytes.Buffer
	lines := h.typed()
	for _, line := range lines[len(lines)/2:] {
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		b.Write(append(data, '\n'))
	}
	return settings.WriteFile(path, b.Bytes())
}
