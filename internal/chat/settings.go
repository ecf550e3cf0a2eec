package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/settings"
)

// ownSettings are the settings that count in a project, and the user's file of them.
type ownSettings struct {
	cfg *Config

	mu  sync.Mutex
	set *settings.Settings
}

// trustKey is the user's setting that names the projects that are trusted.
const trustKey = "trustProjectHooks"

// Untrusted says what a project wants to run or to allow, and may not unless it is
// trusted: see Trust. It is empty where there is nothing.
func (o *ownSettings) Untrusted() []string {
	return slices.DeleteFunc(slices.Clone(o.Warnings()), func(w string) bool { return !strings.Contains(w, trustKey) })
}

// Trust writes down that the project is trusted. What it may do then counts for the
// sessions that are opened from now on, its servers from the next start on.
func (o *ownSettings) Trust(context.Context) error {
	dir := o.cfg.Dir
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".clew", "settings.json")); err == nil {
			dir = d
			break
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	return o.addToList(trustKey, []string{dir})
}

// askedFile remembers what the user was asked to trust in this project.
func (o *ownSettings) askedFile() (path, sum string, err error) {
	dir, err := o.cfg.Home.Project(o.cfg.Dir)
	h := sha256.Sum256([]byte(strings.Join(o.Untrusted(), "\n")))
	return filepath.Join(o.cfg.Home.Dir, "history", filepath.Base(dir)+".trust"), hex.EncodeToString(h[:]), err
}

// AskTrust reports whether the user is to be asked to trust the project: once for what it
// wants, and again when it wants something else.
func (o *ownSettings) AskTrust() bool {
	if len(o.Untrusted()) == 0 {
		return false
	}
	path, sum, err := o.askedFile()
	if err != nil {
		return false
	}
	data, err := os.ReadFile(path)
	return err != nil || string(data) != sum
}

// DontTrust remembers that the user was asked, and said no.
func (o *ownSettings) DontTrust() error {
	path, sum, err := o.askedFile()
	if err != nil {
		return err
	}
	return settings.WriteFile(path, []byte(sum))
}

// load reads the settings, the user's from a file.
func (o *ownSettings) load(userFile string) (*settings.Settings, error) {
	return settings.Load(settings.Options{UserFile: userFile, Dir: o.cfg.Dir, Environ: o.cfg.Environ, Flags: o.cfg.Flags})
}

// settings are those that count by now.
func (o *ownSettings) settings() *settings.Settings {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.set
}

// Warnings says what of the settings was passed over, and why.
func (o *ownSettings) Warnings() []string { return o.settings().Warnings }

// UI says how the terminal looks.
func (o *ownSettings) UI() settings.UI { return o.settings().UI }

// Settings implements rpc.Host.
func (o *ownSettings) Settings() []rpc.Setting {
	byName := map[string]settings.Key{}
	for _, k := range settings.Keys() {
		byName[k.Name] = k
	}
	var out []rpc.Setting
	for _, v := range o.settings().All() {
		k := byName[v.Key]
		out = append(out, rpc.Setting{Name: v.Key, Value: v.Value, Default: k.Default, From: v.Origin.String(), Text: k.Text})
	}
	return out
}

// addToList adds what is not there yet to a list in the user's settings.
func (o *ownSettings) addToList(name string, items []string) error {
	return o.edit(func(data []byte) ([]byte, error) {
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
func (o *ownSettings) edit(fn func([]byte) ([]byte, error)) error {
	const op = "change the settings"
	path := o.cfg.UserFile
	if path == "" {
		return &agent.Error{Op: op, Err: errors.New("the system knows no folder for settings"), Hint: "set HOME"}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &agent.Error{Op: op, Subject: path, Err: err, Hint: "make it readable"}
	}
	if data, err = fn(data); err != nil {
		return &agent.Error{Op: op, Subject: path, Err: err, Hint: "look into the file"}
	}
	set, err := o.tryOut(data)
	if err != nil {
		return err
	}
	if err := settings.WriteFile(path, data); err != nil {
		return &agent.Error{Op: op, Subject: path, Err: err, Hint: "check the permissions of the folder"}
	}
	o.set = set
	return nil
}

// tryOut reads settings that are not in their file yet.
func (o *ownSettings) tryOut(data []byte) (*settings.Settings, error) {
	dir, err := os.MkdirTemp("", "clew")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	set, err := o.load(path)
	if bad := (*settings.Error)(nil); errors.As(err, &bad) && bad.File == path {
		bad.File = o.cfg.UserFile
	}
	return set, err
}
