package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/clew-dev/clew/internal/vfs"
)

// Keys are the keys that the user has given to clew, by the names of the variables that
// would have them. A program that the agent starts does not see them.
type Keys struct {
	path string
	keys map[string]string
}

var (
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	errOpen  = errors.New("others may read it")
)

// KeysFile is where the keys of a user lie: beside the user's settings, "" without these.
func KeysFile(userSettings string) string {
	if userSettings == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(userSettings), "keys.json")
}

// ReadKeys reads the file with the keys: an object of JSON, "NAME": "key". No file is no
// keys. A file that others may read is refused.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path, keys: map[string]string{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	hint := "mend it, or remove it and give the key again"
	data := []byte(nil)
	switch {
	case err != nil:
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		err, hint = errOpen, "chmod 600 "+path
	default:
		data, err = os.ReadFile(path)
	}
	if err == nil {
		err = json.Unmarshal(data, &k.keys)
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys in %s: %w; %s", path, err, hint)
	}
	return k, nil
}

// Getenv reads a variable of the environment, and where that is empty the key that was
// given in its place.
func (k *Keys) Getenv(getenv func(string) string) func(string) string {
	return func(name string) string {
		if v := getenv(name); strings.TrimSpace(v) != "" {
			return v
		}
		return k.keys[name]
	}
}

// Set keeps a key for a variable, "" to forget it, in a file that only the user can read.
func (k *Keys) Set(name, key string) error {
	fail := func(err error, hint string) error {
		return fmt.Errorf("keep the key for %s in %s: %w; %s", name, k.path, err, hint)
	}
	key = strings.TrimSpace(key)
	switch {
	case !variable.MatchString(name):
		return fail(errors.New("it is no name of a variable"), "such as ANTHROPIC_API_KEY")
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return fail(errors.New("it has white space inside"), "copy the key again")
	}
	now, err := ReadKeys(k.path) // another program may have added one
	if err != nil {
		return err
	}
	if now.keys[name] = key; key == "" {
		delete(now.keys, name)
	}
	data, err := json.MarshalIndent(now.keys, "", "  ")
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(k.path), 0o700); err == nil {
			err = vfs.Replace(vfs.OS{}, k.path, 0o600, append(data, '\n'))
		}
	}
	if err != nil {
		return fail(err, "check the permissions of the folder")
	}
	k.keys = now.keys
	return nil
}
