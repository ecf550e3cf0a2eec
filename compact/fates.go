package compact

import (
	"slices"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// FateKind says what became of an entry in the context.
type FateKind string

// The fates. Every entry on a path has exactly one.
const (
	FateVerbatim   FateKind = "verbatim"   // it is there as it was written
	FateEdited     FateKind = "edited"     // it is there with other content; By is the edit
	FateSummarized FateKind = "summarized" // it is in the range of the summary; By is the compaction
	FateQuoted     FateKind = "quoted"     // so, and its text stands in the summary word for word
	FateExcluded   FateKind = "excluded"   // it is not there; Why says why
)

// The reasons for which an entry is excluded.
const (
	WhyNoContent  = "no content"         // its type is not for the model: a label, a model change, ...
	WhyOmitted    = "omitted"            // an edit takes it out; By is the edit
	WhyPrompt     = "prompt"             // a system message whose text is part of a later compaction's
	WhyOlder      = "older compaction"   // a later compaction replaces it
	WhyUnseen     = "kept out"           // a shell run that the user kept out of the context
	WhyFailed     = "failed answer"      // an answer that failed or was aborted is never sent
	WhyEmpty      = "empty"              // a branch summary without text
	WhyUnreadable = "can't be read"      // the record is no message
	WhyUnknown    = "unknown entry type" // of a format or program that clew does not know
)

// Fate is what became of one entry.
type Fate struct {
	Entry  string   `json:"entry"`
	Fate   FateKind `json:"fate"`
	By     string   `json:"by,omitempty"`  // the edit or the compaction concerned, "" for none
	Why    string   `json:"why,omitempty"` // the reason for an exclusion, or the stage that made an edit
	Pinned bool     `json:"pinned,omitempty"`
}

// Fates says for every entry of a whole path, oldest first, what became of it in the context.
func Fates(path []*session.Entry) []Fate {
	fate := FateIn(path)
	fates := make([]Fate, len(path))
	for i, e := range path {
		fates[i] = fate(e)
	}
	return fates
}

// Checkpoints says at which entries of a path, or of what session.ContextPath gives of it, a task seems to have ended,
// and why. What compactions passed stands in their details, though not all of a very long path; the rest is read anew.
func Checkpoints(path []*session.Entry) map[string]ledger.Boundary {
	isEdit := func(e *session.Entry) bool { return e.Type == session.TypeContextEdit }
	unedited := session.Project(slices.DeleteFunc(slices.Clone(path), isEdit)).Items
	out := map[string]ledger.Boundary{}
	for _, c := range ledger.Read(unedited, ledger.Options{}).Checkpoints {
		out[c.Entry] = c.Why
	}
	return out
}

// FateIn returns a function that says what became of an entry in the context of a path, or of what session.ContextPath
// gives of it. So that a long path need not be in memory, it also takes entries that stand before.
func FateIn(path []*session.Entry) func(*session.Entry) Fate {
	c := session.Project(path)
	pinned := map[string]bool{}
	for _, id := range session.Pins(path) {
		pinned[id] = true
	}
	shown := map[string]session.Item{}
	for _, it := range c.Items {
		shown[it.Entry.ID] = it
	}
	active, omitted := map[string]bool{}, map[string]string{} // omitted has the edit
	for _, e := range c.Active {
		active[e.ID] = true
		if view, ok := e.ContextEdit(); ok {
			delete(omitted, view.TargetID)
			if view.Omit {
				omitted[view.TargetID] = e.ID
			}
		}
	}
	quoted := quotedIn(c.Compaction)
	return func(e *session.Entry) Fate {
		f := Fate{Entry: e.ID, Pinned: pinned[e.ID]}
		it, ok := shown[e.ID]
		switch {
		case ok && it.Edit != nil:
			f.Fate, f.By, f.Why = FateEdited, it.Edit.ID, StageOf(it.Edit)
		case ok && notSent(it.Message) != "":
			f.Fate, f.Why = FateExcluded, notSent(it.Message)
		case ok:
			f.Fate = FateVerbatim
		case omitted[e.ID] != "" && active[e.ID]:
			f.Fate, f.By, f.Why = FateExcluded, omitted[e.ID], WhyOmitted
		case e.Type == session.TypeCompaction:
			f.Fate, f.Why = FateExcluded, WhyOlder
		case e.Type == session.TypeCustomMessage:
			f.Fate, f.Why = FateExcluded, WhyUnreadable
		default:
			f.Fate, f.Why = FateExcluded, unread(e)
		}
		if !active[e.ID] && c.Compaction != nil && unread(e) == "" {
			f.Fate, f.By, f.Why = FateSummarized, c.Compaction.ID, ""
			if quoted(e) {
				f.Fate = FateQuoted
			}
		}
		return f
	}
}

// quotedIn tells whether a summary quotes an entry whole.
func quotedIn(compaction *session.Entry) func(*session.Entry) bool {
	var quotes []summary.Quote
	if compaction != nil {
		view, _ := compaction.Compaction()
		if d, ok := summary.Parse(view.Summary); ok {
			quotes = slices.Concat(d.Quotes, d.Pins)
		}
	}
	return func(e *session.Entry) bool { // others may have the beginning of the id
		return slices.ContainsFunc(quotes, func(q summary.Quote) bool {
			return q.Ref != "" && short8(q.Ref) == short8(e.ID) && q.Whole() && q.Text == pinText(e)
		})
	}
}

// pinText is the text of an entry as it is quoted.
func pinText(e *session.Entry) string {
	m := original(session.Item{Entry: e, Message: &message.Message{}})
	switch {
	case m.Command != "" || m.Output != "":
		return "$ " + m.Command + "\n" + m.Output
	case m.Summary != "":
		return m.Summary
	}
	return m.Text()
}

func short8(id string) string { return id[:min(len(id), 8)] }

// notSent says why a message in the context is never sent, "" where it is.
func notSent(m *message.Message) string {
	switch {
	case m.Role == message.RoleBashExecution && m.ExcludeFromContext:
		return WhyUnseen
	case m.Failed():
		return WhyFailed
	case !m.Role.Known():
		return WhyUnknown
	}
	return ""
}

// unread says why an entry has nothing for a model to read, "" where it has.
func unread(e *session.Entry) string {
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		switch {
		case err != nil:
			return WhyUnreadable
		case m.Role == message.RoleSystem:
			return WhyPrompt
		}
		return notSent(m)
	case session.TypeBranchSummary:
		if b, _ := e.BranchSummary(); b.Summary == "" {
			return WhyEmpty
		}
		return ""
	case session.TypeCustomMessage, session.TypeCompaction: // its summary was merged into the later one
		return ""
	case session.TypeContextEdit, session.TypeCustom, session.TypeLabel, session.TypeModelChange,
		session.TypeThinkingLevel, session.TypeSessionInfo, session.TypeUsage:
		return WhyNoContent
	}
	return WhyUnknown
}
