// Package clew keeps the thread of a long agent conversation: it holds the
// conversation as a tree in an append-only log, keeps what the model sees inside
// the model's window, and loses nothing on the way.
//
//	s, err := clew.Open(ctx, "session.jsonl", clew.Config{Provider: "anthropic", Model: "claude-sonnet-4-5"})
//	_, err = s.Append(ctx, message.User("fix the flaky test", time.Now()))
//	p, err := s.Prepare(ctx) // makes a pass if one is due
//	resp, err := m.Complete(ctx, &model.Request{Messages: p.Messages, MaxOutput: p.MaxOutput})
//	_, err = s.Append(ctx, resp.Message) // with its usage; and so on
//
// # The loop of an agent
//
// Before every request comes [Session.Prepare], after it [Session.Append]: the
// answer, then the result of each call. The example of Session, Loop, shows it whole. A client of
// package model fills in the answer's Usage, Provider and Model; a program with a client
// of its own renders with [Prepared.Render] and fills them in itself. That is how the
// next Prepare knows the size of the context. Between two passes each request begins
// with the whole of the one before, so that providers can cache it.
//
// When the provider refuses a request as too large, [Session.Recover] learns the limit
// and makes room. While a call has no result, Prepare refuses with a [PendingError]; a
// program that was interrupted calls [Session.CloseOpenCalls] after [Open].
//
// # What a pass does
//
// A pass takes old tool results, reasoning and long arguments out of the context,
// and, if that is not enough, puts a summary in the place of the oldest part; see
// package compact. The log keeps everything. No model is asked: the summary is
// made from the log by rules, unless Config.Policy.Summarizer says otherwise.
// [Session.Explain] says what would be done and what became of every entry,
// [Session.Undo] takes a pass back, [Session.Pin] keeps an entry word for word,
// [Session.Recall] reads one as it was written and [Session.Search] finds one by
// words. [Session.Compact] makes a pass on demand.
//
// It is no error when nothing needs to be done, or when a hook stopped a pass:
// Result.Plan says so. When what can't be taken out is too large alone the error
// is a [FixedPartError], with numbers.
//
// # Settings
//
// The zero [Config] works. Provider and Model are enough for the window, the room for
// the answer and the prices: they come from package model/catalogue. Policy says when to
// compact and how far, Models what is different for single models; [Config.PolicyFor] says
// what holds for one. Amounts are tokens or a share of the window. [Hooks] are functions
// that are told what the session does and may change it; [LogEvents] logs it.
//
// # Without a session
//
// [Fit] takes a list of messages and returns one that fits. It is for programs
// that keep the conversation themselves; what leaves the list is theirs to keep.
//
// # What not to use
//
// Most programs need this package, package message to make messages and package model
// to send them. Packages wire, session, token, summary and compact are what it is
// made of; use them for tools that look into sessions or decide for themselves.
// Do not append to Session.Log from another goroutine while a Session is in use,
// and do not change messages that Prepare returned.
package clew
