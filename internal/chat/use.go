package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rules"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// used is an agent that is, was or will be in use.
type used struct {
	*agent.Agent
	guard *permission.Guard
	path  string
	fresh bool    // it was made by this run
	notes []error // to be told once it is there

	// With Session.events held:
	tools int           // how many it has
	asked bool          // a request was made, so that its tools stay until a pass
	shown bool          // its events are passed on
	gone  bool          // another one is in use
	wait  []agent.Event // until it is in use
}

// first opens what the Config names.
func (s *Session) first(ctx context.Context) (*used, error) {
	c := &s.cfg
	path := c.File
	if database.Is(path) {
		at, err := database.Parse(path)
		if err != nil {
			return nil, &ConfigError{err}
		}
		s.db = &at
		if at.ID == "" {
			path = ""
		}
	}
	if c.Last {
		var err error
		if path, err = s.newest(ctx); err != nil {
			return nil, err
		}
	}
	if c.Fork != "" {
		to, err := s.cfg.Home.Project(c.Dir)
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
	u, err := s.start(ctx, path, true)
	if err != nil {
		return nil, err
	}
	if c.Name != "" {
		err = u.Name(ctx, c.Name)
	}
	if m := c.mode(); err == nil && m != "" && u.guard.Mode() != m {
		err = u.SetMode(ctx, m)
	}
	if err != nil {
		return nil, errors.Join(err, s.end(u))
	}
	return u, nil
}

// own reports whether a session is the user's own, so that what it says was allowed
// counts: it lies in the data folder, and so does the one that it is a copy of.
func (s *Session) own(ctx context.Context, path string) bool {
	for range 32 {
		rel, err := filepath.Rel(real(s.cfg.Home.Dir), real(path))
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

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// start makes an agent on the session in a file or at an address, "" for a new one. flags says that the
// flags count before what the session says.
func (s *Session) start(ctx context.Context, path string, flags bool) (_ *used, err error) {
	u := &used{fresh: path == ""}
	store, err := s.store(ctx, path)
	if err != nil {
		return nil, err
	}
	file, isFile := store.(*jsonl.File)
	switch d := store.(type) {
	case *jsonl.File:
		u.path = d.Path()
	case *database.Store:
		u.path = d.Path()
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
			err = errors.Join(err, s.removeEmpty(context.WithoutCancel(ctx), u.path))
		}
	}()
	cfg, err := s.agentConfig(ctx, u, store, flags)
	if err != nil {
		return nil, err
	}
	if isFile {
		cfg.File = u.path
	} else if d, ok := store.(*database.Store); ok {
		cfg.Address = u.path
		if cfg.Engine.Blobs, cfg.Beside, err = s.beside(d); err != nil {
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
	cfg.TrustGrants = path == "" || s.own(ctx, path)
	if u.Agent, err = agent.New(ctx, cfg); err != nil {
		return nil, err
	}
	for _, n := range u.notes {
		u.TellWarning(n)
	}
	return u, nil
}

func (s *Session) agentConfig(ctx context.Context, u *used, store session.Store, flags bool) (agent.Config, error) {
	set := s.settings()
	m, reasoning, err := s.modelOf(ctx, u, store, flags)
	if err != nil {
		return agent.Config{}, err
	}
	c := agent.Config{
		Model: m, Reasoning: reasoning, Find: func(_ context.Context, name string) (model.Model, error) { return s.openModel(name) },
		Windows: s.windows, Interactive: s.cfg.Interactive, System: s.cfg.System, Place: s.place, Rules: s.rules,
		MaxRequests: cmp.Or(s.cfg.MaxRequests, set.Agent.MaxTurns), TaskRequests: set.Agent.TaskRequests,
		Retries: maxTries - 1, Background: background(set.Agent.Background),
		Idle: set.Agent.Idle, ToolOutput: set.Agent.ToolOutput, Shell: s.shell, Tools: s.toolsFor(u),
		Clock: s.cfg.Clock, NewID: s.cfg.NewID, Sleep: s.cfg.Sleep,
		Events: func(e agent.Event) { s.tell(u, e) },
	}
	u.tools = len(c.Tools)
	if u.guard, err = s.newGuard(); err != nil {
		return c, err
	}
	c.Guard = u.guard
	c.Engine, err = s.engine(func() model.Model {
		if s.use.Load() != u {
			return m // it is being opened
		}
		now, err := s.openModel(u.State().Model)
		if err != nil {
			return m // never: it answers, so it could be opened
		}
		return now
	})
	return c, err
}

// background is the share as package agent has it: 0 stands for its default there.
func background(share float64) float64 {
	if share == 0 {
		return -1
	}
	return share
}

func (s *Session) newGuard() (*permission.Guard, error) {
	set := s.settings()
	r := permission.Rules{
		Allow: slices.Concat(set.Permissions.Allow, s.cfg.Allow), Ask: set.Permissions.Ask,
		Deny: slices.Concat(set.Permissions.Deny, s.cfg.Deny),
	}
	return permission.New(permission.Config{
		Rules: r, Mode: permission.Mode(set.Agent.Mode), Dir: s.cfg.Dir, Home: s.cfg.userHome(), PowerShell: powerShell(),
	})
}

// powerShell reports whether commands are run by PowerShell: package builtin takes it where
// Windows has no bash.
func powerShell() bool {
	_, err := exec.LookPath("bash")
	return runtime.GOOS == "windows" && err != nil
}

// toolsFor are the tools of an agent.
func (s *Session) toolsFor(u *used) []tool.Tool {
	tools := s.tools()
	if s.cfg.Interactive {
		return tools
	}
	for i, t := range tools {
		tools[i] = &noted{Tool: t, refused: &s.refusals, guard: func() *permission.Guard { return u.guard }}
	}
	return tools
}

func (s *Session) rules() (rules.Set, error) {
	user := ""
	if s.cfg.UserFile != "" {
		user = filepath.Dir(s.cfg.UserFile)
	}
	return rules.Read(rules.Config{Dir: s.cfg.Dir, Home: s.cfg.userHome(), User: user})
}

// tell passes an event on: of the agent in use, and of one that will be when it is.
func (s *Session) tell(u *used, e agent.Event) {
	s.events.Lock()
	defer s.events.Unlock()
	if e.Kind == agent.KindRequest {
		u.asked = true
	}
	switch {
	case u.gone || s.cfg.Events == nil:
	case u.shown:
		s.cfg.Events(e)
	default:
		u.wait = append(u.wait, e)
	}
}

// put takes an agent into use.
func (s *Session) put(u *used) {
	s.events.Lock()
	defer s.events.Unlock()
	if old := s.use.Swap(u); old != nil {
		old.gone = true
	}
	u.shown = true
	for _, e := range u.wait {
		s.cfg.Events(e) // there are none where it is nil
	}
	u.wait = nil
}

// New implements Host.
func (s *Session) New(ctx context.Context) error { return s.change(ctx, "begin a session", "") }

// Resume implements Host.
func (s *Session) Resume(ctx context.Context, path string) error {
	if path == "" {
		return &agent.Error{Op: "resume", Err: errors.New("no session is named"), Hint: "name a file"}
	}
	return s.change(ctx, "resume", path)
}

// change takes another session into use. The old one is closed when the new one is open.
func (s *Session) change(ctx context.Context, op, path string) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	old := s.use.Load()
	if err := s.free(op, path, old); err != nil {
		return err
	}
	if path != "" && real(path) == real(old.path) {
		return nil
	}
	u, err := s.start(ctx, path, false)
	if err != nil {
		return err
	}
	s.put(u)
	s.giveTools(u) // servers may have been connected meanwhile
	if err := s.end(old); err != nil {
		s.warn(fmt.Errorf("the session before: %w", err))
	}
	return nil
}

// free reports why no other session can be taken into use.
func (s *Session) free(op, subject string, u *used) error {
	switch {
	case s.closed:
		return &agent.Error{Op: op, Subject: subject, Err: agent.ErrClosed}
	case u.State().Doing != agent.DoingNothing:
		return &agent.Error{Op: op, Subject: subject, Err: agent.ErrBusy, Hint: "wait until it is done, or cancel it first; it is " + string(u.State().Doing)}
	}
	return nil
}

// Fork implements Host.
func (s *Session) Fork(ctx context.Context, at string) (string, error) {
	s.switching.Lock()
	u := s.use.Load()
	err := s.free("fork", at, u)
	s.switching.Unlock()
	if err != nil {
		return "", err
	}
	if database.Is(u.path) {
		return "", &agent.Error{Op: "fork", Subject: at, Err: errors.New("the session is in a database"), Hint: "clew db export writes it to a file; fork that"}
	}
	f, err := u.Fork(ctx, "", at)
	switch {
	case err != nil:
		return "", err
	case f.Path == "":
		return "", &agent.Error{Op: "fork", Subject: at, Err: errors.New(cmp.Or(f.Why, "nothing was written"))}
	}
	return f.Text, s.change(ctx, "fork", f.Path)
}

// newest is the file of the project's newest session in which something was said, "" for
// none.
func (s *Session) newest(ctx context.Context) (string, error) {
	found, err := sessions.In(ctx, s.cfg.Home, s.cfg.Dir)
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
func (s *Session) removeEmpty(ctx context.Context, path string) error {
	if database.Is(path) {
		return s.discardEmpty(ctx, path)
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
