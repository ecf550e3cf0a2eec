package tui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/text"
)

// outgoing is something that the user has typed and that is on its way: to the
// history, and to the agent where it is a message.
type outgoing struct {
	line  string       // for the history; "" for none
	input *agent.Input // nil for a command

	asIs bool // it is not expanded

	// What became of it, once it was tried: set by the task that sends it.
	tried bool
	notes []string
	err   error
}

// sentMsg says that the first of the outbox was tried.
type sentMsg struct{}

// input does what the user has typed and sent.
func (u *ui) input(text string, when agent.When) {
	u.log.end()
	u.lastError = ""
	mark, rest := markOf(text)
	if mark != "" {
		u.post(outgoing{line: text})
		command(u, mark, rest)
		return
	}
	u.post(outgoing{line: text, input: &agent.Input{Text: rest, When: when}, asIs: rest != strings.TrimSpace(text)})
}

// own sends a text that begins with a command that a file defines.
func (u *ui) own(text string) { u.post(outgoing{input: &agent.Input{Text: text}}) }

// expand puts what a message names into it. With an error it is the message as it was typed.
func (o *outgoing) expand(ctx context.Context, host rpc.Host) (in agent.Input, err error) {
	in = *o.input
	if o.asIs {
		return in, nil
	}
	x, err := host.Expand(ctx, in.Text)
	if err == nil {
		in.Text, in.Images, o.notes = x.Text, append(in.Images, x.Images...), x.Notes
	}
	return in, err
}

// markOf returns the mark of a line that is not for the model, and what is left of it: / of
// a command, ! of one for the shell, !! of one that the model does not see.
func markOf(line string) (mark, rest string) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "//") {
		return "", line[1:]
	}
	for _, mark := range []string{"/", "!!", "!"} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return mark, rest
		}
	}
	return "", line
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
			var in agent.Input
			if in, o.err = o.expand(ctx, host); o.err == nil {
				_, o.err = host.Agent().Send(context.WithoutCancel(ctx), in)
			}
		}
		o.tried = true
		return sentMsg{}
	}))
}

func (u *ui) sent() {
	o := u.outbox[0]
	u.outbox, u.sending = u.outbox[1:], false
	for _, n := range o.notes {
		u.note(n)
	}
	if o.err != nil {
		u.fail("it was not sent", o.err)
		if !u.ed.Offer(o.input.Text) {
			u.note("what was not sent is in the history; the key Up brings it back")
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
			in, _ := o.expand(ctx, u.cfg.Host) // where that fails it is as it was typed: it is not lost
			_, err := u.cfg.Host.Agent().Send(ctx, in)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// drafter is a host that has a place for what was typed and not sent.
type drafter interface{ DraftFile() (string, error) }

// keepDraft writes what stands in the editor to where offerDraft finds it.
func (u *ui) keepDraft() error {
	d, ok := u.cfg.Host.(drafter)
	if !ok || strings.TrimSpace(u.ed.Text()) == "" {
		return nil
	}
	path, err := d.DraftFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(u.ed.Text()), 0o600)
}

// offerDraft puts what was not sent the last time into the editor.
func (u *ui) offerDraft() {
	d, ok := u.cfg.Host.(drafter)
	if !ok {
		return
	}
	var draft []byte
	u.run("", func(context.Context) error {
		path, err := d.DraftFile()
		if err == nil {
			if draft, err = os.ReadFile(path); err == nil {
				err = os.Remove(path)
			}
		}
		return err
	}, func(err error) {
		switch {
		case err != nil: // mostly there is none
		case u.ed.Offer(string(draft)):
			u.note("what you had typed when you left is in the editor")
		default:
			u.ed.SetHistory(append(u.ed.History(), string(draft)))
			u.note("what you had typed when you left: the key Up brings it back")
		}
	})
}

// takeLast puts what waits last back into the editor, if that is empty.
func (u *ui) takeLast() {
	switch n := len(u.queue); {
	case n == 0:
		u.note("nothing waits to be delivered")
	case !u.ed.Empty():
		u.note("the editor is not empty; send or delete its text first")
	default: // what does not fit, as something was typed meanwhile, waits again
		u.takeBack(u.queue[n-1].ID, func(q agent.Queued) { u.post(outgoing{input: &q.Input, asIs: true}) })
	}
}

// takeBack puts what waits back into the editor; full is called where something stands there.
func (u *ui) takeBack(id string, full func(agent.Queued)) {
	a := u.cfg.Host.Agent()
	get(u, "", "", func(context.Context) ([]agent.Queued, error) { return a.TakeBack(id) }, func(got []agent.Queued) {
		for _, q := range got {
			if !u.ed.Offer(q.Text) {
				full(q)
			}
		}
	})
}

// offer puts the text of a message that is gone to into the editor.
func (u *ui) offer(said string) {
	if said != "" && !u.ed.Offer(said) {
		u.note("the message that stood here was not put into the editor, where you have typed something: " + text.FirstLine(said))
	}
}

// ago says how long a time is past.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min ago"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h ago"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " d ago"
	}
}
