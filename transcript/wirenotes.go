package transcript

import (
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// wireClass says what each thing that package wire does means for what is written.
var wireClass = map[wire.NoteCode]struct {
	class Class
	what  string
}{
	wire.NoteAnswerDropped:   {Lost, "answers that failed or were aborted"},
	wire.NoteResultOfDropped: {Lost, "results of calls in such answers"},
	wire.NoteOrphanResult:    {Lost, "results without a call"},
	wire.NoteDuplicateResult: {Lost, "second results of a call"},
	wire.NoteResultMoved:     {Aside, "results that were put behind their calls"},
	wire.NoteCallClosed:      {Made, "calls without a result; one was put in that says so"},
	wire.NoteCallRenamed:     {Made, "ids of calls that the format does not take"},
	wire.NoteToolRenamed:     {Made, "names of tools that the format does not take"},
	wire.NoteArguments:       {Lost, "arguments that are no object"},
	wire.NoteThinking:        {Lost, "thinking that can't be given to this model"},
	wire.NoteUnknownRole:     {Lost, "messages of unknown roles"},
	wire.NoteUnknownBlock:    {Lost, "blocks of unknown types"},
	wire.NoteEmpty:           {Aside, "messages without anything to send"},
	wire.NoteExcluded:        {Aside, "commands that the user kept out of the context"},
	wire.NoteImage:           {Lost, "images that stand elsewhere, or as a line of text"},
	wire.NotePlaceholder:     {Made, "user messages that had to be put in"},
	wire.NoteSummary:         {Aside, "summaries that a later one replaces"},
	wire.NoteTool:            {Lost, "definitions of tools that can't be used"},
}

// wireNotes takes over what package wire did. ids are those of the entries.
func (w *writer) wireNotes(notes []wire.Note, ids []string) {
	for _, n := range notes {
		c, ok := wireClass[n.Code]
		if !ok {
			c.class, c.what = Lost, n.Text
		}
		id := ""
		if n.Index >= 0 && n.Index < len(ids) {
			id = ids[n.Index]
		}
		w.report.add(c.class, string(n.Code), n.Index+1, id, c.what)
	}
}

// lostErrors counts the results that are errors, where the format can't say so.
func (w *writer) lostErrors(msgs []*message.Message, ids []string) {
	for i, m := range msgs {
		if m.Role == message.RoleToolResult && m.IsError {
			w.report.add(Lost, "is-error", i+1, ids[i], "marks that say that a result is an error; its text stays")
		}
	}
}

// sameMaker returns the messages as if one model had made all answers: a log, unlike
// a request, holds what each model thought. What was thought for another API is left
// out by package wire.
func sameMaker(msgs []*message.Message) ([]*message.Message, wire.Target) {
	t := wire.Target{Provider: "any", Model: "any", TakesImages: true}
	out := make([]*message.Message, len(msgs))
	for i, m := range msgs {
		out[i] = m
		if m.Role == message.RoleAssistant {
			one := *m
			one.Provider, one.Model, one.ResponseModel = t.Provider, t.Model, ""
			out[i] = &one
		}
	}
	return out, t
}
