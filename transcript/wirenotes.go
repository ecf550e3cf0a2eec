package transcript

import (
	"slices"

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

// log is a session as package wire sends it, for formats that keep a log of it.
type log struct {
	*writer
	list  *wire.List
	slots []slot
}

// normalized makes the log for a profile. A log, unlike a request, holds what each
// model thought, so that all answers are taken for those of one model; what was
// thought for another API is left out by package wire.
func (w *writer) normalized(p wire.Profile) (*log, error) {
	p.MaxBytes = 0
	msgs, slots, ids := w.log()
	t := wire.Target{Provider: "any", Model: "any", TakesImages: true}
	same := slices.Clone(msgs)
	for i, m := range same {
		if m.Role == message.RoleAssistant {
			one := *m
			one.Provider, one.Model, one.ResponseModel = t.Provider, t.Model, ""
			same[i] = &one
		}
	}
	list, notes, err := wire.Normalize(same, p, t, wire.Options{CloseOpenCalls: true})
	if err != nil {
		return nil, err
	}
	if w.format == Codex { // which keeps thinking that can't be sent
		notes = slices.DeleteFunc(notes, func(n wire.Note) bool { return n.Code == wire.NoteThinking })
		w.lostReasoning(msgs, ids)
		w.lostErrors(msgs, ids)
	}
	w.wireNotes(notes, ids)
	w.aside()
	if len(list.Tools) > 0 {
		program := map[Format]string{ClaudeCode: "Claude Code", Codex: "Codex", GeminiCLI: "Gemini CLI", OpenCode: "opencode"}[w.format]
		w.report.add(Lost, "tools", 0, "", "definitions of tools, which "+program+" has its own of")
	}
	return &log{w, list, slots}, nil
}

// each gives the turns in order, an answer with the results of its calls by their ids. What
// the user said behind results is a turn of its own.
func (l *log) each(cut func(*cutting), said func(wire.Turn), answer func(t wire.Turn, results map[string]wire.Part)) {
	turns := l.list.Turns
	for i := 0; i < len(turns); i++ {
		t := turns[i]
		switch from := t.Parts[0].From; {
		case from >= 0 && l.slots[from].cut != nil:
			cut(l.slots[from].cut)
		case t.Kind != wire.TurnAssistant:
			said(t)
		default:
			results, rest := map[string]wire.Part{}, wire.Turn{Kind: wire.TurnUser}
			if i+1 < len(turns) && turns[i+1].Kind == wire.TurnResults {
				i++
				for _, p := range turns[i].Parts {
					if p.Kind == wire.PartResult {
						results[p.ID] = p
					} else {
						rest.Parts = append(rest.Parts, p)
					}
				}
			}
			answer(t, results)
			if len(rest.Parts) > 0 {
				said(rest)
			}
		}
	}
}
