package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

const (
	provider  = "scripted"
	api       = "scripted"
	sessionID = "0a7c5e1e-1d6b-4c3f-9b52-5e7a11c0de01"
)

const systemPrompt = `You are a coding agent. You work in the user's checkout with the tools you are given.
Read before you change. Run the tests after you change something, and say what you ran.
Keep answers short; show numbers and file names instead of adjectives.`

const projectRules = `Working folder: ` + sceneRepo + `
A Go module, github.com/clew-dev/clew. Format with gofmt. Errors say what happened, to what, and what to do.
Commit only when the user asks for it.`

// player plays a script and keeps the session.
type player struct {
	box   *sandbox
	store *session.Memory
	log   *session.Log

	now   time.Time
	ids   int
	calls int
	model session.Model
	spent spent
	marks map[string]mark
}

// mark is a place in the conversation that the script can come back to.
type mark struct {
	entry string
	spent spent
	model session.Model
}

// play plays the steps and returns the session as a file has it.
func play(ctx context.Context, box *sandbox, steps []*step) ([]byte, error) {
	p := &player{box: box, now: time.Date(2026, 3, 2, 8, 58, 0, 0, time.UTC), marks: map[string]mark{}}
	p.store = session.NewMemory(session.Header{
		Version: session.Version, ID: sessionID, Timestamp: p.now, Cwd: sceneRepo,
	})
	var err error
	p.log, err = session.NewLog(ctx, p.store, session.Options{
		Clock: func() time.Time { return p.now },
		NewID: p.newID,
	})
	if err != nil {
		return nil, err
	}
	if err := p.system(ctx); err != nil {
		return nil, err
	}
	for _, s := range steps {
		if err := p.step(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.at, err)
		}
	}
	return p.file(ctx)
}

