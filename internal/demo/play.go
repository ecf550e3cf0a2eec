package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// Player goes through the tour by itself and writes what happens, line by line.
type Player struct {
	out io.Writer
	bad error // the output takes no more

	events *agent.EventQueue
	ended  bool   // the turn has
	rests  bool   // and so has what comes after it
	failed string // how the turn has failed, "" where it has not
}

// NewPlayer returns a player that writes to out.
func NewPlayer(out io.Writer) *Player { return &Player{out: out, events: agent.NewEventQueue()} }

// Take is to be told of each event of the agent. It does not wait for anything.
func (p *Player) Take(e agent.Event) { p.events.Send(e) }

// Play goes through the tour on an agent whose session is new. What is asked is allowed: the
// project is the demo's own.
func (p *Player) Play(ctx context.Context, a *agent.Agent) error {
	p.line("A model that follows rules, with a window of %s tokens. The tools, the engine, the project\nand the session file are real.", group(Window))
	for i, step := range []func(context.Context, *agent.Agent) error{p.task, p.report, p.undo, p.question, p.branch} {
		titles := []string{
			"A task that is too large for the window", "What the window holds now", "The pass is taken back",
			"A question about what has left the window", "Back to the first message, and another way",
		}
		p.line("\n%d. %s", i+1, titles[i])
		if err := step(ctx, a); err != nil {
			return err
		}
	}
	p.line("\nThat was all. clew chat --demo does the same in the terminal, one step at a time;\nclew chat without --demo talks with a model of yours: clew models lists them.")
	return p.bad
}

func (p *Player) task(ctx context.Context, a *agent.Agent) error { return p.say(ctx, a, sayFix) }

func (p *Player) report(ctx context.Context, a *agent.Agent) error {
	p.told("you", "/context")
	now := a.State()
	p.told("clew", "%s of %s tokens; a pass is due at %s. %d %s so far.", group(now.Tokens), group(now.Window), group(now.Threshold), now.Totals.Requests, plural(now.Totals.Requests, "request", "requests"))
	p.told("you", "/explain")
	return p.fates(ctx, a)
}

