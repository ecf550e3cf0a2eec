package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// DefaultTaskRequests is the most requests that are made for one task.
const DefaultTaskRequests = 50

// taskAnswer is how much of the answer to a task is given, in bytes.
const taskAnswer = 16 << 10

const taskSystem = `

This is a task that another agent has given you. Nobody reads along, and nobody can answer questions. Your last answer is all that the other agent gets: say there what was asked for, whole and brief, with the names of files and the lines that matter.`

// notForTasks are the tools that are about the conversation that gives a task.
var notForTasks = []string{"task", "compact", "recall", "todo"}

// Task has a prompt answered in a context of its own, by the model in use with the same
// tools, and returns the last answer. It is for tools: c is the call. What is to be asked
// is asked here, what is changed is in the history of this agent's files, and what it
// costs is in its totals. The session stays beside the one it belongs to, in the folder
// clew.TaskFolder.
func (a *Agent) Task(ctx context.Context, c tool.Call, prompt string) (tool.Result, error) {
	cfg := a.cfg
	cfg.parent, cfg.record = a, c.Record
	cfg.Background, cfg.Idle, cfg.Shell = -1, 0, nil
	cfg.MaxRequests = min(cfg.MaxRequests, cfg.TaskRequests)
	cfg.System += taskSystem
	cfg.Model, cfg.Reasoning = a.models.now.model, a.models.now.reasoning
	cfg.Tools = slices.DeleteFunc(a.runner.all(), func(t tool.Tool) bool { return slices.Contains(notForTasks, t.Spec().Name) })
	end := Event{}
	cfg.Events = func(e Event) {
		switch {
		case e.Kind == KindToolStart && c.Output != nil:
			c.Output(e.Tool.Line + "\n")
		case e.Kind == KindRefused:
			a.events.send(e)
		case e.Kind == KindTurnEnd:
			end = e
		case e.Kind == KindWarning:
			a.journal.warn(errors.New("in a task: " + e.Text))
		default:
		}
	}
	if err := a.taskFile(&cfg); err != nil {
		return tool.Result{}, err
	}
	child, err := New(ctx, cfg)
	if err != nil {
		return tool.Result{}, err
	}
	answer, err := child.answerTo(ctx, prompt)
	totals := child.State().Totals.ByModel
	err = errors.Join(err, child.Close()) // after it, end is there
	for name, t := range totals {
		provider, id, _ := strings.Cut(name, "/")
		a.journal.spent(ctx, "task", session.Model{Provider: provider, ID: id}, &message.Usage{
			Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Cost: t.Cost,
		})
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("the task was not done: %w", err)
	}
	if len(answer) > taskAnswer {
		answer = strings.ToValidUTF8(answer[:taskAnswer], "") + "\n[the answer is longer]"
	}
	switch end.Outcome {
	case OutcomeDone:
	case OutcomeLimit:
		answer = fmt.Sprintf("The task was stopped after %d requests. What was said last: %s", cfg.MaxRequests, answer)
	default:
		answer = fmt.Sprintf("The task was not done: %s. What was said last: %s", cmp.Or(end.Error, string(end.Outcome)), answer)
	}
	r := tool.Text(answer).With(tool.Details{Session: cfg.File})
	r.IsError = end.Outcome != OutcomeDone
	return r, nil
}

// taskFile gives a task a session of its own, which names the one it belongs to.
func (a *Agent) taskFile(cfg *Config) error {
	if a.cfg.File == "" {
		cfg.Open = func(_ context.Context, engine clew.Config) (*clew.Session, error) { return clew.New(engine) }
		return nil
	}
	parent, err := filepath.Abs(a.cfg.File)
	if err != nil {
		return err
	}
	dir := clew.TaskFolder(parent)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	h := session.Header{Version: session.Version, ID: cfg.NewID(), Timestamp: cfg.Clock(), Cwd: cfg.Engine.Cwd, ParentSession: parent}
	cfg.File, cfg.TrustGrants = filepath.Join(dir, h.ID+".jsonl"), false
	cfg.Open = func(ctx context.Context, engine clew.Config) (*clew.Session, error) {
		f, err := jsonl.Create(ctx, cfg.File, h, jsonl.Options{Program: "clew chat"})
		if err != nil {
			return nil, err
		}
		return clew.OpenFile(ctx, f, engine)
	}
	return nil
}

// answerTo sends a prompt and returns the last answer.
func (a *Agent) answerTo(ctx context.Context, prompt string) (string, error) {
	if _, err := a.Send(ctx, Input{Text: prompt}); err != nil {
		return "", err
	}
	if err := a.Wait(ctx); err != nil {
		return "", err
	}
	items, err := a.s.Context(ctx)
	for _, it := range slices.Backward(items) {
		if t := it.Message.Text(); it.Message.Role == message.RoleAssistant && t != "" {
			return t, err
		}
	}
	return "(nothing)", err
}

// CompactSoon makes a pass before the next request, at the model's wish: it is for tools.
// While the context takes less than half of what triggers a pass it is refused.
func (a *Agent) CompactSoon(instructions string) error {
	if s := a.State(); s.Tokens*2 < s.Threshold {
		return &Error{
			Op: "compact", Err: fmt.Errorf("the conversation takes %d tokens, and at %d it is compacted by itself; less than half of that is not worth a summary", s.Tokens, s.Threshold),
			Hint: "go on",
		}
	}
	return a.ops.later("compact", DoingCompaction, func(ctx context.Context) error {
		_, err := a.passes.makeRoom(ctx, clew.CompactOptions{Instructions: instructions})
		if err != nil && ctx.Err() == nil {
			a.journal.warn(err)
		}
		return err
	})
}
