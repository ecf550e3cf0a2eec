package settings

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/text"
)

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
	Allow, Ask, Deny []string
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
	use := f.mayUse(n, "the project's providers are passed over, for a project does not choose who reads the conversation")
	return f.each(n, "a provider", `{"mine": {"baseURL": "http://localhost:8080/v1"}}`, func(kid *node) error {
		if !providerName().MatchString(kid.key) {
			return f.bad(kid, fmt.Sprintf("%q is no name of a provider", kid.key), "write letters, digits, points and dashes")
		}
		var p Provider
		err := f.object(kid, &p, map[string]func(*node) error{
			"api": func(v *node) error {
				return f.value(v, func(text string) error { return setName(&p.API, text, "API", APIs()) })
			},
		})
		if err == nil && use {
			put(&f.s.Providers, kid.key, p)
			f.s.note(kid, strings.TrimSpace(p.API+" "+p.BaseURL), Origin{f.from, f.path, kid.line})
		}
		return err
	})
}

// permissions reads rules for tools. What a project forbids counts always; what it
// allows counts when it is trusted.
func (f *inFile) permissions(n *node) error {
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
	return f.object(n, nil, map[string]func(*node) error{
		"allow": list(&f.s.Permissions.Allow, trusted),
		"ask":   list(&f.s.Permissions.Ask, always),
		"deny":  list(&f.s.Permissions.Deny, always),
	})
}

// mcpServers reads the servers that give tools. Those of a project that is not trusted
// are passed over: they are programs, and addresses that hear what tools are called with.
func (f *inFile) mcpServers(n *node) error {
	use := f.mayUse(n, "the project's servers are passed over: they are programs, or hear what their tools are called with")
	return f.each(n, "a server", `{"files": {"command": "mcp-files", "args": ["."]}}`, func(kid *node) error {
		m, err := f.mcpServer(kid)
		if err != nil || !use {
			return err
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
		return nil
	})
}

func (f *inFile) mcpServer(n *node) (m MCPServer, err error) {
	err = f.object(n, &m, map[string]func(*node) error{
		"enabled": func(v *node) error {
			on := true
			err := f.decode(v, &on, "true or false")
			m.Disabled = !on
			return err
		},
	})
	if m.Cwd != "" && !filepath.IsAbs(m.Cwd) {
		m.Cwd = filepath.Join(f.base(), m.Cwd)
	}
	switch {
	case err != nil:
		return m, err
	case n.key == "":
		return m, f.bad(n, "a server without a name", "its tools are called by it: name it")
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
	return f.folder()
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