// fates says what became of what was said.
func (p *Player) fates(ctx context.Context, a *agent.Agent) error {
	shown, err := a.Path(ctx)
	if err != nil {
		return err
	}
	kinds := map[compact.FateKind]int{}
	said := 0
	for _, s := range shown {
		if s.Type == session.TypeMessage {
			kinds[s.Fate.Fate]++
			said++
		}
	}
	var parts []string
	for _, k := range []compact.FateKind{compact.FateVerbatim, compact.FateEdited, compact.FateSummarized, compact.FateQuoted, compact.FateExcluded} {
		if n := kinds[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	p.told("clew", "of %d messages on the path: %s.", said, strings.Join(parts, ", "))
	return nil
}

func (p *Player) undo(ctx context.Context, a *agent.Agent) error {
	p.told("you", "/undo")
	before := a.State().Tokens
	u, err := a.Undo(ctx, session.UndoOptions{})
	later := (*session.LaterError)(nil)
	if errors.As(err, &later) {
		p.told("clew", "%d %s came after the pass: go back to before it, or keep %s?", later.Messages, plural(later.Messages, "message", "messages"), plural(later.Messages, "it", "them"))
		p.told("you", "keep")
		u, err = a.Undo(ctx, session.UndoOptions{KeepLater: true})
	}
	if err != nil {
		return err
	}
	p.told("clew", "the pass %s is taken back: %s tokens again, in place of %s.", short(u.Pass), group(a.State().Tokens), group(before))
	return p.fates(ctx, a)
}

func (p *Player) question(ctx context.Context, a *agent.Agent) error {
	return p.say(ctx, a, sayRecall)
}

func (p *Player) branch(ctx context.Context, a *agent.Agent) error {
	path, err := a.Path(ctx)
	if err != nil {
		return err
	}
	first := ""
	for _, s := range path {
		if s.Message != nil && s.Message.UserWords() {
			first = s.ID
			break
		}
	}
	p.told("you", "/tree, to the first message, with a summary")
	b, err := a.Navigate(ctx, first, clew.BranchOptions{Summarize: true, Label: "the slip of the pen"})
	if err != nil {
		return err
	}
	p.told("clew", "%d messages are left behind on their branch; %s tokens now. The summary that goes along:", b.Left, group(a.State().Tokens))
	if b.Summary != nil {
		p.indented(b.Summary.Summary)
	}
	return p.say(ctx, a, sayTeach)
}

// say sends a text and shows what comes of it.
func (p *Player) say(ctx context.Context, a *agent.Agent, text string) error {
	if _, err := a.Send(ctx, agent.Input{Text: text}); err != nil {
		return err
	}
	if err := p.follow(ctx, a); err != nil {
		return err
	}
	if p.failed != "" {
		return fmt.Errorf("the turn has failed: %s", p.failed)
	}
	return nil
}

// follow shows what happens until the turn has ended, and what is done after it.
func (p *Player) follow(ctx context.Context, a *agent.Agent) error {
	for p.ended, p.rests = false, false; !p.rests; {
		select {
		case <-p.events.Ready():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, e := range p.events.Take() {
			if err := p.show(a, e); err != nil {
				return err
			}
		}
	}
	return p.bad
}

// show writes an event, and answers it where it is a question.
func (p *Player) show(a *agent.Agent, e agent.Event) error {
	switch e.Kind {
	case agent.KindState:
		p.rests = p.ended && e.State.Doing == agent.DoingNothing
	case agent.KindEntry:
		p.entry(e.Entry.Message)
	case agent.KindToolEnd:
		p.tool(e.Tool)
	case agent.KindAsk:
		p.told("clew", "is this allowed? %s", e.Question.Tool.Line)
		p.indented(changes(e.Question.Diff))
		p.told("you", "yes")
		return a.Answer(e.Question.ID, agent.Reply{Allow: true})
	case agent.KindCompactionEnd:
		p.compaction(e.Compaction)
	case agent.KindWarning, agent.KindError:
		p.told("clew", "%s", e.Text)
	case agent.KindTurnEnd:
		p.ended, p.failed = true, ""
		if e.Outcome != agent.OutcomeDone {
			p.failed = string(e.Outcome) + " " + e.Error
		}
	default:
	}
	return nil
}

func (p *Player) entry(m *message.Message) {
	switch m.Role {
	case message.RoleUser:
		p.told("you", "%s", m.Text())
	case message.RoleAssistant:
		if text := m.Text(); text != "" {
			p.told("model", "%s", text)
		}
	default:
	}
}

func (p *Player) tool(c *agent.ToolCall) {
	end := ""
	if c.IsError {
		end = ": failed"
	}
	p.told("tool", "%s%s", c.Line, end)
}

func (p *Player) compaction(c *agent.Compaction) {
	if !c.Done {
		p.told("clew", "no pass: %s", c.Why+c.Error)
		return
	}
	var stages []string
	for _, r := range c.Stages {
		stages = append(stages, fmt.Sprintf("%s frees %s", r.Name, group(r.Freed)))
	}
	if by := c.Summarizer; by != "" && by != (summary.Deterministic{}).Name() {
		stages = append(stages, by+" wrote the summary")
	}
	p.told("clew", "COMPACTED: %s tokens -> %s; %s. /undo takes it back.", group(c.Before), group(c.After), strings.Join(stages, ", "))
}

// changes are the lines of a diff that say what changes.
func changes(diff string) string {
	var out []string
	for line := range strings.Lines(diff) {
		if (line[0] == '+' || line[0] == '-') && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "---") {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

// told writes who says what.
func (p *Player) told(who, format string, args ...any) {
	for line := range strings.Lines(strings.TrimSpace(fmt.Sprintf(format, args...))) {
		for _, part := range wrap(strings.TrimRight(line, "\n"), width) {
			p.line("%-8s%s", who, part)
			who = ""
		}
	}
}

func (p *Player) indented(text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		p.line("        | %s", strings.TrimRight(line, "\n"))
	}
}

func (p *Player) line(format string, args ...any) {
	var b strings.Builder
	for line := range strings.Lines(fmt.Sprintf(format, args...) + "\n") {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if p.bad == nil {
		_, p.bad = io.WriteString(p.out, b.String())
	}
}

// width is how long what somebody says is in a line, in bytes.
const width = 86

// wrap breaks a line between words. What is set in a way of its own stays as it is.
func wrap(line string, most int) (out []string) {
	for len(line) > most && !strings.HasPrefix(line, "FAIL") {
		i := strings.LastIndexByte(line[:most+1], ' ')
		if i <= 0 {
			break
		}
		out = append(out, line[:i])
		line = line[i+1:]
	}
	return append(out, line)
}

// group writes a number with a comma after each thousand.
func group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// short is an id as it is shown.
func short(id string) string { return "#" + id[:min(8, len(id))] }
