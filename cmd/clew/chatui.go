package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/demo"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// runUI shows the conversation on the terminal.
func (fl *chatFlags) runUI(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if !fl.print && !fl.screenReader && (!isTerminal(in) || !isTerminal(out)) {
		return usagef("chat: %w", tui.ErrNoTerminal)
	}
	end, err := fl.takeDemo(cmd, &c)
	if err != nil {
		return err
	}
	defer end()
	queue := agent.NewEventQueue()
	c.Events = queue.Send
	s, err := openChat(ctx, c)
	if errors.Is(err, provider.ErrNoModel) && isTerminal(in) {
		if err := fl.firstRun(ctx, cmd); err != nil {
			return err
		}
		return fl.runUI(ctx, cmd, c, words)
	}
	if err != nil {
		return err
	}
	if s.AskTrust() {
		yes, err := askTrust(in, out, s.Untrusted())
		if err == nil && !yes {
			err = s.DontTrust()
		} else if err = errors.Join(err, s.Close()); err == nil {
			if err = s.Trust(ctx); err == nil { // with all that the project wants
				s, err = openChat(ctx, c)
			}
		}
		if err != nil {
			return err
		}
	}
	hints := s.Warnings()
	var script []string
	if fl.print { // the demo goes through its tour by itself
		script = demo.Script()
	} else if fl.demo {
		hints = append(hints, demo.Hints()...)
	}
	look := s.UI()
	var host rpc.Host = s
	if fl.demo {
		host = demoHost{s}
	}
	err = tui.Run(ctx, tui.Config{
		Host: host, Events: queue, In: in, Out: out, Theme: cmp.Or(widget.Mode(fl.theme), widget.Mode(look.Theme), widget.ModeAuto), ScreenReader: fl.screenReader || look.ScreenReader,
		First: words, Script: script, Choose: fl.resume == pickSession, Hints: hints,
		Silent: look.Silent, NoPreview: look.NoPreview, MoveAtOnce: look.MoveAtOnce,
	})
	now := s.Agent().State()
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	goOn := ""
	if _, err := os.Stat(now.File); err == nil && now.File != "" && !fl.demo {
		goOn = "clew chat --session " + now.Session + " continues it"
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New(strings.TrimSuffix("interrupted; "+goOn, "; "))}
	case fl.print:
		fmt.Fprintln(out, "\nThat was all. clew chat --demo does the same in the terminal, one step at a time;\nclew chat without --demo talks with a model of yours: clew models lists them.")
	case goOn != "":
		fmt.Fprintln(cmd.ErrOrStderr(), goOn)
	}
	return nil
}

// demoHost is a session of the demo, which has one model.
type demoHost struct{ *chat.Host }

// Models implements rpc.Host.
func (h demoHost) Models() []rpc.ModelChoice {
	s := h.Agent().State()
	return []rpc.ModelChoice{{Name: s.Model, Window: s.Window, Ready: true}}
}

// askTrust asks whether a project is trusted.
func askTrust(in io.Reader, out io.Writer, wants []string) (bool, error) {
	fmt.Fprintln(out, "This project's settings ask for more than a project may do without your trust:")
	for _, w := range wants {
		fmt.Fprintln(out, "  "+printable(w))
	}
	return askYes(in, out, "Trust this project? It can then run its own programs.")
}

// chatHeader is the first line of chat --json.
type chatHeader struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Session string `json:"session"`
	File    string `json:"file,omitempty"`
	Model   string `json:"model"`
	Dir     string `json:"dir"`
}

// printer follows what the agent does for one prompt.
type printer struct {
	enc    *json.Encoder // nil: the answer alone is printed
	broken error         // the output took no more
	bar    *progress
	errOut io.Writer

	answer  string
	outcome agent.Outcome
	failed  string
	refused []*agent.Question // nobody was there to answer
}

