package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
)

// Settings implements Host.
func (s *Session) Settings() []Setting {
	byName := map[string]settings.Key{}
	for _, k := range settings.Keys() {
		byName[k.Name] = k
	}
	var out []Setting
	for _, v := range s.settings().All() {
		k := byName[v.Key]
		out = append(out, Setting{Name: v.Key, Value: v.Value, Default: k.Default, From: v.Origin.String(), Text: k.Text})
	}
	return out
}

// Set implements Host.
func (s *Session) Set(ctx context.Context, name, value string) (string, error) {
	at := slices.IndexFunc(settings.Keys(), func(k settings.Key) bool { return k.Name == name })
	if at < 0 {
		e := &agent.Error{Op: "set", Subject: name, Err: errors.New("there is no such setting"), Hint: "clew settings lists them"}
		var names []string
		for _, k := range settings.Keys() {
			names = append(names, k.Name)
		}
		if near := text.Nearest(name, names); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
		return "", e
	}
	var literal json.RawMessage
	if _, err := strconv.ParseFloat(value, 64); err == nil && json.Valid([]byte(value)) || value == "true" || value == "false" {
		literal = json.RawMessage(value)
	} else {
		var err error
		if literal, err = json.Marshal(value); err != nil {
			return "", err
		}
	}
	if err := s.edit(func(data []byte) ([]byte, error) { return settings.SetMember(data, name, literal) }); err != nil {
		return "", err
	}
	for _, v := range s.settings().All() {
		if v.Key == name && v.Origin.Source != settings.FromUser {
			return fmt.Sprintf("it is written down, but %s says %s, which counts before it", v.Origin, v.Value), nil
		}
	}
	return s.takeSetting(ctx, name, value)
}

// takeSetting lets a setting count for the agent in use, as far as it can.
func (s *Session) takeSetting(ctx context.Context, name, value string) (string, error) {
	a := s.Agent()
	switch name {
	case "model":
		return "", a.SetModel(ctx, value)
	case "reasoning":
		return "", a.SetReasoning(ctx, s.settings().Reasoning)
	case "agent.mode":
		return "", a.SetMode(ctx, permission.Mode(value))
	}
	if strings.HasPrefix(name, "ui.") {
		return "it counts from the next start on", nil
	}
	return "it counts for the sessions that are opened from now on", nil
}

// Allow implements Host.
func (s *Session) Allow(_ context.Context, rules []string) error {
	u := s.use.Load()
	for _, r := range rules {
		// What is no rule is found before anything is written.
		if err := u.guard.Add(r); err != nil {
			return err
		}
	}
	return s.addToList("permissions.allow", rules)
}

func (s *Session) addToList(name string, items []string) error {
	return s.edit(func(data []byte) ([]byte, error) {
		var list []string
		if old := settings.Member(data, name); old != nil && json.Unmarshal(old, &list) != nil {
			return nil, fmt.Errorf("%s is no list of texts", name)
		}
		for _, it := range items {
			if !slices.Contains(list, it) {
				list = append(list, it)
			}
		}
		literal, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		return settings.SetMember(data, name, literal)
	})
}

// edit changes the user's settings, and takes them. What makes no settings is not written.
func (s *Session) edit(fn func([]byte) ([]byte, error)) error {
	const op = "change the settings"
	path := s.cfg.UserFile
	if path == "" {
		return &agent.Error{Op: op, Err: errors.New("the system knows no folder for settings"), Hint: "set HOME"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &agent.Error{Op: op, Subject: path, Err: err, Hint: "make it readable"}
	}
	if data, err = fn(data); err != nil {
		return &agent.Error{Op: op, Subject: path, Err: err, Hint: "look into the file"}
	}
	set, err := s.tryOut(data)
	if err != nil {
		return err
	}
	if err := settings.WriteFile(path, data); err != nil {
		return &agent.Error{Op: op, Subject: path, Err: err, Hint: "check the permissions of the folder"}
	}
	s.set = set
	return nil
}

// tryOut reads settings that are not in their file yet.
func (s *Session) tryOut(data []byte) (*settings.Settings, error) {
	dir, err := os.MkdirTemp("", "clew")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	set, err := s.load(path)
	if bad := (*settings.Error)(nil); errors.As(err, &bad) && bad.File == path {
		bad.File = s.cfg.UserFile
	}
	return set, err
}
