package settings

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
)

// Options says where settings are looked for. The zero value finds none.
type Options struct {
	// UserFile is the user's file; see UserFile. It need not be there. UserText takes the
	// place of what is in it; nil for none.
	UserFile string
	UserText []byte
	// Dir is the working directory, from which the project's file is looked for. "":
	// none is.
	Dir string
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// Flags are those that were given, by name, without dashes.
	Flags map[string]string
}

// Source is a kind of place where something is set.
type Source string

// The sources, the strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "environment"
	FromProject Source = "project"
	FromUser    Source = "user"
	FromPi      Source = "pi" // pi's own files
	FromPreset  Source = "preset"
	FromDefault Source = "default"
)

// Origin is a place where something is set.
type Origin struct {
	Source Source `json:"source"`
	Name   string `json:"name,omitempty"` // file, variable or flag
	Line   int    `json:"line,omitempty"` // in a file
}

func (o Origin) String() string {
	switch {
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case o.Source == FromFlag:
		return "--" + o.Name
	case o.Source == FromPreset:
		return "preset " + o.Name
	}
	return cmp.Or(o.Name, string(o.Source))
}

// said is what one source says of a key.
type said struct {
	text string
	from Origin
	as   string // the name it was given under
}

func (v said) bad(problem string) error {
	switch v.from.Source {
	case FromEnv:
		return &Error{Var: v.from.Name, Problem: problem}
	case FromFlag:
		return &Error{Flag: v.from.Name, Problem: problem}
	default:
		return &Error{File: v.from.Name, Line: v.from.Line, Key: v.as, Problem: problem}
	}
}

// Load reads the settings. What is wrong in any place is an error, also where a
// stronger place says something else. The error is an *Error.
func Load(opt Options) (*Settings, error) {
	s := &Settings{values: map[string]said{}}
	s.keys = s.table()
	err := s.file(opt.UserFile, opt.UserText, FromUser)
	user, _ := filepath.Abs(opt.UserFile)
	if project := projectFile(opt.Dir, ".clew"); err == nil && project != "" && project != user {
		s.Project = filepath.Dir(filepath.Dir(project))
		err = s.file(project, nil, FromProject)
	}
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for _, v := range opt.Environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			env[name] = value
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(opt.Flags)) {
		if !slices.ContainsFunc(s.keys, func(k Key) bool { return k.Flag == flag }) {
			return nil, &Error{Flag: flag, Problem: "no setting has this flag"}
		}
	}
	s.environment(env, opt.Flags)
	s.pi(opt.Dir, env)
	s.policy, _ = compact.Preset(s.values["preset"].text) // a wrong name is an error below
	for _, k := range s.keys {
		v, ok := s.values[k.Name]
		if !ok && (k.Name == "auto" || strings.HasPrefix(k.Name, "agent.") || strings.HasPrefix(k.Name, "ui.")) {
			v.text, ok = k.Default, true // of the others it is words, and the preset says it
		}
		if !ok {
			continue
		}
		if err := k.set.read(v.text); err != nil {
			return nil, v.bad(err.Error())
		}
	}
	s.slips(env)
	return s, nil
}

// environment takes what variables and flags say. A variable of another program counts with
// its preset, which is the first key, and where clew's own says nothing.
func (s *Settings) environment(env, flags map[string]string) {
	for _, k := range s.keys {
		for _, o := range k.Other {
			if v := env[o.Name]; o.Env && o.Preset == s.values["preset"].text && v != "" {
				s.values[k.Name] = said{v, Origin{FromEnv, o.Name, 0}, k.Name}
			}
		}
		if v := env[k.Env]; v != "" {
			s.values[k.Name] = said{v, Origin{FromEnv, k.Env, 0}, k.Name}
		}
		if v, ok := flags[k.Flag]; ok && k.Flag != "" {
			s.values[k.Name] = said{v, Origin{FromFlag, k.Flag, 0}, k.Name}
		}
	}
}

// pi takes what pi's own files say under its names, the project's before the user's, where
// nothing of clew's says something. They count with preset pi. What is wrong in them is
// pi's to complain of; here it is a warning.
func (s *Settings) pi(dir string, env map[string]string) {
	if s.values["preset"].text != compact.PresetPi {
		return
	}
	files := []string{projectFile(dir, ".pi")}
	if own := cmp.Or(env["PI_CODING_AGENT_DIR"], cmp.Or(env["HOME"], env["USERPROFILE"])+"/.pi/agent"); filepath.IsAbs(own) {
		files = append(files, filepath.Join(own, fileName))
	}
	keys := Keys()
	for _, path := range files {
		root, err := readFile(path)
		if err != nil {
			s.Warnings = append(s.Warnings, "pi's settings are passed over: "+err.Error())
		}
		for _, n := range root.all() {
			at := slices.IndexFunc(keys, func(k Key) bool { return k.isOther(n.name) })
			if at < 0 || s.values[keys[at].Name].text != "" {
				continue
			}
			text, err := n.scalar(keys[at].set)
			if err != nil {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s:%d: %s is passed over: %v", path, n.line, n.name, err))
				continue
			}
			s.values[keys[at].Name] = said{text, Origin{FromPi, path, n.line}, n.name}
		}
	}
}

// isOther reports whether a name is that of another program for the key in its files.
func (k *Key) isOther(name string) bool { return slices.Contains(k.Other, also(name)) }

// slips warns of variables that look like a setting and are none.
func (s *Settings) slips(env map[string]string) {
	var names []string
	for _, k := range s.keys {
		names = append(names, k.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "CLEW_") || slices.Contains(names, name) {
			continue
		}
		if near := text.Nearest(name, names); near != "" && text.Distance(name, near) <= 2 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("environment variable %s is no setting; did you mean %s?", name, near))
		}
	}
}

// UserFile returns the settings file of the user, "" where the system knows no folder
// for it.
func UserFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "clew", fileName)
}

// projectFile returns the nearest settings file of the project that a folder belongs to, which
// a program keeps in a folder of its own there, "" for none.
func projectFile(dir, own string) string {
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return ""
	}
	for _, d := range Above(abs) {
		file := filepath.Join(d, own, fileName)
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return ""
}

// Above returns a folder and those above it up to the top of its project, the one with
// .git. Without one there is nothing to say where a project ends, so it is the folder alone.
func Above(dir string) (dirs []string) {
	for d := dir; ; d = filepath.Dir(d) {
		dirs = append(dirs, d)
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return dirs
		}
		if filepath.Dir(d) == d {
			return dirs[:1]
		}
	}
}
