// Package llm has a summarizer that asks a language model, and takes nothing from
// it that would harm.
//
//	s, err := llm.New(llm.Config{Model: m})
//	policy.Summarizer = s
//
// The model writes the sections; code adds what it vouches for itself: the user's
// words, pins, files, failing checks, open todos. An answer is taken only if it is
// complete, is a summary, names nothing that is not in the conversation, and is
// smaller than what it replaces; see Config for what happens otherwise. The last
// resort is the deterministic summarizer, so a summary always comes about, unless
// the caller gives up.
//
// The conversation is given as data: every line of it is marked, so that nothing
// that was said or printed can pass for a turn or for an instruction of ours.
package llm