func (p *printer) show(e agent.Event) {
	switch e.Kind {
	case agent.KindEntry:
		if isAnswer(e.Entry.Message) {
			p.answer = e.Entry.Message.Text()
		}
	case agent.KindTurnStart, agent.KindRequest:
		p.bar.say("working")
	case agent.KindToolStart:
		p.bar.say("%s", e.Tool.Line)
	case agent.KindCompactionStart:
		p.bar.say("compacting")
	case agent.KindRetry:
		p.bar.say("again in %s: %s", e.Retry.Wait, e.Retry.Error)
	case agent.KindWarning:
		p.bar.done()
		fmt.Fprintf(p.errOut, "clew: %s\n", printable(e.Text))
	case agent.KindRefused:
		if !slices.ContainsFunc(p.refused, func(q *agent.Question) bool { return q.Tool.Line == e.Question.Tool.Line }) {
			p.refused = append(p.refused, e.Question)
		}
	case agent.KindTurnEnd:
		p.outcome, p.failed = e.Outcome, e.Error
	default:
	}
	if p.enc != nil && p.broken == nil {
		p.broken = p.enc.Encode(e)
	}
}

// runPrint answers one prompt.
func (fl *chatFlags) runPrint(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	input, err := readInput(cmd)
	if err != nil {
		return err
	}
	if words+input == "" && fl.demo && !fl.json {
		c.Interactive = true
		return fl.runUI(ctx, cmd, c, "")
	}
	end, err := fl.takeDemo(cmd, &c)
	if err != nil {
		return err
	}
	defer end()
	if words+input == "" {
		return usagef("chat: there is no prompt; give one as an argument or on the standard input")
	}
	p := &printer{bar: newProgress(cmd), errOut: cmd.ErrOrStderr()}
	defer p.bar.done()
	if fl.json {
		p.enc = json.NewEncoder(&leaving{ctx, cmd.OutOrStdout()})
		p.enc.SetEscapeHTML(false)
	}
	queue := agent.NewEventQueue()
	c.Events = queue.Send
	s, err := openChat(ctx, c)
	if err != nil {
		return err
	}
	tell(cmd, s.Warnings())
	if p.enc != nil {
		now := s.Agent().State()
		p.broken = p.enc.Encode(chatHeader{"header", 1, now.Session, now.File, now.Model, s.Dir()})
	}
	var told sync.WaitGroup
	told.Go(func() { queue.Each(context.WithoutCancel(ctx), p.show) })
	err = p.say(ctx, s, words, input)
	err = errors.Join(err, s.Close())
	told.Wait()
	p.bar.done()
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; " + howToGoOn(s))}
	}
	if err != nil {
		return err
	}
	p.refusals()
	return p.end(cmd, s)
}

// say sends a prompt and waits until it is answered. When ctx ends the work is cancelled.
// What the words name is added; what came on the standard input is sent as it is.
func (p *printer) say(ctx context.Context, s *chat.Host, words, input string) error {
	if err := s.Ready(ctx); err != nil {
		return nil // it was interrupted
	}
	a := s.Agent()
	prompt, err := s.Expand(ctx, words)
	if err != nil {
		return nil // likewise
	}
	for _, note := range prompt.Notes {
		fmt.Fprintf(p.errOut, "clew: note: %s\n", printable(note))
	}
	text := strings.TrimSpace(prompt.Text + "\n\n" + input)
	if _, err := a.Send(ctx, agent.Input{Text: text, Images: prompt.Images}); err != nil {
		return err
	}
	if err := a.Wait(ctx); err != nil {
		_, err := a.Cancel(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

func howToGoOn(s *chat.Host) string {
	if now := s.Agent().State(); now.File != "" {
		return "clew chat --session " + now.File + " continues it"
	}
	return "the session was only in memory"
}

// refusals says what was refused because nobody was there to ask.
func (p *printer) refusals() {
	for _, r := range p.refused {
		text := "refused, because clew could not ask: " + printable(r.Tool.Line) + " (" + printable(r.Why) + ")"
		for i, rule := range r.Rules {
			if i == 0 {
				text += "; to allow it:"
			}
			text += " --allow " + shellWord(printable(rule))
		}
		fmt.Fprintf(p.errOut, "clew: %s\n", text)
	}
}

// end prints the answer, or says why there is none.
func (p *printer) end(cmd *cobra.Command, s *chat.Host) error {
	switch p.outcome {
	case agent.OutcomeDone:
	case agent.OutcomeLimit:
		return fmt.Errorf("stopped at the limit of requests for one prompt; raise it with --max-requests; %s", howToGoOn(s))
	case agent.OutcomeFailed:
		return errors.New(p.failed)
	default:
		return errors.New("it was cancelled; " + howToGoOn(s))
	}
	if p.enc != nil {
		return p.broken
	}
	if p.answer == "" {
		return nil
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(p.answer, "\n"))
	return err
}
