package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
)

// Options says where settings are looked for. The zero value finds none.
type Options struct {
	// UserFile is the user's file; see UserFile. It need not be there.
	UserFile string
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
	case o.Name != "":
		return o.Name
	}
	return string(o.Source)
}

// said is what one source says of a key.
type said struct {
	text string
	from Origin
	as   string // the name it was given under
}

func (v said) bad(problem string) error {
	e := &Error{Key: v.as, Problem: problem}
	switch v.from.Source {
	case FromEnv:
		e.Var, e.Key = v.from.Name, ""
	case FromFlag:
		e.Flag = v.from.Name
	default:
		e.File, e.Line = v.from.Name, v.from.Line
	}
	return e
}

// Load reads the settings. What is wrong in any place is an error, also where a
// stronger place says something else. The error is an *Error.
func Load(opt Options) (*Settings, error) {
	l := &loader{s: &Settings{Auto: true, Agent: defaultAgent(), UI: UI{Theme: ThemeAuto}, values: map[string]said{}}, keys: Keys()}
	l.s.keys = l.keys
	if opt.UserFile != "" {
		if err := l.file(opt.UserFile, FromUser); err != nil {
			return nil, err
		}
	}
	if project := projectFile(opt.Dir, ".clew"); opt.Dir != "" && project != "" && !same(project, opt.UserFile) {
		if err := l.file(project, FromProject); err != nil {
			return nil, err
		}
	}
	env := variables(opt.Environ)
	for _, k := range l.keys {
		if v := env[k.Env]; v != "" {
			l.s.values[k.Name] = said{v, Origin{FromEnv, k.Env, 0}, k.Name}
		}
		if v, ok := opt.Flags[k.Flag]; ok && k.Flag != "" {
			l.s.values[k.Name] = said{v, Origin{FromFlag, k.Flag, 0}, k.Name}
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(opt.Flags)) {
		if !slices.ContainsFunc(l.keys, func(k Key) bool { return k.Flag == flag }) {
			return nil, &Error{Flag: flag, Problem: "no setting has this flag"}
		}
	}
	l.others(env)
	l.pi(opt.Dir, env)
	if err := l.apply(); err != nil {
		return nil, err
	}
	l.slips(env)
	return l.s, nil
}

func same(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			env[name] = value
		}
	}
	return env
}

type loader struct {
	s    *Settings
	keys []Key
}

// others takes the variables of other programs that count with the preset. Where clew's
// own variable or a flag says something, they do not.
func (l *loader) others(env map[string]string) {
	preset := l.s.values["preset"].text
	for _, k := range l.keys {
		if s := l.s.values[k.Name].from.Source; s == FromEnv || s == FromFlag {
			continue
		}
		for _, o := range k.Other {
			if v := env[o.Name]; o.Env && o.Preset == preset && v != "" {
				l.s.values[k.Name] = said{v, Origin{FromEnv, o.Name, 0}, k.Name}
			}
		}
	}
}

// pi takes what pi's own files say under its names, the project's before the user's, where
// nothing of clew's says something. They count with preset pi. What is wrong in them is
// pi's to complain of; here it is a warning.
func (l *loader) pi(dir string, env map[string]string) {
	if l.s.values["preset"].text != compact.PresetPi {
		return
	}
	var files []string
	if own := cmp.Or(env["PI_CODING_AGENT_DIR"], cmp.Or(env["HOME"], env["USERPROFILE"])+"/.pi/agent"); filepath.IsAbs(own) {
		files = append(files, filepath.Join(own, fileName))
	}
	if dir != "" {
		files = append(files, projectFile(dir, ".pi"))
	}
	for _, path := range files {
		if path == "" {
			continue
		}
		root, err := readFile(path)
		if err != nil {
			l.s.Warnings = append(l.s.Warnings, "pi's settings are passed over: "+err.Error())
		}
		for _, k := range l.keys {
			have, ok := l.s.values[k.Name]
			name, n := root.other(k)
			if n == nil || ok && have.from.Source != FromPi {
				continue
			}
			text, err := scalarText(n)
			if err == nil {
				err = k.set(&Settings{}, text)
			}
			if err != nil {
				l.s.Warnings = append(l.s.Warnings, fmt.Sprintf("%s:%d: %s is passed over: %v", path, n.line, name, err))
				continue
			}
			l.s.values[k.Name] = said{text, Origin{FromPi, path, n.line}, name}
		}
	}
}

// other finds the value that stands under another name of a key in files, if there is one.
func (n *node) other(k Key) (name string, found *node) {
	if n == nil {
		return "", nil
	}
	for _, kid := range n.kids {
		if slices.ContainsFunc(k.Other, func(o Other) bool { return !o.Env && o.Name == kid.name }) {
			return kid.name, kid
		}
		if name, found = kid.other(k); found != nil {
			return name, found
		}
	}
	return "", nil
}

// apply reads the values that count.
func (l *loader) apply() error {
	for _, k := range l.keys {
		v, ok := l.s.values[k.Name]
		if !ok {
			continue
		}
		if err := k.set(l.s, v.text); err != nil {
			return v.bad(err.Error())
		}
	}
	return nil
}

