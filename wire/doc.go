// Package wire turns the neutral messages of a context into what a provider's
// API takes, and checks every list before it is sent.
//
//	req, notes, err := wire.Build(msgs, wire.Anthropic, wire.Target{
//		Provider: "anthropic", Model: "claude-opus-4-5", TakesImages: true,
//	}, wire.Options{})
//	body := req.Body(wire.Anthropic, wire.Anthropic.Head("claude-opus-4-5", 8192))
//	// {"model":...,"max_tokens":8192,"tools":[...],"system":[...],"messages":[...]}
//
// [Build] is three pure functions: [Normalize] pairs calls with results, settles roles
// and decides what may be sent at all; [Render] writes JSON from the parts as they were
// stored; [Validate] reads that JSON again, knowing nothing of how it was made, and
// lists what a provider would refuse. What a provider takes is data: a [Profile].
//
// Providers cache by prefix, and some bind signed thinking to what stands before it. So
// when messages are added to a list, System, Tools and all rendered messages but the
// last stay the same bytes; the last does too, or, where the profile merges neighbours
// of one role, gets blocks at its end. Exceptions say something new about what was sent
// before: the result of a call that was settled because a later answer showed that the
// conversation went on, a second compaction summary, a system message that changes the
// tools or is folded ([MidSystemFold]), and another target.
package wire
