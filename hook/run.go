package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/procgroup"
	"github.com/clew-dev/clew/internal/text"
)

// The failures of a program. Each counts as no answer.
var (
	ErrTimeout   = errors.New("it did not end in time and was killed")
	ErrTooLong   = errors.New("it answered more than it may and was killed")
	ErrBadAnswer = errors.New("its answer is not understood") // not the JSON that belongs to the event
	ErrFailed    = errors.New("it failed")                    // not started, or ended otherwise than with 0 or 2
)

// blocked is the answer of a program that ended with exit code 2.
type blocked struct{ why string }

func (b *blocked) Error() string { return "it blocked: " + b.why }

const (
	exitBlock = 2
	grace     = 500 * time.Millisecond // from SIGTERM until it is killed, or from its end until its children are
	maxReason = 2_000                  // what is read of the standard error, in bytes
)

type program struct{ c Config }

// ask runs the program with an event and reads its answer. The error is a *blocked where it blocks.
func (p *program) ask(ctx context.Context, event, answer any) error {
	in, err := json.Marshal(event)
	if err != nil {
		return p.failure(fmt.Errorf("%w: the event can't be written: %w", ErrFailed, err), "")
	}
	out, reason, err := p.run(ctx, in)
	if err == nil {
		err = decode(out, answer)
	}
	if err != nil {
		return p.failure(err, reason)
	}
	return nil
}

// failure adds what the program said, and makes it a block where it is to be one.
func (p *program) failure(err error, reason string) error {
	if b := (*blocked)(nil); errors.As(err, &b) {
		return err
	}
	if reason != "" {
		err = fmt.Errorf("%w; it said: %s", err, reason)
	}
	if p.c.Required {
		return &blocked{"a hook that must answer did not: " + err.Error()}
	}
	return err
}

func (p *program) run(ctx context.Context, in []byte) (out []byte, reason string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	name, args, err := p.c.line()
	if err != nil {
		return nil, "", fmt.Errorf("%w: it can't be found: %w", ErrFailed, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.c.Timeout, ErrTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.c.Dir, p.c.environment(), grace
	cmd.Stdin = bytes.NewReader(in)
	stdout := &capped{max: p.c.MaxOutput, over: func() { stop(ErrTooLong) }}
	stderr := &capped{max: maxReason}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	procgroup.Own(cmd)
	err = cmd.Run()
	if cmd.Process != nil && (ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay)) {
		procgroup.Kill(cmd) // whom the signal did not stop, and the children of a program that has ended
	}
	reason = readable(stderr.bytes())
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrTimeout):
		return nil, reason, fmt.Errorf("%w: %v are its limit", ErrTimeout, p.c.Timeout)
	case errors.Is(cause, ErrTooLong):
		return nil, reason, fmt.Errorf("%w: %d bytes are its limit", ErrTooLong, p.c.MaxOutput)
	case cause != nil:
		return nil, reason, cause
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it has ended, and left a child behind
		err = nil
		if !cmd.ProcessState.Success() {
			err = &exec.ExitError{ProcessState: cmd.ProcessState}
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitBlock {
		return nil, "", &blocked{cmp.Or(reason, "it did not say why")}
	}
	if err != nil {
		return nil, reason, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return stdout.bytes(), reason, nil
}

// decode reads an answer: nothing, or one JSON object with no other fields than the event's answer has.
func decode(out []byte, answer any) error {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return nil
	}
	if !utf8.Valid(out) {
		return fmt.Errorf("%w: it is not UTF-8", ErrBadAnswer)
	}
	if out[0] != '{' {
		return fmt.Errorf("%w: it begins with %q and not with {; nothing else than the answer belongs on the standard output", ErrBadAnswer, strings.ToValidUTF8(string(out[:min(20, len(out))]), ""))
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(answer); err != nil {
		return fmt.Errorf("%w: %s", ErrBadAnswer, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows it", ErrBadAnswer)
	}
	return nil
}

// readable is a text of a program as one line for people.
func readable(b []byte) string { return text.OneLine(text.Line(text.Plain(string(b))), maxReason) }

// capped keeps the first max bytes and calls over, once, at more. The rest is dropped, so that no writer waits.
type capped struct {
	max  int64
	over func()

	mu  sync.Mutex // a writer may outlive Run by a moment
	buf bytes.Buffer
}

func (c *capped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := c.max - int64(c.buf.Len())
	if int64(len(b)) <= room {
		return c.buf.Write(b)
	}
	c.buf.Write(b[:room])
	if c.over != nil {
		c.over()
		c.over = nil
	}
	return len(b), nil
}

func (c *capped) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.buf.Bytes())
}
