package wire

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Normalize makes of a context the list that a profile's API takes, without what it would
// refuse. The notes say what was done; the messages are not changed. The error is a
// [PendingError], or says what is wrong with the profile.
func Normalize(msgs []*message.Message, p Profile, t Target, o Options) (*List, []Note, error) {
	n, l, err := newNormalizer(msgs, p, t, o)
	if err != nil {
		return nil, nil, err
	}
	return l, n.run(func(*message.Message) {}, func(t *Turn) { l.Turns = append(l.Turns, *t) }), nil
}

type normalizer struct {
	msgs    []*message.Message
	p       Profile
	t       Target
	ids     *idMap
	pairs   *message.Pairs
	summary int // index of the compaction summary that counts, or -1

	updates map[int]string // by message: what a system message in the middle says
	last    *Turn          // it may still grow
	emit    func(*Turn)    // takes it when it can't
	notes   []Note
	slab    slab[Part]
	spare   *slab[Part] // holds the parts of last; nil where turns are kept after emit
}

// newNormalizer also returns the list, which has no turns yet.
func newNormalizer(msgs []*message.Message, p Profile, t Target, o Options) (*normalizer, *List, error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	n, l := &normalizer{msgs: msgs, p: p, t: t, summary: -1}, &List{profile: p, target: t}
	if p.form == formPi {
		return n, l, nil
	}
	n.ids, n.pairs = newIDMap(p.CallIDMax, len(msgs)/2), message.PairCalls(msgs)
	if !o.CloseOpenCalls {
		if pending := n.pairs.Pending(); len(pending) > 0 {
			return nil, nil, &PendingError{pending}
		}
	}
	l.System, l.Tools = n.prompt()
	return n, l, nil
}

// run gives each message to read and each turn to emit, which must not keep the pointer. It
// returns the notes.
func (n *normalizer) run(read func(*message.Message), emit func(*Turn)) []Note {
	n.emit = emit
	if n.p.form == formPi {
		n.pi()
		return n.notes
	}
	for i, m := range n.msgs {
		read(m)
		n.message(i, m)
	}
	if n.last != nil {
		emit(n.last)
	}
	slices.SortStableFunc(n.notes, func(a, b Note) int { return a.Index - b.Index })
	return n.notes
}

func (n *normalizer) note(code NoteCode, index int, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	n.notes = append(n.notes, Note{code, index, format})
}

// message adds what one message contributes.
func (n *normalizer) message(i int, m *message.Message) {
	switch m.Role {
	case message.RoleSystem:
		n.update(i)
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
	results := Turn{TurnResults, n.slab.take(len(calls) + 1)}
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
		if !inside && slices.ContainsFunc(content, isImage) {
			texts, images := splitImages(content)
			n.note(NoteImage, c.Result, "the images of the result follow after the results")
			after = append(after, textPart(-1, fmt.Sprintf("Images in the result of %s (%s):", sent.Name, sent.ID)))
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

func isImage(p Part) bool { return p.Kind == PartImage }

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
	last := n.last
	switch {
	case last == nil && n.p.FirstUser && t.Kind == TurnAssistant:
		n.placeholder(t, textFirst)
	case last == nil || !n.p.Alternate:
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
	n.begin(t)
	if n.spare != nil { // the turns before t were emitted, so their memory is free
		n.slab, *n.spare = *n.spare, n.slab
		n.slab.free = n.slab.block
	}
}

func (n *normalizer) begin(t Turn) {
	if n.last == nil {
		n.last = new(Turn)
	} else {
		n.emit(n.last)
	}
	*n.last = t
}

func (n *normalizer) placeholder(before Turn, text string) {
	n.note(NotePlaceholder, before.Parts[0].From, "a user message was put before it, because the API wants one there")
	n.begin(Turn{TurnUser, []Part{textPart(-1, text)}})
}

func textPart(from int, text string) Part {
	return Part{Kind: PartText, From: from, Text: jsonx.Quote(text)}
}
