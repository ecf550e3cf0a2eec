// Package hook runs programs as the hooks of a session.
//
//	h, err := hook.New(hook.Config{Event: hook.ToolResult, Command: "/usr/local/bin/redact"})
//	s, err := clew.Open(ctx, path, clew.Config{Hooks: []clew.Hooks{h}})
//
// The program is started anew for each event. It gets the event as one JSON object
// on its standard input, and answers with one JSON object on its standard output, or
// with nothing. docs/hooks.md describes both.
//
//   - Exit code 0: the answer counts.
//   - Exit code 2: what the event is about is blocked, where it can be; what the
//     program wrote to its standard error is the reason.
//   - Any other end, no end within the timeout, an answer that is too long or not
//     understood: a failure. It counts as no answer, and the session goes on with a
//     warning; with Config.Required it blocks.
//
// A program runs as the user who runs clew, with all that this user may do: it is to be
// trusted as clew is. What is held in is what it costs and what it can break: time,
// output, its children, and the session.
package hook
