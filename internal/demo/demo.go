package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/model"
)

// Pace is the time of a word that can be read along.
const Pace = 25 * time.Millisecond

// Config says how the demo goes. The zero value is as fast as the machine.
type Config struct {
	// Folder is where the demo makes a folder of its own. Default: that of the system for
	// temporary files.
	Folder string
	// Pace is the time of a word. Default: 0, none.
	Pace time.Duration
	// Clock is for tests. Default: time.Now.
	Clock func() time.Time
}

// Demo is a project, a place for sessions and settings, and a model. All of it is gone after
// Close.
type Demo struct {
	// Dir is the project.
	Dir string
	// Home is where the sessions are, UserFile the settings of the user: there are none
	// at first.
	Home     home.Home
	UserFile string
	// Model answers.
	Model *Model

	root string
}

// Open lays the project out.
func Open(c Config) (*Demo, error) {
	root, err := os.MkdirTemp(c.Folder, "clew-demo-")
	if err != nil {
		return nil, fmt.Errorf("demo: no folder can be made for it: %w; set TMPDIR to one that can be written", err)
	}
	d := &Demo{
		Dir: filepath.Join(root, "cookbook"), Home: home.Home{Dir: filepath.Join(root, "data")}, UserFile: filepath.Join(root, "settings.json"),
		Model: NewModel(ModelConfig{Pace: c.Pace, Clock: c.Clock}), root: root,
	}
	if err = os.Mkdir(d.Dir, 0o700); err == nil {
		err = layOut(d.Dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: its project can't be written: %w", err), d.Close())
	}
	return d, nil
}

// OpenModel returns the model, whatever the name: there is no other one.
func (d *Demo) OpenModel(string) (model.Model, error) { return d.Model, nil }

// Environ returns an environment without what would change how the demo goes.
func (d *Demo) Environ(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), "CLEW_") })
}

// Close removes all that belongs to the demo.
func (d *Demo) Close() error { return os.RemoveAll(d.root) }
