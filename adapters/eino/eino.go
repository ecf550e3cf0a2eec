// Package eino keeps the agents of github.com/cloudwego/eino inside the model's window.
//
//	s, err := clew.Open(ctx, "session.jsonl", clew.Config{Provider: "openai", Model: "gpt-4.1"})
//	c, err := eino.New(ctx, s)
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Middlewares: []adk.AgentMiddleware{c.Middleware()}, // and the rest as before
//	})
//
// The agent gets a tool more, recall, by which the model reads what has left its context.
// It is a module of its own, so that who does not use eino does not link it.
package eino

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// Context keeps the context of one conversation.
type Context struct {
	// OnError hears why a list is sent as it is. Default: nobody does.
	OnError func(error)

	f      *clew.Follower
	mu     sync.Mutex
	recent []shortened // newest last
}

// shortened is a list that was given back to an agent, which goes on with it.
type shortened struct {
	n    int
	sum  [sha256.Size]byte
	full []*schema.Message // what it stands for
}

// maxRecent is how many of them are remembered: runs of one conversation that go on at once.
const maxRecent = 16

// New returns a context that is kept in a session, which is for it alone.
func New(ctx context.Context, s *clew.Session) (*Context, error) {
	f, err := clew.Follow(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Context{f: f}, nil
}

// Middleware returns what an agent needs: the list is made to fit before each call of the
// model, and the tool recall is there.
func (c *Context) Middleware() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		AdditionalTools: []tool.BaseTool{recallTool{c.f.Session()}},
		BeforeChatModel: func(ctx context.Context, st *adk.ChatModelAgentState) error {
			out, err := c.fit(ctx, st.Messages)
			if err == nil {
				st.Messages = out
			} else if c.OnError != nil {
				c.OnError(err)
			}
			return nil // the model says what is wrong with a list
		},
	}
}

// fit returns the list to send. The agent goes on with it, so what it stands for is kept.
func (c *Context) fit(ctx context.Context, list []*schema.Message) ([]*schema.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := list
	for i := len(c.recent) - 1; i >= 0; i-- {
		if r := c.recent[i]; r.n <= len(list) && digest(list[:r.n]) == r.sum {
			full = append(append([]*schema.Message{}, r.full...), list[r.n:]...)
			break
		}
	}
	in := make([]*message.Message, len(full))
	for i, m := range full {
		in[i] = toClew(m)
	}
	kept, err := c.f.Prepare(ctx, in)
	if err != nil {
		return nil, err
	}
	out, changed := make([]*schema.Message, 0, len(kept)), len(kept) != len(full)
	for _, k := range kept {
		changed = changed || k.From < 0 || k.Edited
		if m := fromClew(k, full); m != nil {
			out = append(out, m)
		}
	}
	if !changed {
		return full, nil
	}
	if c.recent = append(c.recent, shortened{len(out), digest(out), full}); len(c.recent) > maxRecent {
		c.recent = append([]shortened{}, c.recent[1:]...)
	}
	return out, nil
}

func digest(list []*schema.Message) (sum [sha256.Size]byte) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, m := range list {
		for _, v := range []any{m.Role, m.Content, m.MultiContent, m.UserInputMultiContent, m.AssistantGenMultiContent, m.ToolCalls, m.ToolCallID} {
			_ = enc.Encode(v) // a program's own Extra may be nothing that can be written
		}
	}
	h.Sum(sum[:0])
	return sum
}

// said is the time of messages, which eino does not know.
var said = time.UnixMilli(0)

func toClew(m *schema.Message) *message.Message {
	text := textOf(m)
	switch m.Role {
	case schema.System:
		return message.System(text, said)
	case schema.Tool:
		return message.ToolResult(m.ToolCallID, m.ToolName, text, false, said)
	case schema.Assistant:
		var blocks []message.Block
		if text != "" || len(m.ToolCalls) == 0 {
			blocks = append(blocks, message.TextBlock(text))
		}
		for _, call := range m.ToolCalls {
			args := json.RawMessage(call.Function.Arguments)
			if !json.Valid(args) {
				args = json.RawMessage("{}")
			}
			blocks = append(blocks, message.Block{Type: message.BlockToolCall, ID: call.ID, Name: call.Function.Name, Arguments: args})
		}
		return message.Assistant(said, blocks...)
	}
	return message.User(text, said)
}

// textOf is what a message says; an image is a word.
func textOf(m *schema.Message) string {
	parts := []string{}
	add := func(kind, text string) {
		if text == "" {
			text = "[" + kind + "]"
		}
		parts = append(parts, text)
	}
	for _, p := range m.MultiContent {
		add(string(p.Type), p.Text)
	}
	for _, p := range m.UserInputMultiContent {
		add(string(p.Type), p.Text)
	}
	for _, p := range m.AssistantGenMultiContent {
		add(string(p.Type), p.Text)
	}
	if len(parts) == 0 {
		return m.Content
	}
	return strings.Join(parts, "\n")
}

// fromClew returns the agent's own message where there is one.
func fromClew(k clew.Followed, full []*schema.Message) *schema.Message {
	m := k.Message
	switch {
	case k.From >= 0 && !k.Edited:
		return full[k.From]
	case k.From >= 0:
		own := *full[k.From]
		own.Content, own.MultiContent, own.UserInputMultiContent, own.AssistantGenMultiContent = m.Text(), nil, nil, nil
		return &own
	case m.Role == message.RoleSystem:
		return schema.SystemMessage(m.Text())
	case m.Role == message.RoleCompactionSummary || m.Role == message.RoleBranchSummary:
		form := wire.SummaryForm(m)
		if form.Role == message.RoleAssistant {
			return schema.AssistantMessage(form.Wrap(m.Summary), nil)
		}
		return schema.UserMessage(form.Wrap(m.Summary))
	}
	return schema.UserMessage(m.Text())
}

// recallTool answers the model from the session.
type recallTool struct{ s *clew.Session }

func (recallTool) Info(context.Context) (*schema.ToolInfo, error) {
	t := recall.AgentTool()
	params := &jsonschema.Schema{}
	if err := json.Unmarshal(t.Schema, params); err != nil {
		return nil, err
	}
	return &schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(params)}, nil
}

func (t recallTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	out, err := t.s.RecallTool(ctx, json.RawMessage(arguments))
	if err != nil {
		return err.Error(), nil // it is in words for the model
	}
	return out, nil
}
