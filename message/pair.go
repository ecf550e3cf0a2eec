package message

// Call is a tool call in a list of messages.
type Call struct {
	Answer int // index of the answer in the list
	Block  *Block
	Result int // index of the message with its result; -1 for none
}

// Pairs says which result in a list of messages belongs to which call.
type Pairs struct {
	Last  int // index of the last answer that is sent, or -1
	msgs  []*Message
	calls []Call
	first []int // by message: index in calls of its first call, or of the next one after it
	owner []int // by message: 1 + index in calls of the call it is the result of

	// Calls by id, made when a result is not of the latest answer, as most are.
	open map[string]*[2][]int // indexes in calls: calls that may want a result, those of failed answers apart
	seen int                  // how many of calls are in open
}

// PairCalls finds the result of every call. A result belongs to the latest answer before it that has an open call of
// its id, and there to the first such call; answers that failed come last, because programs do not run their calls. A
// result whose id no call before it has belongs to the first call after it that has it. Each match depends only on
// what stands before its later half, so messages added at the end change no match.
func PairCalls(msgs []*Message) *Pairs {
	p := &Pairs{msgs: msgs, first: make([]int, len(msgs)+1), owner: make([]int, len(msgs)), Last: -1, open: map[string]*[2][]int{}}
	early := map[string][]int{} // results without a call so far
	match := func(call, result int) {
		p.calls[call].Result = result
		p.owner[result] = call + 1
	}
	answer := 0 // index in calls of the first of the latest answer
	for i, m := range msgs {
		p.first[i] = len(p.calls)
		switch m.Role {
		case RoleAssistant:
			if m.answers() {
				p.Last = i
			}
			answer = len(p.calls)
			for b := range m.Content {
				if block := &m.Content[b]; block.Type == BlockToolCall {
					p.calls = append(p.calls, Call{i, block, -1})
					if waiting := early[block.ID]; len(waiting) > 0 {
						match(len(p.calls)-1, waiting[0])
						early[block.ID] = waiting[1:]
					}
				}
			}
			if m.Failed() {
				p.index()
				answer = len(p.calls)
			}
		case RoleToolResult:
			if n := p.near(answer, m.ToolCallID); n >= 0 {
				match(n, i)
				break
			}
			p.index()
			open := p.open[m.ToolCallID]
			if open == nil {
				early[m.ToolCallID] = append(early[m.ToolCallID], i)
				break
			}
			for k, calls := range open {
				for len(calls) > 0 && p.calls[calls[len(calls)-1]].Result >= 0 {
					calls = calls[:len(calls)-1]
				}
				if open[k] = calls; len(calls) > 0 {
					match(calls[len(calls)-1], i)
					break
				}
			}
		default:
		}
	}
	p.first[len(msgs)] = len(p.calls)
	return p
}

// near returns the index of the first call that wants the result with an id among the first few from call n on.
func (p *Pairs) near(n int, id string) int {
	for end := min(len(p.calls), n+8); n < end; n++ {
		if p.calls[n].Result < 0 && p.calls[n].Block.ID == id {
			return n
		}
	}
	return -1
}

// index puts the calls that came since into open, of each answer the first on top.
func (p *Pairs) index() {
	for p.seen < len(p.calls) {
		answer, end := p.calls[p.seen].Answer, p.seen
		for end < len(p.calls) && p.calls[end].Answer == answer {
			end++
		}
		stack := 0
		if p.msgs[answer].Failed() {
			stack = 1
		}
		for n := end - 1; n >= p.seen; n-- {
			open := p.open[p.calls[n].Block.ID]
			if open == nil {
				open = new([2][]int)
				p.open[p.calls[n].Block.ID] = open
			}
			open[stack] = append(open[stack], n)
		}
		p.seen = end
	}
}

// Of returns the calls of message i, in the order of its blocks.
func (p *Pairs) Of(i int) []Call { return p.calls[p.first[i]:p.first[i+1]] }

// CallOf returns the call that message i is the result of, or nil.
func (p *Pairs) CallOf(i int) *Call {
	if p.owner[i] == 0 {
		return nil
	}
	return &p.calls[p.owner[i]-1]
}

// Known reports whether a call in the list has the id.
func (p *Pairs) Known(id string) bool { p.index(); return p.open[id] != nil }

// Pending returns the calls that wait for their results: those without one in the last answer that is sent to a
// model. An earlier call without a result is not pending, because the conversation went on without it.
func (p *Pairs) Pending() (pending []Call) {
	for _, c := range p.calls {
		if c.Answer == p.Last && c.Result < 0 {
			pending = append(pending, c)
		}
	}
	return pending
}

// Failed reports whether m is an answer that failed or was stopped. Such an answer
// is never sent back to a model, nor are its calls and their results.
func (m *Message) Failed() bool {
	return m.Role == RoleAssistant && (m.StopReason == StopError || m.StopReason == StopAborted)
}

// OpenLoop returns where in a list the tool loop begins that is still open at its end: the answers and results since
// something was said to the model, where nothing but what the user has said meanwhile follows the last results. Anthropic
// wants the reasoning of such a loop back as it was. Without an open loop it is len(list). Messages that no model is sent,
// and those that are nil, close no loop and divide none.
func OpenLoop(list []*Message) int {
	open, said := len(list), false
	for ; open > 0 && (list[open-1] == nil || list[open-1].Role != RoleToolResult); open-- {
		m := list[open-1]
		said = said || m.speaks()
		// An answer that was cut short may yet be taken out and asked for again.
		if m.sent() && m.Role == RoleAssistant && (said || m.StopReason != StopLength) {
			return len(list)
		}
	}
	if open == 0 {
		return len(list)
	}
	for open > 0 && !list[open-1].speaks() {
		open--
	}
	return open
}

// sent reports whether m goes to a model. A command that the user has kept from it does not.
func (m *Message) sent() bool {
	return m != nil && m.Role.Known() && !m.Failed() && (m.Role != RoleBashExecution || !m.ExcludeFromContext)
}

// speaks reports whether m says something to the model that is no result of a call.
func (m *Message) speaks() bool {
	return m.sent() && m.Role != RoleAssistant && m.Role != RoleToolResult
}

// answers reports whether m is sent to every model: it did not fail and says something beside its reasoning.
func (m *Message) answers() bool {
	if m.Role != RoleAssistant || m.Failed() {
		return false
	}
	for i := range m.Content {
		b := &m.Content[i]
		if b.Type == BlockToolCall || b.Type == BlockImage || b.Type == BlockText && !b.Blank() {
			return true
		}
	}
	return false
}
