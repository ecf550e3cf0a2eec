package wire

import "github.com/clew-dev/clew/message"

// call is a tool call and what became of it.
type call struct {
	index   int // of the answer
	block   int // in the answer's content
	id      string
	name    string
	dropped bool // it stands in an answer that is not sent
	result  int  // index of the message with its result, -1 for none
}

// pairs is which result belongs to which call.
type pairs struct {
	calls map[int][]*call // by the index of the answer, in order of the blocks
	notes []Note          // about results that are not sent
}

// pairUp finds the result of every call. A result belongs to the latest answer
// before it with an open call of its id, and there to the first such call. Of
// two results for one call the first counts. A result whose id no call before
// it has belongs to the first call after it that has it. Each match depends on
// what stands before its later half alone, so messages added at the end change
// no match.
func pairUp(msgs []*message.Message) *pairs {
	p := &pairs{calls: map[int][]*call{}}
	open := map[string]*openCalls{}
	early := map[string][]int{} // results without a call so far
	owner := map[int]*call{}    // by result
	for i, m := range msgs {
		switch m.Role {
		case message.RoleAssistant:
			for b := range m.Content {
				block := &m.Content[b]
				if block.Type != message.BlockToolCall {
					continue
				}
				c := &call{index: i, block: b, id: block.ID, name: block.Name, dropped: failed(m), result: -1}
				p.calls[i] = append(p.calls[i], c)
				of := open[c.id]
				if of == nil {
					of = &openCalls{}
					open[c.id] = of
				}
				if waiting := early[c.id]; len(waiting) > 0 {
					c.result, early[c.id] = waiting[0], waiting[1:]
					owner[c.result] = c
				} else {
					of.push(c)
				}
			}
		case message.RoleToolResult:
			of := open[m.ToolCallID]
			if of == nil {
				early[m.ToolCallID] = append(early[m.ToolCallID], i)
				continue
			}
			if c := of.pop(); c != nil {
				c.result = i
				owner[i] = c
			}
		default:
		}
	}
	for i, m := range msgs {
		if m.Role != message.RoleToolResult {
			continue
		}
		c := owner[i]
		switch {
		case c == nil && open[m.ToolCallID] != nil:
			p.note(NoteDuplicateResult, i, "another result of call "+m.ToolCallID+" came before; this one is not sent")
		case c == nil:
			p.note(NoteOrphanResult, i, "no call has the id "+m.ToolCallID+"; the result is not sent")
		case c.dropped:
			p.note(NoteResultOfDropped, i, "its call stands in an answer that is not sent")
		}
	}
	return p
}

func (p *pairs) note(code NoteCode, index int, text string) {
	p.notes = append(p.notes, Note{code, index, text})
}

// failed reports whether an answer is no answer: what the model had written
// when it failed or was stopped is not sent back.
func failed(m *message.Message) bool {
	return m.StopReason == message.StopError || m.StopReason == message.StopAborted
}

// openCalls holds the calls of one id that wait for a result: one queue for each
// answer, the latest answer last.
type openCalls struct{ answers [][]*call }

func (o *openCalls) push(c *call) {
	if n := len(o.answers); n > 0 && o.answers[n-1][0].index == c.index {
		o.answers[n-1] = append(o.answers[n-1], c)
		return
	}
	o.answers = append(o.answers, []*call{c})
}

// pop takes the first call of the latest answer, or nil.
func (o *openCalls) pop() *call {
	n := len(o.answers)
	if n == 0 {
		return nil
	}
	c := o.answers[n-1][0]
	if rest := o.answers[n-1][1:]; len(rest) > 0 {
		o.answers[n-1] = rest
	} else {
		o.answers = o.answers[:n-1]
	}
	return c
}

// pending returns the calls without result of the last answer that is sent.
func (p *pairs) pending(msgs []*message.Message) []PendingCall {
	var out []PendingCall
	for i := len(msgs) - 1; i >= 0; i-- {
		if m := msgs[i]; m.Role != message.RoleAssistant || failed(m) {
			continue
		}
		for _, c := range p.calls[i] {
			if c.result < 0 {
				out = append(out, PendingCall{i, c.id, c.name})
			}
		}
		break
	}
	return out
}
