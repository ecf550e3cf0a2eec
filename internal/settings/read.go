package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/vfs"
)

// inFile reads one file.
type inFile struct {
	s       *Settings
	scratch []Key // to try values out
	path    string
	folder  string // that it lies in
	from    Source
	seen    map[string]int // key → line
}

// file takes what a file says, or a text that takes the place of what is in it.
func (s *Settings) file(path string, text []byte, from Source) error {
	root, err := readFile(path)
	if text != nil {
		root, err = parse(path, text)
	}
	if err != nil || root == nil {
		return err
	}
	abs, _ := filepath.Abs(path)
	f := &inFile{s: s, scratch: Keys(), path: path, folder: filepath.Dir(abs), from: from, seen: map[string]int{}}
	return f.members(root)
}

func (f *inFile) bad(n *node, problem, hint string) error {
	return &Error{File: f.path, Line: n.line, Key: n.name, Problem: problem, Hint: hint}
}

func (f *inFile) members(of *node) error {
	for _, n := range of.kids {
		only := slices.IndexFunc(onlyInFiles, func(o onlyInFile) bool { return o.name == n.name })
		at := slices.IndexFunc(f.scratch, func(k Key) bool { return k.Name == n.name || k.isOther(n.name) })
		var err error
		switch {
		case only >= 0:
			err = onlyInFiles[only].read(f, n)
		case at >= 0:
			err = f.scalar(n, f.scratch[at])
		case n.raw == nil && slices.ContainsFunc(f.names(), func(name string) bool { return strings.HasPrefix(name, n.name+".") }):
			err = f.members(n)
		default:
			err = f.unknown(n, n.name, f.names(), "docs/settings.md lists the settings")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unknown says that a name is none of those that may stand here.
func (f *inFile) unknown(n *node, name string, names []string, hint string) error {
	if near := text.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f.bad(n, "there is no such setting", hint)
}

func (f *inFile) names() []string {
	var names []string
	for _, o := range onlyInFiles {
		names = append(names, o.name)
	}
	for _, k := range f.scratch {
		names = append(names, k.Name)
		for _, o := range k.Other {
			if !o.Env {
				names = append(names, o.Name)
			}
		}
	}
	return names
}

// scalar takes a value. It is read here already, so that a mistake in a file is found
// although the environment says something else.
func (f *inFile) scalar(n *node, k Key) error {
	if line, ok := f.seen[k.Name]; ok {
		return f.bad(n, fmt.Sprintf("line %d sets the same", line), "leave one of them out")
	}
	f.seen[k.Name] = n.line
	text, err := n.scalar(k.set)
	if err != nil {
		return f.bad(n, err.Error(), "")
	}
	if why := f.notForProjects(k.Name, text); why == "" || f.mayUse(n, n.name+" is passed over, for "+why) {
		f.s.values[k.Name] = said{text, Origin{f.from, f.path, n.line}, n.name}
	}
	return nil
}

// notForProjects says why a project that is not trusted can't set a key to a value, ""
// where it can.
func (f *inFile) notForProjects(key, text string) string {
	freedom := func(mode string) int { return slices.Index(Modes(), mode) }
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

// project is the folder of the project whose file it is.
func (f *inFile) project() string { return filepath.Dir(f.folder) }

// mayUse reports whether what needs trust may be used, and warns if not, unless there is
// nothing. The user trusts a project by its folder; links are followed on both sides, so that
// it has one name.
func (f *inFile) mayUse(n *node, why string) bool {
	dir := vfs.Real(f.project())
	if f.from != FromProject || f.s.trustAll || slices.ContainsFunc(f.s.trust, func(d string) bool { return vfs.Real(d) == dir }) {
		return true
	}
	if len(n.kids)+len(n.list) > 0 || n.raw != nil && n.list == nil {
		f.s.Warnings = append(f.s.Warnings, fmt.Sprintf("%s:%d: %s; to allow it, put %q into trustProjectHooks in your own settings", f.path, n.line, why, f.project()))
	}
	return false
}

// each calls fn for each member of an object with a provider, a server, a model for each key.
func (f *inFile) each(n *node, what, example string, fn func(kid *node) error) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object with "+what+" for each key", "such as "+example)
	}
	for _, kid := range n.kids {
		if err := fn(kid); err != nil {
			return err
		}
	}
	return nil
}

// object reads an object into a struct: each member to where own says, or into the field
// whose tag json names it.
func (f *inFile) object(n *node, to any, own map[string]any) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object", "")
	}
	fields := map[string]any{}
	for field, v := range reflect.ValueOf(to).Elem().Fields() {
		if name := field.Tag.Get("json"); name != "" && name != "-" {
			fields[name] = v.Addr().Interface()
		}
	}
	maps.Copy(fields, own)
	for _, kid := range n.kids {
		if fields[kid.key] == nil {
			names := slices.Sorted(maps.Keys(fields))
			return f.unknown(kid, kid.key, names, "there are "+strings.Join(names, ", "))
		}
		if err := f.field(kid, fields[kid.key]); err != nil {
			return err
		}
	}
	return nil
}

