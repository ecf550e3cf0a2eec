// Package agent runs a conversation between a user, a model and tools, and keeps it
// inside the model's window without losing anything that was said.
//
//	a, err := agent.New(ctx, agent.Config{Open: open, Model: m, Tools: tools, Events: show})
//	_, err = a.Send(ctx, agent.Input{Text: "fix the flaky test"})
//	err = a.Wait(ctx)
//	err = a.Close()
//
// What is sent is durable when Send returns, whatever the agent is doing, and
// stands in the conversation exactly once. One operation is under way at a time;
// everything else waits in a queue or is refused. Cancel ends what is under way.
//
// # Compaction
//
// The context is looked at before each request: before a prompt and between a tool
// result and the next request. It is compacted too when a provider refuses a
// request as too large, when an answer breaks off early, on a switch to a smaller
// model, after a turn, when the user asks, and after a while of idleness. None of
// these lets the model go on by itself. Where a model writes the summaries, one is
// made ahead, in the background; it is used only if what it was made of is still
// how the conversation begins.
//
// # Safety
//
// What a tool may do is decided by package permission, outside of any prompt. No
// result of a tool is taken for the user's words.
package agent
