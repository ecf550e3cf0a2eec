package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/text"
)

// Provider is a server of models.
type Provider struct {
	// API is what it speaks, one of APIs. "": openai-completions.
	API string
	// BaseURL is its address; "" for that of the provider of this name that is known.
	BaseURL string
	// KeyEnv is the variable that has the key; "" for none.
	KeyEnv string
	// Headers are sent beside what the API sends. ${NAME} in a value stands for a
	// variable; see Expand.
	Headers map[string]string
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
	Allow, Ask, Deny []string
}

// MCPServer is a server that gives tools over the Model Context Protocol: a program with
// Command, or an address with URL.
type MCPServer struct {
	Command string
	Args    []string
	// Env is what the program's environment has beside ours. ${NAME} in a value of Env
	// and Headers stands for a variable; see Expand.
	Env map[string]string
	// Cwd is where the program runs. "": where clew does.
	Cwd string

	URL     string
	Headers map[string]string

	// Disabled says that it is not used.
	Disabled bool
	// Timeout is how long it may take to be there. 0: as package mcp does.
	Timeout time.Duration
	// Tools are those that may be used, by the server's names. nil: all.
	Tools []string
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

// providerName is what a provider may be called: it stands before the / of a model.
var providerName = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// providers reads the servers of models. A project that is not trusted can't name any,
// for they get to read the conversation.
func (f *inFile) providers(n *node) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object with a provider for each key", `such as {"mine": {"baseURL": "http://localhost:8080/v1"}}`)
	}
	use := f.mayUse(n, "the project's providers are passed over, for a project does not choose who reads the conversation")
	for _, kid := range n.kids {
		if !providerName().MatchString(kid.key) {
			return f.bad(kid, fmt.Sprintf("%q is no name of a provider", kid.key), "write letters, digits, points and dashes")
		}
		var p Provider
		err := f.object(kid, map[string]func(*node) error{
			"api":     func(v *node) error { return f.name(v, &p.API, "API", APIs()) },
			"baseURL": func(v *node) error { return f.text(v, &p.BaseURL) },
			"keyEnv":  func(v *node) error { return f.text(v, &p.KeyEnv) },
			"headers": func(v *node) error { return f.texts(v, &p.Headers) },
		})
		if err != nil {
			return err
		}
		if !use {
			continue
		}
		put(&f.s.Providers, kid.key, p)
		f.s.note(kid, strings.TrimSpace(p.API+" "+p.BaseURL), Origin{f.from, f.path, kid.line})
	}
	return nil
}

// permissions reads rules for tools. What a project forbids counts always; what it
// allows counts when it is trusted.
func (f *inFile) permissions(n *node) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object", `such as {"allow": ["bash(go test*)"], "deny": ["read(.env)"]}`)
	}
	list := func(to *[]string, use func(*node) bool) func(*node) error {
		return func(v *node) error {
			var rules []string
			if err := f.list(v, &rules); err != nil {
				return err
			}
			if len(rules) == 0 || !use(v) {
				return nil
			}
			for i, r := range rules {
				f.s.extra = append(f.s.extra, Setting{
					Key: fmt.Sprintf("%s[%d]", v.name, len(*to)+i), Value: r, Origin: Origin{f.from, f.path, v.line},
				})
			}
			*to = append(*to, rules...)
			return nil
		}
	}
	always := func(*node) bool { return true }
	trusted := func(v *node) bool {
		return f.mayUse(v, v.name+" is passed over, for a project does not choose what is done without asking")
	}
	return f.object(n, map[string]func(*node) error{
		"allow": list(&f.s.Permissions.Allow, trusted),
		"ask":   list(&f.s.Permissions.Ask, always),
		"deny":  list(&f.s.Permissions.Deny, always),
	})
}

// mcpServers reads the servers that give tools. Those of a project that is not trusted
// are passed over: they are programs, and addresses that hear what tools are called with.
func (f *inFile) mcpServers(n *node) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object with a server for each key", `such as {"files": {"command": "mcp-files", "args": ["."]}}`)
	}
	use := f.mayUse(n, "the project's servers are passed over: they are programs, or hear what their tools are called with")
	for _, kid := range n.kids {
		m, err := f.mcpServer(kid)
		if err != nil {
			return err
		}
		if !use {
			continue
		}
		put(&f.s.MCPServers, kid.key, m)
		line := m.URL
		if m.Command != "" {
			line = strings.Join(append([]string{m.Command}, m.Args...), " ")
		}
		if m.Disabled {
			line = "(disabled) " + line
		}
		f.s.note(kid, line, Origin{f.from, f.path, kid.line})
	}
	return nil
}

