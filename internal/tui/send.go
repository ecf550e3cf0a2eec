package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
)

// outgoing is something that the user has typed and that is on its way: to the
// history, and to the agent where it is a message.
type outgoing struct {
	line  string       // for the history; "" for none
	input *agent.Input // nil for a command

	// What became of it, once it was tried: set by the task that sends it.
	tried bool
	err   error
}

// sentMsg says that the first of the outbox was tried.
type sentMsg struct{}

// input does what the user has typed and sent.
func (u *ui) input(text string, when agent.When) {
	u.log.end()
	u.lastError = ""
	if what, rest := kindOf(text); what != inputText {
		u.post(outgoing{line: text})
		command(u, what, rest)
		return
	} else {
		u.post(outgoing{line: text, input: &agent.Input{Text: rest, When: when}})
	}
}

// inputKind is what a line is.
type inputKind int

const (
	inputText    inputKind = iota // for the model
	inputCommand                  // /command
	inputShell                    // !command
	inputHidden                   // !!command, which the model does not see
)

// kindOf tells what a line is, and returns what is left of it.
func kindOf(line string) (inputKind, string) {
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "//"):
		return inputText, line[1:]
	case strings.HasPrefix(line, "/"):
		return inputCommand, line[1:]
	case strings.HasPrefix(line, "!!"):
		return inputHidden, strings.TrimSpace(line[2:])
	case strings.HasPrefix(line, "!"):
		return inputShell, strings.TrimSpace(line[1:])
	}
	return inputText, line
}

// post puts something into the outbox. It goes out in order, one after the other.
func (u *ui) post(o outgoing) {
	u.outbox = append(u.outbox, &o)
	u.next()
}

// next sends the first of the outbox.
func (u *ui) next() {
	if u.sending || u.switching || len(u.outbox) == 0 {
		return
	}
	u.sending = true
	o, host := u.outbox[0], u.cfg.Host
	u.do(u.tasks.cmd(func(ctx context.Context) tea.Msg {
		if o.line != "" {
			host.Remember(o.line)
		}
		if o.input != nil {
			_, o.err = host.Agent().Send(context.WithoutCancel(ctx), *o.input)
		}
		o.tried = true
		return sentMsg{}
	}))
}

func (u *ui) sent() {
	o := u.outbox[0]
	u.outbox, u.sending = u.outbox[1:], false
	if o.err != nil {
		u.fail("it was not sent", o.err)
		if !u.ed.Offer(o.input.Text) {
			u.note("what was not sent is in the history: the key Up brings it back")
		}
		u.quitting = false
	}
	u.next()
}

// sendRest sends what was typed and is not sent, after the program and its tasks have
// ended.
func (u *ui) sendRest() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), 5*time.Second)
	defer cancel()
	var errs []error
	for _, o := range u.outbox { // no task works on it any more
		if o.input != nil && (!o.tried || o.err != nil) {
			if _, err := u.cfg.Host.Agent().Send(ctx, *o.input); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// takeBack puts what waits last back into the editor, if that is empty.
func (u *ui) takeBack() {
	switch {
	case len(u.queue) == 0:
		u.note("nothing waits to be delivered")
		return
	case !u.ed.Empty():
		u.note("the editor is not empty: send or delete what is in it first")
		return
	}
	a, id := u.cfg.Host.Agent(), u.queue[len(u.queue)-1].ID
	var got []agent.Queued
	u.quietly(func(context.Context) (err error) { got, err = a.TakeBack(id); return err }, func(err error) {
		if err != nil {
			u.fail("", err)
			return
		}
		for _, q := range got {
			if !u.ed.Offer(q.Text) { // something was typed meanwhile
				u.post(outgoing{input: &q.Input})
			}
		}
	})
}
