// Package genkit keeps the conversations of github.com/firebase/genkit inside the model's
// window.
//
//	s, err := clew.Open(ctx, "session.jsonl", clew.Config{Provider: "google", Model: "gemini-2.5-pro"})
//	c, err := genkit.New(ctx, s)
//	resp, err := gk.Generate(ctx, g, ai.WithMessages(history...), ai.WithMiddleware(c.Middleware), ai.WithTools(c.Recall(g)))
//
// Recall defines a tool by which the model reads what has left its context. It is a module of
// its own, so that who does not use genkit does not link it.
package genkit

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/firebase/genkit/go/ai"
	gk "github.com/firebase/genkit/go/genkit"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// Context keeps the context of one conversation.
type Context struct {
	// OnError hears why a list is sent as it is. Default: nobody does.
	OnError func(error)

	f *clew.Follower
}

// New returns a context that is kept in a session, which is for it alone.
func New(ctx context.Context, s *clew.Session) (*Context, error) {
	f, err := clew.Follow(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Context{f: f}, nil
}

// Middleware makes the list fit before each call of the model, and sorts the tools by name; it is for ai.WithMiddleware.
func (c *Context) Middleware(next ai.ModelFunc) ai.ModelFunc {
	return func(ctx context.Context, req *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		list, err := c.fit(ctx, req.Messages)
		if err != nil { // the model says what is wrong with a list
			if c.OnError != nil {
				c.OnError(err)
			}
			return next(ctx, req, cb)
		}
		fitting := *req
		fitting.Messages = list
		// Genkit takes the tools out of a map; a cache of prompts needs them in one order.
		fitting.Tools = slices.SortedStableFunc(slices.Values(req.Tools), func(a, b *ai.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
		resp, err := next(ctx, &fitting, cb)
		if resp != nil {
			resp.Request = req // a program may go on with the history in it
		}
		return resp, err
	}
}

// Recall defines the tool recall.
func (c *Context) Recall(g *gk.Genkit) ai.Tool {
	t := recall.AgentTool()
	var params map[string]any
	if err := json.Unmarshal(t.Schema, &params); err != nil {
		panic(err) // it is a constant
	}
	return gk.DefineToolWithInputSchema(g, t.Name, t.Description, params, func(ctx *ai.ToolContext, input any) (string, error) {
		args, err := json.Marshal(input)
		if err != nil {
			return "", err
		}
		out, err := c.f.Session().RecallTool(ctx, args)
		if err != nil {
			return err.Error(), nil // it is in words for the model
		}
		return out, nil
	})
}

// place says where a message of ours comes from: a message of genkit's has several results.
type place struct{ message, part int }

func (c *Context) fit(ctx context.Context, list []*ai.Message) ([]*ai.Message, error) {
	var in []*message.Message
	var from []place
	for i, m := range list {
		for _, p := range toClew(m) {
			in, from = append(in, p.message), append(from, place{i, p.part})
		}
	}
	kept, err := c.f.Prepare(ctx, in)
	if err != nil {
		return nil, err
	}
	var out []*ai.Message
	for i := 0; i < len(kept); {
		if kept[i].From < 0 {
			out = append(out, made(kept[i].Message))
			i++
			continue
		}
		at := from[kept[i].From].message
		begin := i
		for i < len(kept) && kept[i].From >= 0 && from[kept[i].From].message == at {
			i++
		}
		out = append(out, own(list[at], kept[begin:i], from))
	}
	return out, nil
}

type converted struct {
	message *message.Message
	part    int
}

// said is the time of messages, which genkit does not know.
var said = time.UnixMilli(0)

func toClew(m *ai.Message) (out []converted) {
	var blocks []message.Block
	for i, p := range m.Content {
		switch {
		case p.IsToolResponse():
			out = append(out, converted{message.ToolResult(p.ToolResponse.Ref, p.ToolResponse.Name, textOf(p.ToolResponse.Output), false, said), i})
		case p.IsToolRequest():
			args, err := json.Marshal(p.ToolRequest.Input)
			if err != nil || p.ToolRequest.Input == nil {
				args = json.RawMessage("{}")
			}
			blocks = append(blocks, message.Block{Type: message.BlockToolCall, ID: p.ToolRequest.Ref, Name: p.ToolRequest.Name, Arguments: args})
		case p.IsText(), p.IsData():
			blocks = append(blocks, message.TextBlock(p.Text))
		case p.IsMedia():
			blocks = append(blocks, message.TextBlock("[media]"))
		}
	}
	switch {
	case len(out) > 0:
	case m.Role == ai.RoleModel:
		out = append(out, converted{message.Assistant(said, blocks...), -1})
	default:
		text := ""
		for _, b := range blocks {
			text += b.Text
		}
		if m.Role == ai.RoleSystem {
			return append(out, converted{message.System(text, said), -1})
		}
		out = append(out, converted{message.User(text, said), -1})
	}
	return out
}

// textOf writes what a tool has answered.
func textOf(output any) string {
	if s, ok := output.(string); ok {
		return s
	}
	data, err := json.Marshal(output)
	if err != nil {
		return ""
	}
	return string(data)
}

// made returns a message that was not in the list.
func made(m *message.Message) *ai.Message {
	switch m.Role {
	case message.RoleSystem:
		return ai.NewSystemTextMessage(m.Text())
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		form := wire.SummaryForm(m)
		if form.Role == message.RoleAssistant {
			return ai.NewModelTextMessage(form.Wrap(m.Summary))
		}
		return ai.NewUserTextMessage(form.Wrap(m.Summary))
	}
	return ai.NewUserTextMessage(m.Text())
}

// own returns genkit's message, with the results that were shortened.
func own(m *ai.Message, kept []clew.Followed, from []place) *ai.Message {
	changed := *m
	changed.Content = append([]*ai.Part{}, m.Content...)
	edited := false
	for _, k := range kept {
		at := from[k.From].part
		if !k.Edited || at < 0 {
			continue
		}
		response := *m.Content[at].ToolResponse
		response.Output = k.Message.Text()
		part := *m.Content[at]
		part.ToolResponse = &response
		changed.Content[at], edited = &part, true
	}
	if !edited {
		return m
	}
	return &changed
}
