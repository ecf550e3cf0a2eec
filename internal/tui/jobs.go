package tui

import (
	"context"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
)

// tasks are the goroutines that work beside the program. After wait none is left, and
// none begins.
type tasks struct {
	ctx    context.Context
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// cmd makes a command that belongs to the tasks.
func (t *tasks) cmd(fn func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return nil
		}
		t.wg.Add(1)
		t.mu.Unlock()
		defer t.wg.Done()
		return fn(t.ctx)
	}
}

// wait returns when all have ended. The context must have been cancelled.
func (t *tasks) wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wg.Wait()
}

// after is a command that waits.
func (t *tasks) after(d time.Duration, msg tea.Msg) tea.Cmd {
	return t.cmd(func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			return msg
		}
	})
}

// job is a task that the user waits for, and that Escape cancels.
type job struct {
	what   string
	since  time.Time
	asks   bool // it was begun over a question, so that what it brings may cover that
	cancel context.CancelFunc
	then   func(error)
}

// jobMsg says that a job has ended.
type jobMsg struct {
	*job
	err error
}

// base is what both kinds of terminal stand on.
type base struct {
	cfg   Config
	tasks *tasks
	jobs  []*job
	now   *job // whose end is being dealt with
	state agent.State
	start func(tea.Cmd) // begins a task; what that returns comes back as a message
}

func (b *base) host() rpc.Host { return b.cfg.Host }

func (b *base) previews() bool { return !b.cfg.NoPreview }

func (b *base) asksOnMoves() bool { return !b.cfg.MoveAtOnce }

// run does something beside the program; then is called when it has ended.
func (b *base) run(what string, work func(ctx context.Context) error, then func(error)) {
	ctx, cancel := context.WithCancel(b.tasks.ctx)
	j := &job{what: what, since: b.cfg.Clock(), cancel: cancel, then: then}
	b.jobs = append(b.jobs, j)
	b.start(b.tasks.cmd(func(context.Context) tea.Msg { return jobMsg{j, work(ctx)} }))
}

// finish takes a job off the list and calls what is to follow.
func (b *base) finish(m jobMsg) {
	m.cancel()
	b.jobs = slices.DeleteFunc(slices.Clone(b.jobs), func(j *job) bool { return j == m.job })
	if m.then != nil {
		b.now = m.job
		m.then(m.err)
		b.now = nil
	}
}

// quietly does something beside the program that takes no time worth showing.
func (b *base) quietly(work func(ctx context.Context) error, then func(error)) {
	b.start(b.tasks.cmd(func(ctx context.Context) tea.Msg {
		return jobMsg{&job{cancel: func() {}, then: then}, work(ctx)}
	}))
}

// stopJob cancels what the user waits for, if there is something.
func (b *base) stopJob() bool {
	n := len(b.jobs)
	if n > 0 {
		b.jobs[n-1].cancel()
	}
	return n > 0
}