// file writes the records as lines.
func (p *player) file(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	out.Write(p.store.Header().JSON())
	out.WriteByte('\n')
	for e, err := range p.store.All(ctx) {
		if err != nil {
			return nil, err
		}
		out.Write(e.Raw())
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// newID counts, but looks like the ids of other sessions.
func (p *player) newID() string {
	p.ids++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", sessionID, p.ids))
	return hex.EncodeToString(sum[:8])
}

// pass lets the clock advance.
func (p *player) pass(d time.Duration) { p.now = p.now.Add(d.Round(time.Millisecond)) }

func (p *player) append(ctx context.Context, d ...session.Draft) error {
	_, err := p.log.Append(ctx, d...)
	return err
}

// send appends a message and counts it.
func (p *player) send(ctx context.Context, m *message.Message) error {
	m.Timestamp = p.now.UnixMilli()
	p.spent.context += messageTokens(m)
	return p.append(ctx, session.Message(m))
}

func (p *player) system(ctx context.Context) error {
	m := message.System(systemPrompt, p.now)
	m.Sections = []message.Section{{Name: "project", Text: projectRules}}
	m.ToolsAdded = []byte(toolSchemas)
	return p.send(ctx, m)
}

func (p *player) step(ctx context.Context, s *step) error {
	need := map[string]int{"name": 1, "model": 2, "level": 1, "wait": 1, "mark": 1, "label": 2, "goto": 1}
	if len(s.args) < need[s.kind] {
		return fmt.Errorf("@%s needs %d words after it", s.kind, need[s.kind])
	}
	switch s.kind {
	case "name":
		return p.append(ctx, session.NewSessionInfo(strings.Join(s.args, " ")))
	case "model":
		p.pass(4 * time.Second)
		p.model = session.Model{Provider: s.args[0], ID: s.args[1]}
		p.spent.cached = 0 // another model has another cache
		return p.append(ctx, session.NewModelChange(p.model))
	case "level":
		p.pass(2 * time.Second)
		return p.append(ctx, session.NewThinkingLevel(s.args[0]))
	case "wait":
		d, err := time.ParseDuration(s.args[0])
		p.pass(d)
		return err
	case "mark":
		p.marks[s.args[0]] = mark{p.log.Leaf(), p.spent, p.model}
		return nil
	case "label":
		m, err := p.mark(s.args[0])
		if err != nil {
			return err
		}
		p.pass(5 * time.Second)
		return p.append(ctx, session.NewLabel(m.entry, strings.Join(s.args[1:], " ")))
	case "goto":
		m, err := p.mark(s.args[0])
		if err != nil {
			return err
		}
		p.pass(20 * time.Second)
		p.spent, p.model = m.spent, m.model
		return p.log.Navigate(ctx, m.entry, "tree")
	case "user":
		// Reading the answer, thinking, typing.
		p.pass(35*time.Second + time.Duration(len(s.text))*110*time.Millisecond)
		return p.send(ctx, message.User(s.text, p.now))
	case "shell":
		return p.shell(ctx, s)
	case "assistant":
		return p.answer(ctx, s)
	}
	return fmt.Errorf("no step %q", s.kind)
}

func (p *player) mark(name string) (mark, error) {
	m, ok := p.marks[name]
	if !ok {
		return m, fmt.Errorf("no @mark %s before this", name)
	}
	return m, nil
}

// shell is a command of the user, beside the conversation.
func (p *player) shell(ctx context.Context, s *step) error {
	p.pass(30 * time.Second)
	out, code, err := p.box.run(ctx, p.now, s.text)
	if err != nil {
		return err
	}
	p.pass(300 * time.Millisecond)
	return p.send(ctx, &message.Message{
		Role: message.RoleBashExecution, Command: s.text, Output: strings.TrimRight(out, "\n"), ExitCode: &code,
	})
}

// answer appends an answer, runs its calls and appends their results.
func (p *player) answer(ctx context.Context, s *step) error {
	var blocks []message.Block
	for _, t := range s.thinking {
		blocks = append(blocks, message.ThinkingBlock(t, signature(t)))
	}
	for _, t := range s.says {
		blocks = append(blocks, message.TextBlock(t))
	}
	ids := make([]string, len(s.calls))
	for i, c := range s.calls {
		p.calls++
		ids[i] = fmt.Sprintf("call_%04d", p.calls)
		blocks = append(blocks, message.ToolCallBlock(ids[i], c.tool, c.args))
	}
	m := message.Assistant(p.now, blocks...)
	m.API, m.Provider, m.Model = api, p.model.Provider, p.model.ID
	switch stop := message.StopReason(s.opts["stop"]); stop {
	case "":
		before := p.spent
		m.Usage = p.spent.answer(m)
		p.pass(1100*time.Millisecond + time.Duration(before.context-before.cached)*300*time.Microsecond +
			time.Duration(m.Usage.Output)*14*time.Millisecond)
	case message.StopError, message.StopAborted:
		// The provider told no usage.
		m.StopReason, m.ErrorMessage = stop, s.opts["error"]
		p.pass(6 * time.Second)
	default:
		return fmt.Errorf("stop=%s is not for scripts", stop)
	}
	if err := p.send(ctx, m); err != nil {
		return err
	}
	return p.results(ctx, s, ids)
}

// results runs the calls of an answer, in their order, and appends the results
// in the order of the script.
func (p *player) results(ctx context.Context, s *step, ids []string) error {
	results := make([]result, len(s.calls))
	for i, c := range s.calls {
		r, err := p.box.call(ctx, p.now, c.tool, c.args)
		if err == nil {
			err = c.verify(r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.at, err)
		}
		results[i] = r
	}
	order := s.order
	if order == nil {
		for i := range s.calls {
			order = append(order, i)
		}
	}
	for _, i := range order {
		c, r := s.calls[i], results[i]
		p.pass(c.duration(len(r.text())))
		m := message.ToolResult(ids[i], c.tool, "", r.failed, p.now)
		m.Content = r.blocks
		if err := p.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// verify checks that the tool answered as the story needs it.
func (c call) verify(r result) error {
	got := r.text()
	if r.failed != c.fails {
		return fmt.Errorf("%s: failed is %t, the script says %t; it answered:\n%s", c.tool, r.failed, c.fails, got)
	}
	for _, want := range c.want {
		if !strings.Contains(got, want) {
			return fmt.Errorf("%s: the answer does not contain %q:\n%s", c.tool, want, got)
		}
	}
	return nil
}

// duration is what the session's clock says the call took.
func (c call) duration(size int) time.Duration {
	switch {
	case c.takes > 0:
		return c.takes
	case c.tool == "bash":
		return 900*time.Millisecond + time.Duration(size)*20*time.Microsecond
	}
	return 12*time.Millisecond + time.Duration(size)*time.Microsecond
}

// signature stands for what a provider signs its reasoning with.
func signature(thinking string) string {
	sum := sha256.Sum256([]byte(thinking))
	return "scripted/" + base64.StdEncoding.EncodeToString(slices.Concat(sum[:], sum[:16]))
}
