package tui

import (
	"context"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
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

// after is a command that has everything looked at again after a time.
func (t *tasks) after(d time.Duration) tea.Cmd {
	return t.cmd(func(ctx context.Context) tea.Msg {
		sleep(ctx, d)
		return tickMsg{}
	})
}

// sleep waits, but not beyond the end.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// job is a task that the user waits for, and that Escape cancels.
type job struct {
	what   string
	since  time.Time
	said   bool // it was printed; see plain
	cancel context.CancelFunc
	then   func(error)
}

// jobMsg says that a job has ended.
type jobMsg struct {
	*job
	err error
}

// run does something beside the program; then is called when it has ended. what is shown
// meanwhile; "" is for what takes no time worth showing.
func (u *ui) run(what string, work func(ctx context.Context) error, then func(error)) {
	ctx, cancel := context.WithCancel(u.tasks.ctx)
	j := &job{what: what, since: u.cfg.Clock(), cancel: cancel, then: then}
	if what != "" {
		u.jobs = append(u.jobs, j)
	}
	u.do(u.tasks.cmd(func(context.Context) tea.Msg { return jobMsg{j, work(ctx)} }))
}

// try is run for something of which only the end is news: then is called where it did not
// fail. what is what the user wanted.
func (u *ui) try(doing, what string, work func(ctx context.Context) error, then func()) {
	u.run(doing, work, func(err error) {
		if !failed(u, what, err) {
			then()
		}
	})
}

// get is try for work that finds something out, which then is called with.
func get[T any](u *ui, doing, what string, work func(ctx context.Context) (T, error), then func(T)) {
	var got T
	u.try(doing, what, func(ctx context.Context) (err error) { got, err = work(ctx); return err }, func() { then(got) })
}

// finish takes a job off the list and calls what is to follow.
func (u *ui) finish(m jobMsg) {
	m.cancel()
	u.jobs = slices.DeleteFunc(slices.Clone(u.jobs), func(j *job) bool { return j == m.job })
	m.then(m.err)
}
