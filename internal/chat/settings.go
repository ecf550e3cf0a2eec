package chat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
)

// trustKey is the user's setting that names the projects that are trusted.
const trustKey = "trustProjectHooks"

// Untrusted says what a project wants to run or to allow, and may not unless it is
// trusted: see Trust. It is empty where there is nothing.
func (h *Host) Untrusted() []string {
	return slices.DeleteFunc(slices.Clone(h.Warnings()), func(w string) bool { return !strings.Contains(w, trustKey) })
}

// Trust writes down that the project is trusted. What it may do then counts for the
// sessions that are opened from now on, its servers from the next start on.
func (h *Host) Trust(context.Context) error {
	return h.addToList(trustKey, []string{cmp.Or(h.settings().Project, h.cfg.Dir)})
}

// asked is what the user was asked to trust in this project, and the file that remembers it.
func (h *Host) asked() (path string, sum []byte, err error) {
	path, err = h.cfg.ofProject(".trust")
	of := sha256.Sum256([]byte(strings.Join(h.Untrusted(), "\n")))
	return path, []byte(hex.EncodeToString(of[:])), err
}

// AskTrust reports whether the user is to be asked to trust the project: once for what it
// wants, and again when it wants something else.
func (h *Host) AskTrust() bool {
	path, sum, err := h.asked()
	if err != nil || len(h.Untrusted()) == 0 {
		return false
	}
	data, err := os.ReadFile(path)
	return err != nil || string(data) != string(sum)
}

// DontTrust remembers that the user was asked, and said no.
func (h *Host) DontTrust() error {
	path, sum, err := h.asked()
	if err != nil {
		return err
	}
	return settings.WriteFile(path, sum)
}

// load reads the settings; those of the user from text, unless that is nil.
func (h *Host) load(text []byte) (*settings.Settings, error) {
	return settings.Load(settings.Options{UserFile: h.cfg.UserFile, UserText: text, Dir: h.cfg.Dir, Environ: h.cfg.Environ, Flags: h.cfg.Flags})
}

// settings are those that count by now.
func (h *Host) settings() *settings.Settings { return h.set.Load() }

// Warnings says what of the settings was passed over, and why.
func (h *Host) Warnings() []string { return h.settings().Warnings }

// UI says how the terminal looks.
func (h *Host) UI() settings.UI { return h.settings().UI }

// Settings implements rpc.Host.
func (h *Host) Settings() []rpc.Setting {
	byName := map[string]settings.Key{}
	for _, k := range settings.Keys() {
		byName[k.Name] = k
	}
	var out []rpc.Setting
	for _, v := range h.settings().All() {
		k := byName[v.Key]
		out = append(out, rpc.Setting{Name: v.Key, Value: v.Value, Default: k.Default, From: v.Origin.String(), Text: k.Text})
	}
	return out
}

// addToList adds what is not there yet to a list in the user's settings.
func (h *Host) addToList(name string, items []string) error {
	return h.edit(func(data []byte) ([]byte, error) {
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
func (h *Host) edit(fn func([]byte) ([]byte, error)) error {
	path := h.cfg.UserFile
	if path == "" {
		return &agent.Error{Op: "change the settings", Err: errors.New("the system knows no folder for settings"), Hint: "set HOME"}
	}
	h.editing.Lock()
	defer h.editing.Unlock()
	var set *settings.Settings
	err := settings.EditFile(path, func(data []byte) (_ []byte, err error) {
		if data, err = fn(data); err == nil {
			set, err = h.load(data)
		}
		return data, err
	})
	switch {
	case errors.As(err, new(*settings.Error)):
		return err
	case err != nil:
		return &agent.Error{Op: "change the settings", Subject: path, Err: err, Hint: "look into the file, and check its permissions and those of its folder"}
	}
	h.set.Store(set)
	return nil
}

// Set implements rpc.Host.
func (h *Host) Set(ctx context.Context, name, value string) (string, error) {
	var names []string
	for _, k := range settings.Keys() {
		names = append(names, k.Name)
	}
	if !slices.Contains(names, name) {
		hint := "clew settings lists them"
		if near := text.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		return "", &agent.Error{Op: "set", Subject: name, Err: errors.New("there is no such setting"), Hint: hint}
	}
	literal := []byte(value)
	if _, err := strconv.ParseFloat(value, 64); (err != nil || !json.Valid(literal)) && value != "true" && value != "false" {
		if literal, err = json.Marshal(value); err != nil {
			return "", err
		}
	}
	if err := h.edit(func(data []byte) ([]byte, error) { return settings.SetMember(data, name, literal) }); err != nil {
		return "", err
	}
	for _, v := range h.settings().All() {
		if v.Key == name && v.Origin.Source != settings.FromUser {
			return fmt.Sprintf("it is written down, but %s says %s, which counts before it", v.Origin, v.Value), nil
		}
	}
	switch a := h.Agent(); {
	case name == "model":
		return "", a.SetModel(ctx, value)
	case name == "reasoning":
		return "", a.SetReasoning(ctx, h.settings().Reasoning)
	case name == "agent.mode":
		return "", a.SetMode(ctx, permission.Mode(value))
	case strings.HasPrefix(name, "ui."):
		return "it counts from the next start on", nil
	}
	return "it counts for the sessions that are opened from now on", nil
}

// Allow implements rpc.Host.
func (h *Host) Allow(_ context.Context, rules []string) error {
	guard := h.Agent().Guard()
	for _, r := range rules {
		// What is no rule is found before anything is written.
		if err := guard.Add(r); err != nil {
			return err
		}
	}
	return h.addToList("permissions.allow", rules)
}