func (f *inFile) mcpServer(n *node) (m MCPServer, err error) {
	if n.key == "" {
		return m, f.bad(n, "a server without a name", "its tools are called by it: name it")
	}
	enabled := true
	var timeout duration
	err = f.object(n, map[string]func(*node) error{
		"command": func(v *node) error { return f.text(v, &m.Command) },
		"args":    func(v *node) error { return f.list(v, &m.Args) },
		"env":     func(v *node) error { return f.texts(v, &m.Env) },
		"cwd":     func(v *node) error { return f.text(v, &m.Cwd) },
		"url":     func(v *node) error { return f.text(v, &m.URL) },
		"headers": func(v *node) error { return f.texts(v, &m.Headers) },
		"tools":   func(v *node) error { return f.list(v, &m.Tools) },
		"enabled": func(v *node) error { return f.decode(v, &enabled, "true or false") },
		"timeout": func(v *node) error { return f.decode(v, &timeout, `a time above 0, such as "10s"`) },
	})
	m.Disabled, m.Timeout = !enabled, time.Duration(timeout)
	if m.Cwd != "" && !filepath.IsAbs(m.Cwd) {
		m.Cwd = filepath.Join(f.base(), m.Cwd)
	}
	switch {
	case err != nil:
		return m, err
	case m.Command == "" && m.URL == "":
		return m, f.bad(n, "it names neither a command nor a url", "write one of them")
	case m.Command != "" && m.URL != "":
		return m, f.bad(n, "it names a command and a url", "leave one of them out: it is a program or an address")
	case m.URL != "" && (m.Args != nil || m.Env != nil || m.Cwd != ""):
		return m, f.bad(n, "args, env and cwd are of a command, and it has a url", "leave them out")
	case m.Command != "" && m.Headers != nil:
		return m, f.bad(n, "headers are of a url, and it has a command", "leave them out, or write env")
	}
	return m, nil
}

// base is the folder that paths of the file are relative to: the project's, or the one
// that the user's file lies in.
func (f *inFile) base() string {
	if f.from == FromProject {
		return f.project()
	}
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return filepath.Dir(f.path)
	}
	return filepath.Dir(abs)
}

// mayUse reports whether what needs trust may be used, and warns if not.
func (f *inFile) mayUse(n *node, why string) bool {
	if f.from != FromProject || f.trusted() {
		return true
	}
	if n.raw != nil || len(n.kids) > 0 {
		f.passOver(n, why)
	}
	return false
}

// object reads an object with known keys.
func (f *inFile) object(n *node, take map[string]func(*node) error) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object", "")
	}
	names := slices.Sorted(maps.Keys(take))
	for _, kid := range n.kids {
		read, ok := take[kid.key]
		if !ok {
			return f.unknownOf(kid, names)
		}
		if err := read(kid); err != nil {
			return err
		}
	}
	return nil
}

// unknownOf says that a key is none of those that may stand here.
func (f *inFile) unknownOf(n *node, names []string) error {
	hint := "there are " + strings.Join(names, ", ")
	if near := text.Nearest(n.key, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f.bad(n, "there is no such setting", hint)
}

// text reads a text that says something.
func (f *inFile) text(n *node, to *string) error {
	if err := f.decode(n, to, "a text"); err != nil {
		return err
	}
	if strings.TrimSpace(*to) == "" {
		return f.bad(n, "it is empty", "write something, or leave it out")
	}
	return clean(f, n, *to)
}

// name reads one of several names.
func (f *inFile) name(n *node, to *string, what string, names []string) error {
	if err := f.decode(n, to, "a text"); err != nil {
		return err
	}
	if err := setName(to, *to, what, names); err != nil {
		return f.bad(n, err.Error(), "")
	}
	return nil
}

// list reads a list of texts.
func (f *inFile) list(n *node, to *[]string) error {
	var items []*string
	if err := f.decode(n, &items, "a list of texts"); err != nil {
		return err
	}
	*to = []string{}
	for i, item := range items {
		if item == nil || n.key != "args" && strings.TrimSpace(*item) == "" {
			return f.bad(n, fmt.Sprintf("number %d is empty", i+1), "write something, or leave it out")
		}
		if err := clean(f, n, *item); err != nil {
			return err
		}
		*to = append(*to, *item)
	}
	return nil
}

// texts reads an object of texts.
func (f *inFile) texts(n *node, to *map[string]string) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object of texts", `such as {"NAME": "value"}`)
	}
	*to = map[string]string{}
	for _, kid := range n.kids {
		var text string
		if err := f.decode(kid, &text, "a text"); err != nil {
			return err
		}
		if kid.key == "" || strings.ContainsAny(kid.key, "=: \t\r\n\x00") {
			return f.bad(kid, fmt.Sprintf("%q is no name", kid.key), "write a name without blanks, = and :")
		}
		if err := clean(f, kid, text); err != nil {
			return err
		}
		(*to)[kid.key] = text
	}
	return nil
}

// clean refuses what no program and no header can be given.
func clean(f *inFile, n *node, text string) error {
	if strings.ContainsAny(text, "\x00") || n.key != "args" && strings.ContainsAny(text, "\r\n") {
		return f.bad(n, "it has a line break or a zero byte in it", "take it out")
	}
	return nil
}

// decode reads a value that is no object.
func (f *inFile) decode(n *node, to any, what string) error {
	if n.raw == nil || string(n.raw) == "null" || json.Unmarshal(n.raw, to) != nil {
		return f.bad(n, "it must be "+what, "")
	}
	return nil
}

func put[V any](to *map[string]V, key string, v V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[key] = v
}
