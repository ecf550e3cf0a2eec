// Package wire turns the neutral messages of a context into what a provider's
// API takes, and checks every list before it is sent.
//
//	req, notes, err := wire.Build(msgs, wire.Anthropic, wire.Target{
//		Provider: "anthropic", Model: "claude-opus-4-5", TakesImages: true,
//	}, wire.Options{})
//	body := req.Body(wire.Anthropic, wire.Anthropic.Head("claude-opus-4-5", 8192))
//	// {"model":...,"max_tokens":8192,"tools":[...],"system":[...],"messages":[...]}
//
// [Build] is three steps, each a pure function that can be used alone.
// [Normalize] pairs calls with results, settles roles and decides what may be
// sent at all; [Render] writes JSON from the parts that were kept as they were
// stored; [Validate] reads that JSON again, knowing nothing of how it was made,
// and lists what a provider would refuse. What a provider takes is data: a
// [Profile].
//
// # What stays the same when messages are added
//
// Providers cache by prefix, and some bind signed thinking to what stands
// before it. So let A be a list that Normalize accepts with zero [Options] and
// that holds a message other than a system message, and let B be A followed by
// more messages. Rendered for the same profile and target:
//
//   - System and Tools are equal, unless an added system message changes the
//     tools, or the profile folds system messages ([MidSystemFold]).
//   - All messages of A but its last are the first messages of B, byte for byte.
//   - The last message of A stands at the same place in B. It is the same bytes,
//     or, where the profile merges neighbours of one role, the same message with
//     blocks added at its end.
//
// Four things are not additions in this sense, because they say something new
// about what was sent before: the result of a call that A had settled (see
// below), a second compaction summary, a system message under [MidSystemFold],
// and another target. A call that was never answered is settled with a result
// that says so, once a later answer shows that the conversation went on; while
// it is the last answer's, Normalize refuses with a [PendingError].
//
// # Determinism
//
// All functions depend on their arguments alone: the same list gives the same
// bytes, whatever the order of earlier calls, the clock or the machine.
package wire
