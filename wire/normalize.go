package wire

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Normalize makes of a context the list that a profile's API takes: every call has its
// result directly behind it, roles are as the API wants them, and what it would refuse is
// left out. The notes say what was done; the messages are not changed. The error is a
// [PendingError], or says what is wrong with the profile.
func Normalize(msgs []*message.Message, p Profile, t Target, o Options) (*List, []Note, error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	n := &normalizer{msgs: msgs, p: p, t: t}
	if p.form == formPi {
		return n.pi(), n.notes, nil
	}
	n.ids, n.pairs, n.summary = newIDMap(p.CallIDMax), message.PairCalls(msgs), -1
	if !o.CloseOpenCalls {
		if pending := n.pairs.Pending(); len(pending) > 0 {
			return nil, nil, &PendingError{pending}
		}
	}
	for i, m := range msgs {
		if m.Role == message.RoleCompactionSummary {
			n.summary = i
		}
	}
	for i, m := range msgs {
		n.message(i, m)
	}
	l := &List{Turns: n.turns, profile: p, target: t}
	l.System, l.Tools = n.prompt()
	slices.SortStableFunc(n.notes, func(a, b Note) int { return a.Index - b.Index })
	return l, n.notes, nil
}

type normalizer struct {
	msgs    []*message.Message
	p       Profile
	t       Target
	ids     *idMap
	pairs   *message.Pairs
	summary int // index of the compaction summary that counts, or -1

	systems []*message.Message // what counts for the system text and the tools
	begun   bool               // a message that is not of the system was seen
	turns   []Turn
	notes   []Note
}

func (n *normalizer) note(code NoteCode, index int, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	n.notes = append(n.notes, Note{code, index, format})
}

// message adds what one message contributes. The cases are the closed set of
// roles.
func (n *normalizer) message(i int, m *message.Message) {
	n.begun = n.begun || m.Role != message.RoleSystem
	switch m.Role {
	case message.RoleSystem:
		n.system(i, m)
	case message.RoleUser, message.RoleCustom:
		n.user(i, n.parts(i, m))
	case message.RoleBashExecution:
		if m.ExcludeFromContext {
			n.note(NoteExcluded, i, "the user kept this command out of the context")
			return
		}
		n.user(i, []Part{textPart(i, shellText(m))})
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		if m.Role == message.RoleCompactionSummary && i != n.summary {
			n.note(NoteSummary, i, "a later compaction summary replaces this one")
			return
		}
		n.summarized(i, m)
	case message.RoleAssistant:
		n.assistant(i, m)
	case message.RoleToolResult:
		n.unsent(i, m)
	default:
		n.note(NoteUnknownRole, i, "a message of role %q is not sent", m.Role)
	}
}

func (n *normalizer) summarized(i int, m *message.Message) {
	f := SummaryForm(m)
	text := f.Wrap(m.Summary)
	switch {
	case blank(text):
		n.note(NoteEmpty, i, "the summary is empty")
	case f.Role == message.RoleAssistant:
		n.push(Turn{TurnAssistant, []Part{textPart(i, text)}})
	default:
		n.user(i, []Part{textPart(i, text)})
	}
}

func (n *normalizer) user(i int, parts []Part) {
	if len(parts) == 0 {
		n.note(NoteEmpty, i, "the message has nothing to send")
		return
	}
	n.push(Turn{TurnUser, parts})
}

func (n *normalizer) assistant(i int, m *message.Message) {
	if m.Failed() {
		n.note(NoteAnswerDropped, i, "the answer ended with %q and is not sent", m.StopReason)
		return
	}
	parts := n.parts(i, m)
	if len(parts) == 0 {
		n.note(NoteEmpty, i, "the answer has nothing to send")
		return
	}
	n.push(Turn{TurnAssistant, parts})
	if calls := n.pairs.Of(i); len(calls) > 0 {
		n.results(i, parts, calls)
	}
}

