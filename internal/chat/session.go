package chat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clew-dev/clew/internal/agent/mcp"
	"github.com/clew-dev/clew/internal/database"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/procgroup"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/model"
)

// Session is the Host: a project with the agent in use. Its parts are types of their own.
type Session struct {
	ownSettings
	opener
	history
	fileIndex
	refusals
	servers

	cfg     Config
	builtin *builtin.Set

	base context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	db        *database.Address // where the chat began, if in a database; set before any other use
	switching sync.Mutex        // one change of the session at a time
	closed    bool              // with switching
	use       atomic.Pointer[used]
	events    sync.Mutex // one event at a time, also of two agents
}

// Open opens the conversation that a Config names. The errors: those of the settings, of
// the model, of the session file; *provider.NameError for a model that there is not.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg}
	s.ownSettings.cfg = &s.cfg
	if s.set, err = s.load(cfg.UserFile); err != nil {
		return nil, err
	}
	keys, err := provider.ReadKeys(provider.KeysFile(cfg.UserFile))
	if err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, &ConfigError{err}
	}
	s.base, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.opener.cfg, s.current, s.opener.base = &s.cfg, s.settings, s.base
	s.known, s.getenv, s.opened = sync.OnceValues(model.BuiltIn), keys.Getenv(cfg.getenv), map[string]model.Model{}
	s.windows = s.readWindows()
	s.transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: maxTries, Notify: s.retried, Sleep: cfg.Sleep}})
	s.builtin, err = builtin.New(s.builtinConfig())
	if err != nil {
		s.stop()
		return nil, err
	}
	s.home, s.dir, s.history.warn = cfg.Home, cfg.Dir, s.warn
	s.find = s.builtinTool("find")
	u, err := s.first(ctx)
	if err != nil {
		s.stop()
		return nil, errors.Join(err, s.builtin.Close())
	}
	s.put(u)
	servers := mcp.Config{Dir: cfg.Dir, Environ: cfg.Environ, Version: cfg.Version}
	if !cfg.NoTools {
		servers.Servers = s.settings().MCPServers
	}
	s.connect(s.base, &s.wg, servers, func(errs []error) {
		for _, err := range errs {
			s.warn(err)
		}
		s.giveTools(s.use.Load())
	})
	return s, nil
}

// Agent implements Host.
func (s *Session) Agent() *agent.Agent { return s.use.Load().Agent }

// Dir implements Host.
func (s *Session) Dir() string { return s.cfg.Dir }

// Close closes the agent and all that belongs to it. A session in which nothing was ever
// said leaves no file.
func (s *Session) Close() error {
	s.switching.Lock()
	defer s.switching.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	err := s.end(s.use.Load())
	s.wg.Wait()
	return errors.Join(err, s.servers.end(), s.saveWindows(), s.builtin.Close())
}

// end closes an agent for good.
func (s *Session) end(u *used) error {
	err := u.Close()
	if u.fresh {
		err = errors.Join(err, s.removeEmpty(context.WithoutCancel(s.base), u.path))
	}
	return err
}

// folder is the absolute path of a folder that is there.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &agent.Error{Op: "open the project", Subject: abs, Err: errors.New("there is no such folder"), Hint: "name one that is there"}
	case err != nil:
		return "", &agent.Error{Op: "open the project", Subject: abs, Err: err, Hint: "name a folder that can be read"}
	case !info.IsDir():
		return "", &agent.Error{Op: "open the project", Subject: abs, Err: errors.New("it is no folder"), Hint: "name the folder that it is in"}
	}
	return abs, nil
}

func (c *Config) getenv(name string) string { return procgroup.Getenv(c.Environ, name) }

// userHome is the user's home folder, "" for none.
func (c *Config) userHome() string {
	if dir := procgroup.Home(c.Environ); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// warn tells the user of something beside the point.
func (s *Session) warn(err error) {
	if u := s.use.Load(); u != nil && err != nil {
		u.TellWarning(err)
	}
}

// check reports a rule that is none, and a tool that is not there. Those of servers can't be
// known yet.
func (c *Config) check() error {
	rules := permission.Config{Rules: permission.Rules{Allow: c.Allow, Deny: c.Deny}, Dir: c.Dir, Home: c.userHome()}
	if _, err := permission.New(rules); err != nil {
		return err
	}
	for _, name := range c.Tools {
		if name == "" || !strings.Contains(name, "__") && !slices.Contains(builtinNames, name) {
			return &agent.Error{
				Op: "choose the tools", Subject: name, Err: errors.New("there is no such tool"),
				Hint: fmt.Sprintf("there are %s, and those of MCP servers as server__tool", strings.Join(builtinNames, ", ")),
			}
		}
	}
	return nil
}

// builtinTool is the tool of a name that there is.
func (s *Session) builtinTool(name string) tool.Tool {
	tools := s.builtin.Tools()
	return tools[slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name })]
}

// tools are those that the model gets.
func (s *Session) tools() []tool.Tool {
	if s.cfg.NoTools {
		return nil
	}
	var out []tool.Tool
	for _, t := range append(s.builtin.Tools(), s.list()...) {
		if len(s.cfg.Tools) == 0 || slices.Contains(s.cfg.Tools, t.Spec().Name) {
			out = append(out, t)
		}
	}
	return out
}

// engine is how sessions are kept inside the window.
func (s *Session) engine(summarizer func() model.Model) (clew.Config, error) {
	set := s.settings()
	c, err := set.Config()
	if err != nil {
		return c, err
	}
	c.Cwd, c.Clock, c.NewID = s.cfg.Dir, s.cfg.Clock, s.cfg.NewID
	return c, s.setSummarizer(&c, set.SummaryModel, summarizer)
}
