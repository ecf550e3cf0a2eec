// Package demo shows a whole session of clew chat without a network and without a key: a
// model that answers by rules, on a small project whose check fails.
//
//	d, err := demo.Open(demo.Config{Pace: demo.Pace})
//	defer d.Close()
//	s, err := chat.Open(ctx, chat.Config{Dir: d.Dir, Home: d.Home, UserFile: d.UserFile,
//		Environ: d.Environ(os.Environ()), OpenModel: d.OpenModel, Events: show, Interactive: true})
//
// Only the model is made up, and it is no film: it reads the conversation it is sent, as any
// model does, and decides by what it finds there. The tools, the engine and the session file
// are those of clew chat. Its window is so small that a compaction is due within a minute.
//
// Tour says what to try, one after the other; Script is the same for the terminal to do by itself.
package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/model"
)

// project has a cookbook whose check fails, because a name is misspelt.
//
//go:embed project
var project embed.FS

func cookbook() fs.FS {
	dir, err := fs.Sub(project, "project")
	if err != nil {
		panic(err) // it is part of the program
	}
	return dir
}

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
		Model: NewModel(c.Pace, c.Clock), root: root,
	}
	if err := os.CopyFS(d.Dir, cookbook()); err != nil {
		return nil, errors.Join(fmt.Errorf("demo: its project can't be written: %w", err), d.Close())
	}
	return d, nil
}

// OpenModel returns the model, whatever the name: there is no other one.
func (d *Demo) OpenModel(string) (model.Model, error) { return d.Model, nil }

// Environ returns an environment without what would change how the demo goes, in which rules
// write the summaries: the model can't.
func (d *Demo) Environ(environ []string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), "CLEW_") })
	return append(out, "CLEW_SUMMARY_MODEL=none")
}

// Close removes all that belongs to the demo.
func (d *Demo) Close() error { return os.RemoveAll(d.root) }

// Step is something to try.
type Step struct {
	// Type is what to type.
	Type string
	// Shows says in a few words what there is to see.
	Shows string
}

// What the tour has the user say.
const (
	sayFix    = suggestion
	sayRecall = "what was the exact error at the start?"
	sayTeach  = "teach check.sh to say what was meant"
)

// Tour is what to try, one after the other.
func Tour() []Step {
	return []Step{
		{sayFix, "its window is too small for that"},
		{"/context", "what the window holds now"},
		{"/explain", "what became of each part"},
		{"/undo", "p takes the compaction back"},
		{sayRecall, "recalled from the log"},
		{"/tree", "back to the first message"},
		{sayTeach, "another way, on a branch"},
	}
}

// Script is the tour as it is typed, with the answers to what is asked: tui.Config.Script.
func Script() []string {
	return []string{
		sayFix, "/context", "/explain", "/undo", "p", "k", sayRecall,
		"/tree", sayFix, "1", "s", sayTeach,
	}
}

// Hints are the steps of the tour, a line each.
func Hints() []string {
	steps := Tour()
	widest := 0
	for _, s := range steps {
		widest = max(widest, len(s.Type))
	}
	out := []string{"A demo: the model follows rules, all else is real. Try this, one by one:"}
	for i, s := range steps {
		out = append(out, fmt.Sprintf("%d. %-*s  %s", i+1, widest, s.Type, s.Shows))
	}
	return out
}