// unsent notes why a result is not sent; one that is was sent behind its call.
func (n *normalizer) unsent(i int, m *message.Message) {
	switch call := n.pairs.CallOf(i); {
	case call == nil && n.pairs.Known(m.ToolCallID):
		n.note(NoteDuplicateResult, i, "another result of call %s came before; this one is not sent", m.ToolCallID)
	case call == nil:
		n.note(NoteOrphanResult, i, "no call has the id %s; the result is not sent", m.ToolCallID)
	case n.msgs[call.Answer].Failed():
		n.note(NoteResultOfDropped, i, "its call stands in an answer that is not sent")
	}
}

func (n *normalizer) results(i int, answer []Part, calls []message.Call) {
	inside := n.p.ResultImages == ImagesInside || n.p.ResultImages == ImagesByModel && geminiMajor(n.t.Model) >= 3
	results := Turn{TurnResults, make([]Part, 0, len(calls)+1)}
	var after []Part
	next := 0
	for k := range answer {
		if answer[k].Kind != PartCall {
			continue
		}
		c, sent := &calls[next], &answer[k]
		next++
		if c.Result < 0 {
			n.note(NoteCallClosed, i, "call %s of %s has no result; one was put in that says so", c.Block.ID, c.Block.Name)
			results.Parts = append(results.Parts, Part{
				Kind: PartResult, From: -1, ID: sent.ID, Name: sent.Name, IsError: true,
				Content: []Part{textPart(-1, textCallClosed)},
			})
			continue
		}
		if c.Result != i+next {
			n.note(NoteResultMoved, c.Result, "the result was put behind its call, in the order of the calls")
		}
		m := n.msgs[c.Result]
		content := n.parts(c.Result, m)
		if texts, images := splitImages(content); len(images) > 0 && !inside {
			n.note(NoteImage, c.Result, "the images of the result follow after the results")
			after = append(after, textPart(-1, textImagesOf(sent.Name, sent.ID)))
			after = append(after, images...)
			if content = texts; len(content) == 0 {
				content = []Part{textPart(-1, textImagesBelow)}
			}
		}
		if len(content) == 0 {
			content = []Part{textPart(-1, textNoOutput)}
		}
		results.Parts = append(results.Parts, Part{
			Kind: PartResult, From: c.Result, ID: sent.ID, Name: sent.Name, IsError: m.IsError, Content: content,
		})
	}
	n.push(results)
	if len(after) > 0 {
		n.push(Turn{TurnUser, after})
	}
}

func splitImages(parts []Part) (texts, images []Part) {
	for _, p := range parts {
		if p.Kind == PartImage {
			images = append(images, p)
		} else {
			texts = append(texts, p)
		}
	}
	return texts, images
}

// push adds a turn and does what the profile asks of the roles.
func (n *normalizer) push(t Turn) {
	if len(n.turns) == 0 {
		if n.p.FirstUser && t.Kind == TurnAssistant {
			n.placeholder(t, textFirst)
		}
		n.turns = append(n.turns, t)
		return
	}
	last := &n.turns[len(n.turns)-1]
	switch {
	case !n.p.Alternate:
	case t.Kind == TurnUser && (last.Kind == TurnUser || last.Kind == TurnResults && n.p.Results == ResultsInUser):
		last.Parts = append(last.Parts, t.Parts...)
		return
	case t.Kind == TurnAssistant && last.Kind == TurnAssistant:
		// Thinking must stand at the start of an answer, so an answer that has
		// it cannot become the rest of another.
		if slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Kind == PartThinking }) {
			n.placeholder(t, textBetween)
			break
		}
		last.Parts = append(last.Parts, t.Parts...)
		return
	}
	n.turns = append(n.turns, t)
}

func (n *normalizer) placeholder(before Turn, text string) {
	n.note(NotePlaceholder, before.Parts[0].From, "a user message was put before it, because the API wants one there")
	n.turns = append(n.turns, Turn{TurnUser, []Part{textPart(-1, text)}})
}

func textPart(from int, text string) Part {
	return Part{Kind: PartText, From: from, Text: jsonx.Quote(text)}
}
