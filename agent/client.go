package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ClientConfig sets up a Client. The zero value is ready for use.
type ClientConfig struct {
	// Events is told of each event, in order. Answers wait for it, so it must not call
	// the Client.
	Events func(Event)
}

// Client drives an agent that runs in another program, clew chat --rpc, over lines of JSON. clew help rpc describes its
// methods and events. It may be used from several goroutines.
//
//	c := agent.NewClient(stdout, stdin, agent.ClientConfig{Events: show})
//	err := c.Call(ctx, "send", map[string]any{"text": "fix the flaky test"}, nil)
//	err = c.Call(ctx, "wait", nil, nil)
type Client struct {
	events func(Event)
	done   chan struct{} // closed when nothing more comes

	writing sync.Mutex
	out     io.WriteCloser

	mu     sync.Mutex
	last   int64
	wait   map[int64]chan reply
	hello  Hello
	greet  chan struct{}
	ended  error // why nothing more comes
	closed bool
}

// Protocol is the version of the lines that Client speaks. It grows when something is changed that a client may rely on;
// new methods, members and events may come without that.
const Protocol = 1

// RemoteError is what an answer has in place of a result.
type RemoteError struct {
	// Code is one of those that clew help rpc lists.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Hint says what to do; it may be empty.
	Hint string `json:"hint,omitempty"`
}

func (e *RemoteError) Error() string {
	if e.Hint != "" {
		return e.Message + "; " + e.Hint
	}
	return e.Message
}

// Hello is what a server says first.
type Hello struct {
	Version int      `json:"version"`
	Dir     string   `json:"dir"`
	State   State    `json:"state"`
	Methods []string `json:"methods"`
}

type reply struct {
	result json.RawMessage
	err    error
}

func (r reply) into(result any) error {
	if r.err != nil || result == nil {
		return r.err
	}
	return json.Unmarshal(r.result, result)
}

// ErrEnded says that the server is gone.
var ErrEnded = errors.New("the other side has ended")

// NewClient returns a client that reads what a server writes from in, and writes to out,
// which Close closes. It reads until in ends.
func NewClient(in io.Reader, out io.WriteCloser, cfg ClientConfig) *Client {
	c := &Client{events: cfg.Events, out: out, wait: map[int64]chan reply{}, done: make(chan struct{}), greet: make(chan struct{})}
	go c.read(in)
	return c
}

// Hello returns what the server said first, and waits for it.
func (c *Client) Hello(ctx context.Context) (Hello, error) {
	select {
	case <-c.greet:
		return c.hello, nil
	case <-c.done:
		return Hello{}, c.why()
	case <-ctx.Done():
		return Hello{}, context.Cause(ctx)
	}
}

// Call asks for a method and waits for the answer. params is nil or becomes a JSON object;
// what is answered goes into result, if that is not nil. The error is an *RemoteError where the
// server has answered with one. When ctx ends nobody waits any more, but what was asked
// goes on: "cancel" cancels it.
func (c *Client) Call(ctx context.Context, name string, params, result any) error {
	got := make(chan reply, 1)
	c.mu.Lock()
	if c.closed || c.ended != nil {
		c.mu.Unlock()
		return c.why()
	}
	c.last++
	id := c.last
	c.wait[id] = got
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.wait, id)
		c.mu.Unlock()
	}()
	if err := c.write(id, name, params); err != nil {
		return err
	}
	select {
	case r := <-got:
		return r.into(result)
	case <-c.done:
		select {
		case r := <-got: // it came before the end
			return r.into(result)
		default:
			return c.why()
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) write(id int64, name string, params any) error {
	data, err := json.Marshal(struct {
		ID     int64  `json:"id"`
		Method string `json:"method"`
		Params any    `json:"params,omitempty"`
	}{id, name, params})
	if err != nil {
		return fmt.Errorf("%s: the params can't be written: %w", name, err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return nil
}

func (c *Client) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil && !errors.Is(c.ended, io.EOF) {
		return fmt.Errorf("%w: %w", ErrEnded, c.ended)
	}
	return ErrEnded
}

// Close ends the requests, so that the server ends, and waits until nothing more comes.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.writing.Lock()
	err := c.out.Close()
	c.writing.Unlock()
	<-c.done
	return err
}

// read takes what the server writes.
func (c *Client) read(in io.Reader) {
	defer close(c.done)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		data, err := r.ReadBytes('\n')
		if err == nil {
			err = c.take(bytes.TrimSuffix(data, []byte("\n")))
		}
		if err != nil {
			c.mu.Lock()
			c.ended = err
			c.mu.Unlock()
			return
		}
	}
}

// take takes a line.
func (c *Client) take(data []byte) error {
	var l struct {
		Hello  *Hello          `json:"hello"`
		Event  *Event          `json:"event"`
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *RemoteError    `json:"error"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("a line that is no answer: %w", err)
	}
	switch {
	case l.Hello != nil:
		if l.Hello.Version != Protocol {
			return fmt.Errorf("the server speaks version %d, and this is %d", l.Hello.Version, Protocol)
		}
		select {
		case <-c.greet:
			return errors.New("the server has said hello twice")
		default:
		}
		c.hello = *l.Hello // nobody reads it before greet is closed
		close(c.greet)
	case l.Event != nil:
		if c.events != nil {
			c.events(*l.Event)
		}
	case l.ID != nil:
		var id int64
		_ = json.Unmarshal(l.ID, &id) // another one is none that was asked with
		c.mu.Lock()
		got := c.wait[id]
		delete(c.wait, id)
		c.mu.Unlock()
		if got == nil {
			return nil // nobody waits for it any more
		}
		r := reply{result: l.Result}
		if l.Error != nil {
			r.err = l.Error
		}
		got <- r
	}
	return nil
}
