package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rules"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// used is an agent that is, was or will be in use.
type used struct {
	*agent.Agent
	fresh bool         // it was made by this run
	notes []error      // to be told once it is there
	tools atomic.Int64 // how many it has

	// With Host.events held:
	gone bool          // another one is in use
	wait []agent.Event // until it is in use
}

// isAt reports whether its session is the one in a file or at an address.
func (u *used) isAt(path string) bool {
	return path != "" && vfs.Real(path) == vfs.Real(u.State().File)
}

// first opens what the Config names.
func (h *Host) first(ctx context.Context) (*used, error) {
	c := &h.cfg
	path := c.File
	if database.Is(path) {
		at, err := database.Parse(path)
		if err != nil {
			return nil, &ConfigError{err}
		}
		h.db = &at
		if at.ID == "" {
			path = ""
		}
	}
	if c.Last {
		var err error
		if path, err = h.newest(ctx); err != nil {
			return nil, err
		}
	}
	if c.Fork != "" {
		to, err := h.cfg.Home.Project(c.Dir)
		if err == nil {
			err = os.MkdirAll(to, 0o700)
		}
		if err != nil {
			return nil, err
		}
		f, err := clew.Fork(ctx, c.Fork, to, clew.ForkOptions{CloseOpenCalls: true, Clock: c.Clock, NewID: c.NewID})
		if err != nil {
			return nil, err
		}
		path = f.Path
	}
	u, err := h.start(ctx, path, true)
	if err != nil {
		return nil, err
	}
	if c.Name != "" {
		err = u.Name(ctx, c.Name)
	}
	if m := c.mode(); err == nil && m != "" && u.Guard().Mode() != m {
		err = u.SetMode(ctx, m)
	}
	if err != nil {
		return nil, errors.Join(err, h.end(u))
	}
	return u, nil
}

// own reports whether a session is the user's own, so that what it says was allowed
// counts: it lies in the data folder, and so does the one that it is a copy of.
func (h *Host) own(ctx context.Context, path string) bool {
	for range 32 {
		rel, err := filepath.Rel(vfs.Real(h.cfg.Home.Dir), vfs.Real(path))
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		info, err := jsonl.Peek(ctx, path)
		if err != nil {
			return false
		}
		if path = info.Header.ParentSession; path == "" {
			return true
		}
	}
	return false
}

// start makes an agent on the session in a file or at an address, "" for a new one. flags says that the
// flags count before what the session says.
func (h *Host) start(ctx context.Context, path string, flags bool) (_ *used, err error) {
	u := &used{fresh: path == ""}
	store, err := h.store(ctx, path)
	if err != nil {
		return nil, err
	}
	at := "" // where it is
	if store != nil {
		at = store.(interface{ Path() string }).Path()
	}
	opened := false
	defer func() {
		if err == nil || store == nil {
			return
		}
		if !opened {
			_ = store.Close() // the agent has not taken it
		}
		if u.fresh {
			err = errors.Join(err, h.removeEmpty(context.WithoutCancel(ctx), at))
		}
	}()
	cfg, err := h.agentConfig(ctx, u, store, flags)
	if err != nil {
		return nil, err
	}
	file, isFile := store.(*jsonl.File)
	if isFile {
		cfg.File = at
	} else if d, ok := store.(*database.Store); ok {
		cfg.Address = at
		if cfg.Engine.Blobs, cfg.Beside, err = h.beside(d); err != nil {
			return nil, err
		}
	}
	cfg.Open = func(ctx context.Context, engine clew.Config) (*clew.Session, error) {
		opened = true
		switch {
		case store == nil:
			return clew.New(engine)
		case isFile:
			return clew.OpenFile(ctx, file, engine)
		}
		return clew.OpenStore(ctx, store, engine)
	}
	cfg.TrustGrants = path == "" || h.own(ctx, path)
	if u.Agent, err = agent.New(ctx, cfg); err != nil {
		return nil, err
	}
	for _, n := range u.notes {
		u.TellWarning(n)
	}
	return u, nil
}

func (h *Host) agentConfig(ctx context.Context, u *used, store session.Store, flags bool) (agent.Config, error) {
	set := h.settings()
	m, reasoning, err := h.modelOf(ctx, u, store, flags)
	if err != nil {
		return agent.Config{}, err
	}
	c := agent.Config{
		Model: m, Reasoning: reasoning, Find: func(_ context.Context, name string) (model.Model, error) { return h.openModel(name) },
		Windows: h.windows, Interactive: h.cfg.Interactive, System: h.cfg.System, Place: h.place, Rules: h.rules,
		MaxRequests: cmp.Or(h.cfg.MaxRequests, set.Agent.MaxTurns), TaskRequests: set.Agent.TaskRequests,
		Retries: maxTries - 1, Background: cmp.Or(set.Agent.Background, -1), // 0 is never here, and the default there
		Idle: set.Agent.Idle, ToolOutput: set.Agent.ToolOutput, Shell: h.shell, Tools: h.tools(),
		Clock: h.cfg.Clock, NewID: h.cfg.NewID, Sleep: h.cfg.Sleep,
		Events: func(e agent.Event) { h.tell(u, e) },
	}
	u.tools.Store(int64(len(c.Tools)))
	if c.Guard, err = h.newGuard(); err != nil {
		return c, err
	}
	c.Engine, err = h.engine(func() model.Model {
		if h.use.Load() != u {
			return m // it is being opened
		}
		now, err := h.openModel(u.State().Model)
		if err != nil {
			return m // never: it answers, so it could be opened
		}
		return now
	})
	return c, err
}

