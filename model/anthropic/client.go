package anthropic

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// BaseURL is the vendor's address.
const BaseURL = "https://api.anthropic.com"

// Version is the version of the API that is asked for.
const Version = "2023-06-01"

// Config says which model, and what beside it.
type Config struct {
	model.Endpoint
	// Beta names features of the API that must be asked for.
	Beta []string
}

// Client is a model behind the Messages API.
type Client struct {
	e       model.Endpoint
	beta    []string
	ownHome bool
	profile wire.Profile
}

var (
	_ model.Model    = (*Client)(nil)
	_ model.Counter  = (*Client)(nil)
	_ model.Renderer = (*Client)(nil)
)

// New returns a model. It makes no call.
func New(c Config) (*Client, error) {
	e, ownHome, err := c.Resolve(model.Vendor{
		Provider: "anthropic", API: "anthropic-messages", BaseURL: BaseURL,
		KeyEnv: []string{"ANTHROPIC_API_KEY"}, Profile: wire.Anthropic,
	})
	if err != nil {
		return nil, err
	}
	return &Client{e: e, beta: c.Beta, ownHome: ownHome, profile: wire.Anthropic}, nil
}

// Info implements model.Model.
func (c *Client) Info() model.Info { return *c.e.Info }

// Complete implements model.Model.
func (c *Client) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	const op = "complete"
	sent, err := c.render(op, r, false)
	if err != nil {
		return nil, err
	}
	return c.e.Complete(ctx, c.call(op, "/v1/messages", sent.Body), sent, c.read)
}

// Stream implements model.Model.
func (c *Client) Stream(ctx context.Context, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	const op = "stream"
	sent, err := c.render(op, r, true)
	if err != nil {
		return nil, err
	}
	out := model.NewEmitter(on)
	return c.e.Stream(ctx, c.call(op, "/v1/messages", sent.Body), sent, &stream{c: c, out: out}, out, c.read)
}

// Count implements model.Counter.
func (c *Client) Count(ctx context.Context, r *model.Request) (int64, error) {
	const op = "count"
	b, err := c.body(r, purposeCount)
	if err != nil {
		return 0, c.e.Fail(op, model.KindRequest, err)
	}
	body, _, err := c.e.Transport.Send(ctx, c.call(op, "/v1/messages/count_tokens", b.Body))
	if err != nil {
		return 0, err
	}
	n, ok := jsonx.Int(jsonx.Get(jsonx.One(body), "input_tokens"))
	if !ok {
		return 0, c.e.Unreadable(op, body)
	}
	return n, nil
}

// Render implements model.Renderer.
func (c *Client) Render(r *model.Request) (json.RawMessage, error) {
	sent, err := c.render("render", r, false)
	if err != nil {
		return nil, err
	}
	return sent.Body, nil
}

func (c *Client) render(op string, r *model.Request, stream bool) (*model.Rendered, error) {
	p := purposeComplete
	if stream {
		p = purposeStream
	}
	sent, err := c.body(r, p)
	if err != nil {
		return nil, c.e.Fail(op, model.KindRequest, err)
	}
	return sent, nil
}

func (c *Client) call(op, path string, body []byte) model.Call {
	call := c.e.Call(op, path, body)
	if !c.e.Key.Empty() {
		call.Header.Set("X-Api-Key", c.e.Key.Reveal())
	}
	if call.Header.Get("Anthropic-Version") == "" {
		call.Header.Set("Anthropic-Version", Version)
	}
	if len(c.beta) > 0 {
		call.Header.Set("Anthropic-Beta", strings.Join(c.beta, ","))
	}
	return call
}
