// Package clew keeps the thread of a long agent conversation: it holds the
// conversation as a tree in an append-only log, keeps what the model sees inside
// the model's window, and loses nothing on the way.
//
//	s, err := clew.Open(ctx, "session.jsonl", clew.Config{Provider: "anthropic", Model: "claude-opus-4-6"})
//	_, err = s.Append(ctx, message.User("fix the flaky test", time.Now()))
//	p, err := s.Prepare(ctx)                   // makes a pass if one is due
//	req, _, err := p.Render(wire.Anthropic)    // what the provider's API takes
//	_, err = s.Append(ctx, answer)             // with its usage; and so on
//
// # The loop of an agent
//
// Before every request [Session.Prepare], after it [Session.Append]: the
// answer, then the result of each call. Put the usage that the provider reported
// into the answer's Usage, and its Provider and Model: that is how the next
// Prepare knows the size of the context rather than estimating it. Between two
// passes each request begins with the whole of the one before, so that providers
// can cache it.
//
// While a call has no result, Prepare refuses with a [PendingError]. A program
// that was interrupted calls [Session.Settle] after [Open].
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
// That nothing needs to be done is no error, nor is a pass that a hook stopped:
// Result.Plan says so. When what can't be taken out is too large alone the error
// is a [FixedPartError], with numbers.
//
// # Settings
//
// The zero [Config] works. Policy says when to compact and how far, Models what
// is different for single models. Amounts are tokens or a share of the window.
// Hooks are asked and told about what the session does, see [Hook]; Events is told of
// passes, for logs and metrics. Package settings reads a Config from files and the
// environment.
//
// # Without a session
//
// [Fit] takes a list of messages and returns one that fits. It is for programs
// that keep the conversation themselves; what leaves the list is theirs to keep.
//
// # What not to use
//
// Most programs need this package, package message to make messages and package
// wire to render them. Packages session, token, summary and compact are what it is
// made of; use them for tools that look into sessions or decide for themselves.
// Do not append to Session.Log from another goroutine while a Session is in use,
// and do not change messages that Prepare returned.
package clew
