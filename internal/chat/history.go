package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const (
	// maxLines is how many typed lines are kept for a project.
	maxLines = 500
	// maxLine is how long one is at most, in bytes.
	maxLine = 16 << 10
)

// historyFile has what was typed in the project, a JSON string a line.
func (s *Session) historyFile() (string, error) {
	dir, err := s.cfg.Home.Project(s.cfg.Dir)
	return filepath.Join(s.cfg.Home.Dir, "history", filepath.Base(dir)+".jsonl"), err
}

// History implements Host.
func (s *Session) History() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readHistory()
	return slices.Clone(s.lines)
}

func (s *Session) readHistory() {
	if s.haveRead {
		return
	}
	s.haveRead = true
	s.lines = append(s.typed(), s.lines...)
}

// typed reads the file. What can't be read is passed over.
func (s *Session) typed() (lines []string) {
	path, err := s.historyFile()
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

// Remember implements Host. Several programs may do it at the same time: a line is
// appended. The same line twice in a row is kept once.
func (s *Session) Remember(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readHistory()
	if line == "" || len(line) > maxLine || len(s.lines) > 0 && s.lines[len(s.lines)-1] == line {
		return
	}
	s.lines = append(s.lines, line)
	if err := s.remember(line); err != nil {
		s.warn(fmt.Errorf("what was typed can't be kept: %w", err))
	}
}

func (s *Session) remember(line string) error {
	path, err := s.historyFile()
	if err != nil {
		return err
	}
	if len(s.lines) > maxLines*2 {
		s.lines = slices.Clone(s.lines[len(s.lines)-maxLines:])
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLines*maxLine/8 {
		if err := s.trimHistory(path); err != nil {
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
func (s *Session) trimHistory(path string) error {
	var b bytes.Buffer
	lines := s.typed()
	for _, line := range lines[len(lines)/2:] {
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		b.Write(append(data, '\n'))
	}
	return replaceFile(path, b.Bytes())
}
