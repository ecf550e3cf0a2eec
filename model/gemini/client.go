package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// BaseURL is the vendor's address.
const BaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Config says which model.
type Config struct {
	model.Endpoint
}

// Client is a model behind generateContent.
type Client struct {
	e       model.Endpoint
	profile wire.Profile
}

var (
	_ model.Model    = (*Client)(nil)
	_ model.Counter  = (*Client)(nil)
	_ model.Renderer = (*Client)(nil)
)

// New returns a model. It makes no call.
func New(c Config) (*Client, error) {
	e, _, err := c.Resolve(model.Vendor{
		Provider: "google", API: "google-generative-ai", BaseURL: BaseURL,
		KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Profile: wire.Gemini,
	})
	if err != nil {
		return nil, err
	}
	return &Client{e, wire.Gemini}, nil
}

// Info implements model.Model.
func (c *Client) Info() model.Info { return *c.e.Info }

// Complete implements model.Model.
func (c *Client) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	const op = "complete"
	sent, err := c.render(op, r)
	if err != nil {
		return nil, err
	}
	return c.e.Complete(ctx, c.call(op, "generateContent", "", sent.Body), sent, c.read)
}

// Stream implements model.Model.
func (c *Client) Stream(ctx context.Context, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	const op = "stream"
	sent, err := c.render(op, r)
	if err != nil {
		return nil, err
	}
	out := model.NewEmitter(on)
	return c.e.Stream(ctx, c.call(op, "streamGenerateContent", "?alt=sse", sent.Body), sent, &stream{c: c, out: out}, out, c.read)
}

// Count implements model.Counter.
func (c *Client) Count(ctx context.Context, r *model.Request) (int64, error) {
	const op = "count"
	sent, err := c.render(op, r)
	if err != nil {
		return 0, err
	}
	var o jsonx.Object
	full := jsonx.Set(sent.Body, "model", jsonx.Quote("models/"+c.name()))
	o.Raw("generateContentRequest", full)
	body, _, err := c.e.Transport.Send(ctx, c.call(op, "countTokens", "", o.Bytes()))
	if err != nil {
		return 0, err
	}
	n, ok := jsonx.Int(jsonx.Get(jsonx.One(body), "totalTokens"))
	if !ok {
		return 0, c.e.Unreadable(op, body)
	}
	return n, nil
}

// Render implements model.Renderer.
func (c *Client) Render(r *model.Request) (json.RawMessage, error) {
	sent, err := c.render("render", r)
	if err != nil {
		return nil, err
	}
	return sent.Body, nil
}

func (c *Client) render(op string, r *model.Request) (*model.Rendered, error) {
	sent, err := c.body(r)
	if err != nil {
		return nil, c.e.Fail(op, model.KindRequest, err)
	}
	return sent, nil
}

// name returns the model's name as the address has it.
func (c *Client) name() string { return strings.TrimPrefix(c.e.Model, "models/") }

func (c *Client) call(op, method, query string, body []byte) model.Call {
	call := c.e.Call(op, "/models/"+url.PathEscape(c.name())+":"+method+query, body)
	if !c.e.Key.Empty() {
		call.Header.Set("X-Goog-Api-Key", c.e.Key.Reveal())
	}
	return call
}

var (
	errNothing = errors.New("the stream ended without an answer")
	errEnded   = errors.New("the stream ended in the middle of the answer")
)
