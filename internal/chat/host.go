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

	"github.com/clew-dev/clew/internal/database"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/procgroup"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
)

// Host is a project with the agent in use.
type Host struct {
	opener
	history   history
	fileIndex fileIndex
	servers

	cfg     Config
	builtin *builtin.Set
	set     atomic.Pointer[settings.Settings] // that count by now
	editing sync.Mutex                        // of the user's file of them

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
func Open(ctx context.Context, cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg}
	set, err := h.load(nil)
	if err != nil {
		return nil, err
	}
	h.set.Store(set)
	keys, err := provider.ReadKeys(provider.KeysFile(cfg.UserFile))
	if err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, &ConfigError{err}
	}
	h.base, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.known, h.getenv, h.opened = sync.OnceValues(model.BuiltIn), keys.Getenv(cfg.getenv), map[string]model.Model{}
	h.windows = h.readWindows()
	h.transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: maxTries, Notify: h.retried, Sleep: cfg.Sleep}})
	h.builtin, err = builtin.New(h.builtinConfig())
	if err != nil {
		h.stop()
		return nil, err
	}
	u, err := h.first(ctx)
	if err != nil {
		h.stop()
		return nil, errors.Join(err, h.builtin.Close())
	}
	h.put(u)
	h.connect()
	return h, nil
}

// Agent implements rpc.Host.
func (h *Host) Agent() *agent.Agent { return h.use.Load().Agent }

// Dir implements rpc.Host.
func (h *Host) Dir() string { return h.cfg.Dir }

// Close closes the agent and all that belongs to it. A session in which nothing was ever
// said leaves no file.
func (h *Host) Close() error {
	h.switching.Lock()
	defer h.switching.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	h.stop()
	err := h.end(h.use.Load())
	h.wg.Wait()
	if set := h.reached.Load(); set != nil {
		set.Close()
	}
	return errors.Join(err, h.saveWindows(), h.builtin.Close())
}

// end closes an agent for good.
func (h *Host) end(u *used) error {
	err := u.Close()
	if u.fresh {
		err = errors.Join(err, h.removeEmpty(context.WithoutCancel(h.base), u.State().File))
	}
	return err
}

// folder is the absolute path of a folder that is there.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	bad := &agent.Error{Op: "open the project", Subject: abs, Hint: "name a folder that can be read"}
	switch info, err := os.Stat(abs); {
	case errors.Is(err, fs.ErrNotExist):
		bad.Err, bad.Hint = errors.New("there is no such folder"), "name one that is there"
	case err != nil:
		bad.Err = err
	case !info.IsDir():
		bad.Err, bad.Hint = errors.New("it is no folder"), "name the folder that it is in"
	default:
		return abs, nil
	}
	return "", bad
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
func (h *Host) warn(err error) {
	if u := h.use.Load(); u != nil && err != nil {
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
func (h *Host) builtinTool(name string) tool.Tool {
	tools := h.builtin.Tools()
	return tools[slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name })]
}

// tools are those that the model gets.
func (h *Host) tools() []tool.Tool {
	if h.cfg.NoTools {
		return nil
	}
	all := h.builtin.Tools()
	if set := h.reached.Load(); set != nil {
		all = append(all, set.Tools()...)
	}
	var out []tool.Tool
	for _, t := range all {
		if len(h.cfg.Tools) == 0 || slices.Contains(h.cfg.Tools, t.Spec().Name) {
			out = append(out, t)
		}
	}
	return out
}

// engine is how sessions are kept inside the window.
func (h *Host) engine(summarizer func() model.Model) (clew.Config, error) {
	set := h.settings()
	c, err := set.Config()
	if err != nil {
		return c, err
	}
	c.Cwd, c.Clock, c.NewID = h.cfg.Dir, h.cfg.Clock, h.cfg.NewID
	return c, h.setSummarizer(&c, set.SummaryModel, summarizer)
}