// field reads what the type of a field can hold, or what a setter takes.
func (f *inFile) field(n *node, to any) (err error) {
	switch to := to.(type) {
	case *string:
		if err = f.text(n, to); err == nil && strings.TrimSpace(*to) == "" {
			err = f.bad(n, "it is empty", "write something, or leave it out")
		}
		return err
	case *[]string:
		return f.texts(n, to)
	case *map[string]string:
		return f.named(n, to)
	case *bool:
		return f.decode(n, to, "true or false")
	case *time.Duration:
		_, err = n.scalar(into(to, timeout))
	case *compact.Amount:
		_, err = n.scalar(into(to, compact.ParseAmount))
	case *float64:
		_, err = n.scalar(into(to, price))
	case setter:
		_, err = n.scalar(to)
	default:
		return f.decode(n, to, "a whole number")
	}
	if err != nil {
		err = f.bad(n, err.Error(), "")
	}
	return err
}

// decode reads a value that is no object.
func (f *inFile) decode(n *node, to any, what string) error {
	if n.raw == nil || string(n.raw) == "null" || json.Unmarshal(n.raw, to) != nil {
		return f.bad(n, "it must be "+what, "")
	}
	return nil
}

// text reads a text that programs and headers can be given. Arguments and command lines may
// have line breaks.
func (f *inFile) text(n *node, to *string) error {
	err := f.decode(n, to, "a text")
	lines := n.key == "args" || n.key == "command"
	if err == nil && (strings.Contains(*to, "\x00") || !lines && strings.ContainsAny(*to, "\r\n")) {
		err = f.bad(n, "it has a line break or a zero byte in it", "take it out")
	}
	return err
}

// texts reads a list of texts.
func (f *inFile) texts(n *node, to *[]string) error {
	*to = []string{}
	var items []*string
	if err := f.decode(n, &items, "a list of texts"); err != nil {
		return err
	}
	for i, item := range items {
		if item == nil || n.key != "args" && strings.TrimSpace(*item) == "" {
			return f.bad(n, fmt.Sprintf("number %d is empty", i+1), "write something, or leave it out")
		}
		one := *n
		one.raw = n.list[i].raw
		if err := f.text(&one, item); err != nil {
			return err
		}
		*to = append(*to, *item)
	}
	return nil
}

// named reads an object of texts.
func (f *inFile) named(n *node, to *map[string]string) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object of texts", `such as {"NAME": "value"}`)
	}
	*to = map[string]string{}
	for _, kid := range n.kids {
		var text string
		if kid.key == "" || strings.ContainsAny(kid.key, "=: \t\r\n\x00") {
			return f.bad(kid, fmt.Sprintf("%q is no name", kid.key), "write a name without blanks, = and :")
		}
		if err := f.text(kid, &text); err != nil {
			return err
		}
		(*to)[kid.key] = text
	}
	return nil
}

// Provider is a server of models.
type Provider struct {
	// API is what it speaks, one of APIs. "": openai-completions.
	API string `json:"api"`
	// BaseURL is its address; "" for that of the provider of this name that is known.
	BaseURL string `json:"baseURL"`
	// KeyEnv is the variable that has the key; "" for none.
	KeyEnv string `json:"keyEnv"`
	// Headers are sent beside what the API sends. ${NAME} in a value stands for a
	// variable; see Expand.
	Headers map[string]string `json:"headers"`
}

// The APIs, as messages name them.
const (
	APIAnthropic = "anthropic-messages"
	APIChat      = "openai-completions"
	APIResponses = "openai-responses"
	APIGemini    = "google-generative-ai"
)

// APIs returns the APIs that a provider may speak.
func APIs() []string { return []string{APIAnthropic, APIChat, APIResponses, APIGemini} }

// Permissions are rules for calls of tools: "bash(git status*)". They are read here, and
// understood by the agent.
type Permissions struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
}

