// Package measure says how much of a conversation survives when its old part is
// replaced by a text, without asking a model.
//
// At a point of a recorded session the agent still had everything. What it did
// next is the best list there is of what it needed: so the old part is dropped, a
// policy puts a text in its place, and the measures look whether what the agent
// wrote next could still be written.
//
//	p := measure.NewPoint(dropped, kept, always, future)
//	s := p.Score(text, "", 4000)
//	fmt.Println(s.Contextual, s.Recall, s.Instructions)
//
// Everything here is a pure function of a neutral list of messages. Nothing is
// shared with the packages that write summaries: an instrument that reads files,
// sentences and identifiers with the code it is to judge would not see that code's
// mistakes. docs/replay.md defines the measures.
package measure
