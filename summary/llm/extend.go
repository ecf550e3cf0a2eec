package llm

import (
	"context"
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// Extend lets a summary be asked for as the next message of the conversation itself:
// the provider has most of that request in its cache. It is done where it costs
// less than to send the conversation anew, by the prices of both models; where a price
// is not known it is not done.
type Extend struct {
	// Model is the one that the conversation is with.
	Model model.Model
	// Request returns the request that would be sent to it next: system text, tools
	// and messages as they were sent before, so that the cache holds.
	Request func() *model.Request
}

// cheaper reports whether extending the conversation costs less. sent is what the
// conversation takes as the agent sends it, anew what would be sent otherwise, both in
// tokens; room is what the answer may take.
func (e *Extend) cheaper(other model.Model, sent, anew, room int64) bool {
	own, foreign := e.Model.Info().Price, other.Info().Price
	if own == nil || foreign == nil || own.CacheRead <= 0 {
		return false
	}
	extend := own.Cost(&message.Usage{CacheRead: sent, Input: taskTokens, Output: room})
	apart := foreign.Cost(&message.Usage{Input: anew + taskTokens, Output: room})
	return extend < apart
}

// taskTokens is about what the task takes in tokens.
const taskTokens = 600

// extended asks the model of the conversation, where that is to be done; done is
// false where it is not. It is one question, for history and the turn that is cut.
func (r *run) extended(ctx context.Context, budget int64, known known) (d summary.Document, done bool, err error) {
	e := r.s.cfg.Extend
	if e == nil || r.s.branch {
		return d, false, nil
	}
	var sent int64
	for _, list := range [][]session.Item{r.in.Items, r.in.Prefix, r.in.Kept} {
		for _, it := range list {
			sent += r.in.Counter.Message(it.Message)
		}
	}
	anew := r.in.Counter.Text(Transcript(spoken(r.in.Items), r.s.cfg.ResultBytes)) + r.in.Counter.Text(Transcript(spoken(r.in.Prefix), r.s.cfg.ResultBytes))
	info := e.Model.Info()
	if !e.cheaper(r.s.cfg.Model, sent, anew, budget) || info.Window > 0 && sent+taskTokens+budget*2 > info.Window {
		return d, false, nil
	}
	req := e.Request()
	if req == nil || len(req.Messages) == 0 {
		return d, false, nil
	}
	q := question{task: r.extendTask(), items: append(spoken(r.in.Items), spoken(r.in.Prefix)...), budget: budget, extend: req}
	d, err = r.ask(ctx, q, known)
	if err != nil && ctx.Err() == nil {
		r.reject(fmt.Errorf("asked as the next message of the conversation: %w", err))
		return d, false, nil // it may do better when it is told apart
	}
	if err == nil {
		r.by = info.Provider + "/" + info.Model
	}
	return d, err == nil, err
}

// extendTask says what is to be summarized where the whole conversation is there.
func (r *run) extendTask() task {
	kept := ""
	for _, it := range spoken(r.in.Kept) {
		kept = shorten(blocksText(it.Message.Content), 300)
		break
	}
	text := taskExtend
	if kept != "" {
		text += "The newest part stays as it is, from the message on that begins so, and needs no summary:\n" + mark(kept)
	}
	return task(text)
}