// MCPServer is a server that gives tools over the Model Context Protocol: a program with
// Command, or an address with URL.
type MCPServer struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// Env is what the program's environment has beside ours. ${NAME} in a value of Env
	// and Headers stands for a variable; see Expand.
	Env map[string]string `json:"env"`
	// Cwd is where the program runs. "": where clew does.
	Cwd string `json:"cwd"`

	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`

	// Disabled says that it is not used.
	Disabled bool
	// Timeout is how long it may take to be there. 0: as package mcp does.
	Timeout time.Duration `json:"timeout"`
	// Tools are those that may be used, by the server's names. nil: all.
	Tools []string `json:"tools"`
}

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

var variable = text.Pattern(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand puts variables into a text that has ${NAME}, so that secrets need not stand in
// files. One that is not set, or empty, is an error.
func Expand(text string, getenv func(string) string) (string, error) {
	var missing []string
	out := variable().ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := getenv(name)
		if v == "" {
			missing = append(missing, name)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("not set in the environment: %s", strings.Join(missing, ", "))
	}
	return out, nil
}

// onlyInFiles are objects and lists, for which a variable is no place, in the order of All.
var onlyInFiles = []onlyInFile{
	{"models", (*inFile).models},
	{"prices", (*inFile).prices},
	{"hooks", (*inFile).hooks},
	{"providers", (*inFile).providers},
	{"permissions", (*inFile).permissions},
	{"mcpServers", (*inFile).mcpServers},
	{"trustProjectHooks", (*inFile).trust},
}

type onlyInFile struct {
	name string
	read func(*inFile, *node) error
}

// note remembers where something comes from that is no key.
func (f *inFile) note(key, text string, line int) {
	v := Setting{key, text, Origin{f.from, f.path, line}}
	if i := f.s.noted(key); i >= 0 {
		f.s.extra[i] = v
		return
	}
	f.s.extra = append(f.s.extra, v)
}

// models reads what is different for single models.
func (f *inFile) models(n *node) error {
	return eachModel(f, n, &f.s.Models, func(o *clew.Override) map[string]any {
		return map[string]any{"window": into(&o.Window, atLeast(compact.MinWindow))}
	})
}

// prices reads what models cost.
func (f *inFile) prices(n *node) error {
	return eachModel(f, n, &f.s.Prices, func(*Price) map[string]any { return nil })
}

// eachModel reads an object of models.
func eachModel[T any](f *inFile, n *node, into *map[string]T, own func(*T) map[string]any) error {
	return f.each(n, "a model", `{"anthropic/claude-opus-4-6": {...}}`, func(m *node) error {
		if m.key == "" {
			return f.bad(m, "a model without a name would never count", `name it as "model" or "provider/model"`)
		}
		one := (*into)[m.key]
		if err := f.object(m, &one, own(&one)); err != nil {
			return err
		}
		put(into, m.key, one)
		for _, v := range m.kids {
			text, _ := v.scalar(setter{read: func(string) error { return nil }}) // it was read
			f.note(v.name, text, v.line)
		}
		return nil
	})
}

func put[V any](to *map[string]V, key string, v V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[key] = v
}

// hooks reads the programs. Those of a project that the user does not trust are read,
// so that mistakes are found, and passed over.
func (f *inFile) hooks(n *node) error {
	if n.list == nil {
		return f.bad(n, "it must be a list of hooks", `such as [{"event": "tool_result", "command": "redact"}]`)
	}
	var hooks []hook.Config
	for _, it := range n.list {
		c := hook.Config{Dir: f.folder}
		// Programs that write settings leave out nothing: null is no value, as elsewhere in JSON.
		it.kids = slices.DeleteFunc(it.kids, func(k *node) bool { return string(k.raw) == "null" })
		if err := f.object(it, &c, nil); err != nil {
			return err
		}
		if _, err := hook.New(c); err != nil {
			return f.bad(it, err.Error(), "docs/hooks.md describes it")
		}
		hooks = append(hooks, c)
	}
	if !f.mayUse(n, "the project's hooks are not run: they are programs") {
		return nil
	}
	for _, h := range hooks {
		f.note(fmt.Sprintf("hooks[%d] %s", len(f.s.Hooks), h.Event), strings.TrimSpace(h.Command+" "+strings.Join(h.Args, " ")), n.line)
		f.s.Hooks = append(f.s.Hooks, h)
	}
	return nil
}

// providerName is what a provider may be called: it stands before the / of a model.
var providerName = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// providers reads the servers of models. A project that is not trusted can't name any,
// for they get to read the conversation.
func (f *inFile) providers(n *node) error {
	use := f.mayUse(n, "the project's providers are passed over, for a project does not choose who reads the conversation")
	return f.each(n, "a provider", `{"mine": {"baseURL": "http://localhost:8080/v1"}}`, func(kid *node) error {
		if !providerName().MatchString(kid.key) {
			return f.bad(kid, fmt.Sprintf("%q is no name of a provider", kid.key), "write letters, digits, points and dashes")
		}
		var p Provider
		err := f.object(kid, &p, map[string]any{"api": into(&p.API, oneOf("API", APIs()))})
		if err == nil && use {
			put(&f.s.Providers, kid.key, p)
			f.note(kid.name, strings.TrimSpace(p.API+" "+p.BaseURL), kid.line)
		}
		return err
	})
}

// permissions reads rules for tools. What a project forbids counts always; what it
// allows counts when it is trusted.
func (f *inFile) permissions(n *node) error {
	var p Permissions
	if err := f.object(n, &p, nil); err != nil {
		return err
	}
	all := &f.s.Permissions
	for _, kid := range n.kids {
		rules, to := p.Deny, &all.Deny
		switch kid.key {
		case "ask":
			rules, to = p.Ask, &all.Ask
		case "allow":
			if rules, to = p.Allow, &all.Allow; !f.mayUse(kid, kid.name+" is passed over, for a project does not choose what is done without asking") {
				continue
			}
		}
		for _, r := range rules {
			f.note(fmt.Sprintf("%s[%d]", kid.name, len(*to)), r, kid.line)
			*to = append(*to, r)
		}
	}
	return nil
}

// mcpServers reads the servers that give tools. Those of a project that is not trusted
// are passed over: they are programs, and addresses that hear what tools are called with.
func (f *inFile) mcpServers(n *node) error {
	use := f.mayUse(n, "the project's servers are passed over: they are programs, or hear what their tools are called with")
	return f.each(n, "a server", `{"files": {"command": "mcp-files", "args": ["."]}}`, func(kid *node) error {
		var m MCPServer
		on := true
		err := f.object(kid, &m, map[string]any{"enabled": &on})
		problem, hint := m.problem(kid.key)
		switch {
		case err != nil:
			return err
		case problem != "":
			return f.bad(kid, problem, hint)
		case !use:
			return nil
		}
		if m.Cwd != "" && !filepath.IsAbs(m.Cwd) { // from the project, or from the folder of the user's file
			base := f.folder
			if f.from == FromProject {
				base = f.project()
			}
			m.Cwd = filepath.Join(base, m.Cwd)
		}
		line := m.URL
		if m.Command != "" {
			line = strings.Join(append([]string{m.Command}, m.Args...), " ")
		}
		if m.Disabled = !on; m.Disabled {
			line = "(disabled) " + line
		}
		put(&f.s.MCPServers, kid.key, m)
		f.note(kid.name, line, kid.line)
		return nil
	})
}

// problem says what is wrong with a server, and what to do.
func (m *MCPServer) problem(name string) (problem, hint string) {
	switch {
	case name == "":
		return "a server without a name", "its tools are called by it: name it"
	case m.Command == "" && m.URL == "":
		return "it names neither a command nor a url", "write one of them"
	case m.Command != "" && m.URL != "":
		return "it names a command and a url", "leave one of them out: it is a program or an address"
	case m.URL != "" && (m.Args != nil || m.Env != nil || m.Cwd != ""):
		return "args, env and cwd are of a command, and it has a url", "leave them out"
	case m.Command != "" && m.Headers != nil:
		return "headers are of a url, and it has a command", "leave them out, or write env"
	}
	return "", ""
}

// trust reads which projects may run programs.
func (f *inFile) trust(n *node) error {
	if f.from == FromProject {
		return f.bad(n, "a project can't trust itself", "it belongs into the user's file")
	}
	var dirs []string
	switch {
	case n.raw != nil && json.Unmarshal(n.raw, &f.s.trustAll) == nil:
		return nil
	case n.raw == nil || json.Unmarshal(n.raw, &dirs) != nil:
		return f.bad(n, "it must be true, false, or a list of folders", `such as ["/home/me/project"]`)
	}
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			return f.bad(n, fmt.Sprintf("%q is no absolute path, so it could mean any folder", d), "write where the project lies")
		}
		f.s.trust = append(f.s.trust, filepath.Clean(d))
	}
	return nil
}