// slips warns of variables that look like a setting and are none.
func (l *loader) slips(env map[string]string) {
	var names []string
	for _, k := range l.keys {
		names = append(names, k.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "CLEW_") || slices.Contains(names, name) {
			continue
		}
		if near := text.Nearest(name, names); near != "" && text.Distance(name, near) <= 2 {
			l.s.Warnings = append(l.s.Warnings, fmt.Sprintf("environment variable %s is no setting; did you mean %s?", name, near))
		}
	}
}

// file takes what a file says.
func (l *loader) file(path string, from Source) error {
	root, err := readFile(path)
	if err != nil || root == nil {
		return err
	}
	in := &inFile{loader: l, path: path, from: from, seen: map[string]int{}}
	for _, n := range root.kids {
		if err := in.take(n); err != nil {
			return err
		}
	}
	return nil
}

// inFile reads one file.
type inFile struct {
	*loader
	path string
	from Source
	seen map[string]int // key → line
}

func (f *inFile) bad(n *node, problem, hint string) error {
	return &Error{File: f.path, Line: n.line, Key: n.name, Problem: problem, Hint: hint}
}

func (f *inFile) take(n *node) error {
	switch n.name {
	case "models":
		return f.models(n)
	case "prices":
		return f.prices(n)
	case "hooks":
		return f.hooks(n)
	case "providers":
		return f.providers(n)
	case "permissions":
		return f.permissions(n)
	case "mcpServers":
		return f.mcpServers(n)
	case "trustProjectHooks":
		return f.trust(n)
	}
	if k, ok := f.key(n.name); ok {
		return f.scalar(n, k)
	}
	if n.raw == nil && f.group(n.name) {
		for _, kid := range n.kids {
			if err := f.take(kid); err != nil {
				return err
			}
		}
		return nil
	}
	return f.unknown(n, f.names())
}

func (f *inFile) unknown(n *node, names []string) error {
	hint := "docs/settings.md lists the settings"
	if near := text.Nearest(n.name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f.bad(n, "there is no such setting", hint)
}

// key finds a key by one of its names in files.
func (f *inFile) key(name string) (Key, bool) {
	for _, k := range f.keys {
		if k.Name == name || slices.ContainsFunc(k.Other, func(o Other) bool { return !o.Env && o.Name == name }) {
			return k, true
		}
	}
	return Key{}, false
}

func (f *inFile) names() []string {
	names := slices.Clone(onlyInFiles)
	for _, k := range f.keys {
		names = append(names, k.Name)
		for _, o := range k.Other {
			if !o.Env {
				names = append(names, o.Name)
			}
		}
	}
	return names
}

// group reports whether keys have a name as their beginning.
func (f *inFile) group(name string) bool {
	return slices.ContainsFunc(f.names(), func(n string) bool { return strings.HasPrefix(n, name+".") })
}

// scalar takes a value. It is read here already, so that a mistake in a file is found
// although the environment says something else.
func (f *inFile) scalar(n *node, k Key) error {
	if line, ok := f.seen[k.Name]; ok {
		return f.bad(n, fmt.Sprintf("line %d sets the same", line), "leave one of them out")
	}
	f.seen[k.Name] = n.line
	text, err := scalarText(n)
	if err != nil {
		return f.bad(n, err.Error(), "")
	}
	if err := k.set(&Settings{}, text); err != nil {
		return f.bad(n, err.Error(), "")
	}
	if why := f.notForProjects(k.Name, text); why != "" && f.from == FromProject && !f.trusted() {
		f.passOver(n, n.name+" is passed over, for "+why)
		return nil
	}
	f.s.values[k.Name] = said{text, Origin{f.from, f.path, n.line}, n.name}
	return nil
}

// notForProjects says why a project that is not trusted can't set a key to a value, ""
// where it can.
func (f *inFile) notForProjects(key, text string) string {
	switch {
	case key == "model", key == "summarizer.model":
		return "a project does not choose who reads the conversation"
	case key == "database", key == "blobs":
		return "a project does not choose where conversations are kept"
	case key == "agent.mode" && freedom(text) > freedom(cmp.Or(f.s.values[key].text, modeAsk)):
		return "a project does not choose what is done without asking"
	case key == "agent.webFetch" && text != "off":
		return "a project does not choose which servers are asked"
	}
	return ""
}

// freedom orders the modes.
func freedom(mode string) int { return slices.Index(Modes(), mode) }

// passOver warns of something in a project's file that needs trust.
func (f *inFile) passOver(n *node, what string) {
	f.s.Warnings = append(f.s.Warnings, fmt.Sprintf("%s:%d: %s; %s", f.path, n.line, what, f.howToTrust()))
}

// scalarText is a number, a text or a truth value as the environment would have it.
func scalarText(n *node) (string, error) {
	if n.raw == nil {
		return "", fmt.Errorf("it is an object, and must be a single value")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(n.raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("it is %.20s, and must be a number, a text, true or false", n.raw)
}
