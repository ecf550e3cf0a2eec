package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// question is what one request asks.
type question struct {
	task   string           // what it asks for, in words
	so     summary.Document // the summary so far
	text   string           // the conversation, as data
	items  []session.Item
	budget int64
	more   bool // a part follows this one
	began  bool // a part went before it

	// extend is the request of the conversation that the question is added to; nil
	// where the conversation is given as data.
	extend *model.Request
}

var errCalls = errors.New("the calls for one summary are used up")

// ask puts a question, and once more with the complaint when the answer can't be
// taken. An answer that still names what nobody said loses those lines, if they are
// few.
func (r *run) ask(ctx context.Context, q question, known known) (summary.Document, error) {
	complaint := ""
	room := q.budget
	m := r.s.cfg.Model
	if q.extend != nil {
		m = r.s.cfg.Extend.Model
	}
	for again := false; ; again = true {
		resp, err := r.call(ctx, m, r.request(q, complaint, room))
		if err != nil {
			return summary.Document{}, err
		}
		d, err := r.check(resp, q, known, again)
		if err == nil || again {
			return d, err
		}
		r.reject(err)
		complaint = err.Error()
		if errors.Is(err, errCutOff) {
			room *= 2 // reasoning may have taken it
		}
	}
}

// call makes one call and counts what it cost, whatever comes of it.
func (r *run) call(ctx context.Context, m model.Model, req *model.Request) (*model.Response, error) {
	if r.calls <= 0 {
		return nil, errCalls
	}
	r.calls--
	resp, err := m.Complete(ctx, req)
	answer := resp
	if failed := (*model.Error)(nil); answer == nil && errors.As(err, &failed) {
		answer = failed.Partial
	}
	if answer != nil && answer.Message != nil {
		r.usage = addUsage(r.usage, answer.Message.Usage)
	}
	if err == nil && (resp == nil || resp.Message == nil) {
		err = errors.New("the model gave no answer")
	}
	return resp, err
}

// request has no tools: a call in the answer is a failure, not a wish. Nothing of
// it is asked again, so the provider need not keep it.
func (r *run) request(q question, complaint string, room int64) *model.Request {
	var b strings.Builder
	if q.extend != nil {
		r.write(&b, q, complaint, room)
		req := *q.extend
		req.Messages = append(slices.Clone(req.Messages), message.User(b.String(), time.Time{}))
		req.MaxOutput, req.ToolChoice = r.maxOutput(room), model.ToolsNone // the tools stay, or the cache would not hold
		req.Attempts = r.in.Tries
		return &req
	}
	b.WriteString("CONVERSATION\n" + q.text + "END OF CONVERSATION\n\n")
	if so := r.render(q.so); strings.TrimSpace(so) != "" {
		b.WriteString("SUMMARY SO FAR\n" + mark(so) + "END OF SUMMARY SO FAR\n\n")
	}
	r.write(&b, q, complaint, room)
	return &model.Request{
		System:    system,
		Messages:  []*message.Message{message.User(b.String(), time.Time{})},
		MaxOutput: r.maxOutput(room), Attempts: r.in.Tries,
	}
}

// maxOutput is how long an answer may get. A length that is only aimed at, as in preset
// synapse, is passed by a fifth at most.
func (r *run) maxOutput(room int64) int64 {
	if r.in.Goal {
		return max(room, r.in.Budget) * 6 / 5
	}
	return room + room/2
}

// write writes the task. Tokens are told in words, which models count better.
func (r *run) write(b *strings.Builder, q question, complaint string, room int64) {
	if r.in.OnlyInstructions && r.in.Instructions != "" {
		q.task = text.Line(r.in.Instructions) + "\n"
	}
	b.WriteString(q.task)
	if q.began || q.so.Goal != nil || q.so.Earlier != "" {
		b.WriteString(taskUpdate)
	}
	if q.more {
		b.WriteString(taskMore)
	}
	fmt.Fprintf(b, taskForm, r.words(room), r.template().Form())
	if kept := r.strategy.String(); kept != "" && !r.in.OnlyInstructions {
		b.WriteString("\nIn this conversation, " + kept + ".\n")
	}
	facts := summary.Document{Done: r.facts.Done, Blocked: r.facts.Blocked, Files: r.facts.Files}
	if known := r.render(facts); known != "" && !r.s.branch {
		b.WriteString(taskFacts + mark(known))
	}
	if r.in.Instructions != "" && !r.in.OnlyInstructions {
		b.WriteString("\nThe user asks the summary to pay attention to this:\n" + mark(r.in.Instructions))
	}
	if complaint != "" {
		b.WriteString("\nAn answer before this one was not taken: " + complaint + ". Write the whole summary again, without that fault.\n")
	}
}

// words is how many words take so many tokens: as many as in the text that code made, which has the
// names and paths of the conversation; where that has few blanks, as Chinese has, six for ten tokens.
func (r *run) words(room int64) int64 {
	made := r.render(r.facts)
	words, tokens := int64(len(strings.Fields(made))), r.in.Counter.Text(made)
	if words*4 < tokens {
		words, tokens = 6, 10
	}
	return max(room*words/max(tokens, 1), 50)
}