func (h *Host) newGuard() (*permission.Guard, error) {
	set := h.settings()
	r := permission.Rules{
		Allow: slices.Concat(set.Permissions.Allow, h.cfg.Allow), Ask: set.Permissions.Ask,
		Deny: slices.Concat(set.Permissions.Deny, h.cfg.Deny),
	}
	return permission.New(permission.Config{
		Rules: r, Mode: permission.Mode(set.Agent.Mode), Dir: h.cfg.Dir, Home: h.cfg.userHome(), PowerShell: h.builtin.PowerShell(),
	})
}

// rules are those of the project's and the user's files.
func (h *Host) rules() (rules.Set, error) {
	user := ""
	if h.cfg.UserFile != "" {
		user = filepath.Dir(h.cfg.UserFile)
	}
	return rules.Read(rules.Config{Dir: h.cfg.Dir, Home: h.cfg.userHome(), User: user})
}

// tell passes an event on: of the agent in use, and of one that will be when it is.
func (h *Host) tell(u *used, e agent.Event) {
	h.events.Lock()
	defer h.events.Unlock()
	switch {
	case u.gone || h.cfg.Events == nil:
	case h.use.Load() == u:
		h.cfg.Events(e)
	default:
		u.wait = append(u.wait, e)
	}
}

// put takes an agent into use.
func (h *Host) put(u *used) {
	h.events.Lock()
	defer h.events.Unlock()
	if old := h.use.Swap(u); old != nil {
		old.gone = true
	}
	for _, e := range u.wait {
		h.cfg.Events(e) // there are none where it is nil
	}
	u.wait = nil
}

// New implements rpc.Host.
func (h *Host) New(ctx context.Context) error { return h.change(ctx, "begin a session", "") }

// Resume implements rpc.Host.
func (h *Host) Resume(ctx context.Context, path string) error {
	if path == "" {
		return &agent.Error{Op: "resume", Err: errors.New("no session is named"), Hint: "name a file"}
	}
	return h.change(ctx, "resume", path)
}

// change takes another session into use. The old one is closed when the new one is open.
func (h *Host) change(ctx context.Context, op, path string) error {
	h.switching.Lock()
	defer h.switching.Unlock()
	old := h.use.Load()
	if err := h.free(op, path, old); err != nil {
		return err
	}
	if old.isAt(path) {
		return nil
	}
	u, err := h.start(ctx, path, false)
	if err != nil {
		return err
	}
	h.put(u)
	h.giveTools(u) // servers may have been connected meanwhile
	if err := h.end(old); err != nil {
		h.warn(fmt.Errorf("the session before: %w", err))
	}
	return nil
}

// free reports why no other session can be taken into use.
func (h *Host) free(op, subject string, u *used) error {
	switch {
	case h.closed:
		return &agent.Error{Op: op, Subject: subject, Err: agent.ErrClosed}
	case u.State().Doing != agent.DoingNothing:
		return &agent.Error{Op: op, Subject: subject, Err: agent.ErrBusy, Hint: "wait until it is done, or cancel it first; it is " + string(u.State().Doing)}
	}
	return nil
}

// Fork implements rpc.Host.
func (h *Host) Fork(ctx context.Context, at string) (string, error) {
	h.switching.Lock()
	u := h.use.Load()
	err := h.free("fork", at, u)
	h.switching.Unlock()
	if err != nil {
		return "", err
	}
	if database.Is(u.State().File) {
		return "", &agent.Error{Op: "fork", Subject: at, Err: errors.New("the session is in a database"), Hint: "clew db export writes it to a file; fork that"}
	}
	f, err := u.Fork(ctx, "", at)
	switch {
	case err != nil:
		return "", err
	case f.Path == "":
		return "", &agent.Error{Op: "fork", Subject: at, Err: errors.New(cmp.Or(f.Why, "nothing was written"))}
	}
	return f.Text, h.change(ctx, "fork", f.Path)
}

// newest is the file of the project's newest session in which something was said, "" for
// none.
func (h *Host) newest(ctx context.Context) (string, error) {
	found, err := sessions.In(ctx, h.cfg.Home, h.cfg.Dir)
	at := slices.IndexFunc(found, func(f sessions.Found) bool { return f.First != "" || f.Name != "" || f.Size > maxEmpty })
	if err != nil || at < 0 {
		return "", err
	}
	return found[at].Path, nil
}

// maxEmpty is in bytes: a session in which nothing was said is smaller, for what the agent
// writes of itself when it starts is far shorter.
const maxEmpty = 256 << 10

// removeEmpty removes a session in which nothing was said.
func (h *Host) removeEmpty(ctx context.Context, path string) error {
	if database.Is(path) {
		return h.discardEmpty(ctx, path)
	}
	info, err := os.Stat(path)
	if path == "" || err != nil || info.Size() > maxEmpty {
		return nil
	}
	if _, err := os.Lstat(clew.QueueFile(path)); err == nil {
		return nil
	}
	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	said := anySaid(ctx, f)
	if err := f.Close(); err != nil || said {
		return err
	}
	_, err = clew.RemoveFile(ctx, path)
	return err
}

func anySaid(ctx context.Context, store session.Store) bool {
	for e, err := range store.All(ctx) {
		if err != nil {
			return true // what can't be read is not removed
		}
		switch e.Type {
		case session.TypeModelChange, session.TypeThinkingLevel, session.TypeCustom:
		default:
			return true
		}
	}
	return false
}
