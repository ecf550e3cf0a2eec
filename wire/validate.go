package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Rule names one thing that must hold of a rendered list.
type Rule string

// The rules that Validate checks. A rule about something an API does not have
// holds for its profile.
const (
	RuleJSON          Rule = "json"           // every part is one JSON value of the kind the API has there
	RuleUTF8          Rule = "utf8"           // valid UTF-8 without halves of surrogate pairs
	RuleNotEmpty      Rule = "not-empty"      // there are messages, and each says something; no text is blank
	RuleRole          Rule = "role"           // roles are those of the API
	RuleStart         Rule = "start"          // the first message is the user's
	RuleAlternate     Rule = "alternate"      // no two neighbours have one role
	RuleBlock         Rule = "block"          // blocks have types of the API, and stand where it takes them
	RuleCallWithout   Rule = "call-without"   // every call has its result
	RuleResultWithout Rule = "result-without" // every result has its call, and no call has two
	RuleOrder         Rule = "order"          // results follow directly on their calls, in their order, and nothing comes between
	RuleCallID        Rule = "call-id"        // ids of calls and items have the characters and length that are taken
	RuleUniqueID      Rule = "unique-id"      // no two calls have one id
	RuleToolName      Rule = "tool-name"      // names of tools have the characters and length that are taken
	RuleArguments     Rule = "arguments"      // arguments are an object
	RuleThinking      Rule = "thinking"       // thinking is signed, as it came, and followed by what came with it
	RuleLoop          Rule = "loop"           // with Request.Thinks, an open tool loop begins with thinking: see Request.LoopThinks
	RuleImage         Rule = "image"          // images are base64 of a type that is taken
	RuleSummary       Rule = "summary"        // at most one compaction summary
	RuleSystem        Rule = "system"         // the system text has the form of the API
	RuleTools         Rule = "tools"          // tools have the form of the API and names of their own
	RuleSize          Rule = "size"           // the parts fit the greatest request
)

// Violation is one place where a rule is broken.
type Violation struct {
	Rule  Rule
	Index int    // of the message in Request.Messages; -1 for the request as a whole
	Text  string // what is wrong there
}

func (v Violation) String() string { return located(v.Index, v.Text, string(v.Rule)) }

// ValidationError lists what an API would refuse.
type ValidationError struct {
	Profile    string
	Violations []Violation // in the order of the messages; those of the request as a whole first
}

func (e *ValidationError) Error() string {
	parts := few(e.Violations, Violation.String, "and %d more")
	return fmt.Sprintf("the list is not one that the %s API takes: %s", e.Profile, strings.Join(parts, "; "))
}

// Validate reads a rendered request, whoever made it, and returns nil or a [ValidationError].
// With nil for the messages it was made from it does not check that signed thinking and
// unknown blocks are as they came, and that there is one compaction summary.
func Validate(r *Request, p Profile, msgs []*message.Message) error {
	if err := p.check(); err != nil {
		return err
	}
	v := newValidator(&p, msgs)
	for _, m := range msgs {
		v.src.add(m, p.Thinking)
	}
	for _, raw := range r.Messages {
		v.message(raw, nil)
	}
	return v.verdict(r)
}

func newValidator(p *Profile, msgs []*message.Message) *validator {
	v := &validator{p: p, read: make([]seenMessage, 0, len(msgs)), messages: make([]json.RawMessage, 0, len(msgs)), calls: make(map[string]struct{}, len(msgs)/2)}
	if msgs != nil {
		v.src = &source{fields: map[string]bool{}, summaries: map[string]int{}, msgs: msgs}
	}
	return v
}

// verdict is for a request whose messages were read.
func (v *validator) verdict(r *Request) error {
	p := v.p
	if n := r.Size(); p.MaxBytes > 0 && n > p.MaxBytes {
		v.fail(RuleSize, -1, "%d bytes are more than the %d that the API takes", n, p.MaxBytes)
	}
	v.system(r.System)
	v.tools(r.Tools)
	v.roles()
	if p.form != formPi {
		if last := len(v.read) - 1; last >= 0 {
			v.unanswered(last)
			v.blocks(last)
		}
		v.summaries()
		v.is(RuleLoop, len(r.Messages)-1, !r.Thinks || p.form != formAnthropic || r.LoopThinks(), "the tool loop that ends here does not begin with thinking")
	}
	if len(v.out) == 0 {
		return nil
	}
	slices.SortStableFunc(v.out, func(a, b Violation) int { return a.Index - b.Index })
	return &ValidationError{p.Name, v.out}
}

type validator struct {
	p        *Profile
	src      *source // nil when it is not known
	tree     tree
	messages []json.RawMessage
	read     []seenMessage
	out      []Violation

	slab slab[seenBlock]

	open    []*seenBlock        // calls that wait for their results
	results bool                // a result of these calls was read
	calls   map[string]struct{} // the ids of all calls
}

// slab is memory for short slices.
type slab[T any] struct{ block, free []T }

// take returns an empty slice with room for n.
func (s *slab[T]) take(n int) []T {
	if cap(s.free) < n {
		s.block = make([]T, max(n, 64))
		s.free = s.block
	}
	taken := s.free[:0:n]
	s.free = s.free[n:]
	return taken
}

func (v *validator) fail(rule Rule, index int, format string, args ...any) {
	v.out = append(v.out, Violation{rule, index, fmt.Sprintf(format, args...)})
}

func (v *validator) roles() {
	msgs := v.read
	if len(msgs) == 0 {
		v.fail(RuleNotEmpty, -1, "there are no messages")
		return
	}
	first := 0
	for first < len(msgs)-1 && msgs[first].role == TurnSystem {
		first++
	}
	v.is(RuleStart, first, !v.p.FirstUser || msgs[first].role == TurnUser, "the first message must be the user's")
	for i, m := range msgs {
		if m.role == "" {
			continue
		}
		v.is(RuleNotEmpty, i, len(m.blocks) > 0 || v.p.form == formPi, "the message is empty")
		v.is(RuleAlternate, i, !v.p.Alternate || i == 0 || m.role != msgs[i-1].role, "it has the role of the message before it")
	}
}

// pairs checks the calls and results of the message that was read last.
func (v *validator) pairs() {
	i := len(v.read) - 1
	m := &v.read[i]
	// In the Responses API alone an answer is more than one message.
	another := m.role == TurnAssistant && v.p.form != formResponses
	if len(v.open) > 0 && (v.p.Results != ResultsApart && v.results || another) {
		v.unanswered(i)
	}
	if v.p.Results == ResultsAlone && m.role == TurnUser && slices.ContainsFunc(m.blocks, func(b seenBlock) bool { return b.kind == PartResult }) {
		v.fail(RuleOrder, i, "results must stand in a message of their own")
	}
	for k := range m.blocks {
		b := &m.blocks[k]
		switch {
		case b.kind == PartResult:
			v.result(i, b)
		case m.role == TurnAssistant:
			if v.results && len(v.open) > 0 {
				v.unanswered(i)
			}
			if b.kind == PartCall {
				v.call(i, b)
			}
		case len(v.open) > 0:
			v.fail(RuleOrder, i, "it stands between call %q and its result", v.open[0].id)
		}
	}
}

func (v *validator) unanswered(index int) {
	for _, c := range v.open {
		v.fail(RuleCallWithout, index, "call %q has no result before this point", c.id)
	}
	v.open, v.results = nil, false
}

func (v *validator) call(i int, b *seenBlock) {
	known := len(v.calls)
	v.calls[b.id] = struct{}{}
	switch {
	case b.id == "" || len(b.id) > v.p.CallIDMax || !idChars(b.id):
		v.fail(RuleCallID, i, "call id %q must be 1 to %d of a-z, A-Z, 0-9, _ and -", b.id, v.p.CallIDMax)
	case len(v.calls) == known:
		v.fail(RuleUniqueID, i, "call id %q was used before", b.id)
	}
	v.toolName(RuleToolName, i, b.name)
	if b.noObject {
		v.fail(RuleArguments, i, "the arguments of call %q are no object", b.id)
	}
	if len(v.open) == 0 {
		v.results = false
	}
	v.open = append(v.open, b)
}

func (v *validator) result(i int, b *seenBlock) {
	at := slices.IndexFunc(v.open, func(c *seenBlock) bool { return c.id == b.id })
	if at < 0 {
		why := "no call before it has the id %q"
		if _, known := v.calls[b.id]; known {
			why = "call %q waits for no result any more"
		}
		v.fail(RuleResultWithout, i, why, b.id)
		return
	}
	if at > 0 {
		v.fail(RuleOrder, i, "the result of call %q comes before that of %q", b.id, v.open[0].id)
	}
	if v.p.form == formGemini && b.name != v.open[at].name {
		v.fail(RuleToolName, i, "the result of call %q names tool %q, the call %q", b.id, b.name, v.open[at].name)
	}
	v.results = true
	if at == 0 {
		v.open = v.open[1:]
	} else {
		v.open = slices.Delete(v.open, at, at+1)
	}
}

func (v *validator) toolName(rule Rule, i int, name string) {
	start := name != "" && (name[0] == '-' || '0' <= name[0] && name[0] <= '9')
	if name == "" || len(name) > v.p.ToolNameMax || !idChars(name) || start && v.p.NameStart {
		v.fail(rule, i, "tool name %q must be 1 to %d of a-z, A-Z, 0-9, _ and -", name, v.p.ToolNameMax)
	}
}

// blocks checks the blocks of a message, when the one after it was read.
func (v *validator) blocks(i int) {
	m := &v.read[i]
	for k := range m.blocks {
		b := &m.blocks[k]
		v.is(RuleBlock, i, m.role == "" || slices.Contains(places[b.kind], m.role),
			"a block of this kind has no place in a message of this role")
		switch b.kind {
		case PartText:
			v.notBlank(i, b)
			v.signed(i, b)
		case PartThinking:
			v.signed(i, b)
			v.followed(i, k)
		case PartCall:
			v.signed(i, b)
		case PartResult:
			if len(b.content) == 0 {
				v.fail(RuleNotEmpty, i, "the result of call %q is empty", b.id)
			}
			for c := range b.content {
				if b.content[c].kind == PartText && v.p.form != formGemini {
					v.notBlank(i, &b.content[c])
				}
			}
		case PartImage, PartStored:
		case PartOpaque:
			v.other(i, b)
		}
	}
}

var places = map[PartKind][]TurnKind{
	PartText:     {TurnSystem, TurnUser, TurnAssistant},
	PartImage:    {TurnUser},
	PartThinking: {TurnAssistant},
	PartCall:     {TurnAssistant},
	PartResult:   {TurnUser, TurnResults},
	PartOpaque:   {TurnAssistant},
}

func (v *validator) notBlank(i int, b *seenBlock) {
	v.is(RuleNotEmpty, i, !b.blank || b.signature != "", "it holds a text without anything but white space")
}

// followed checks that thinking is not the end of an answer, and that a
// reasoning item has its item.
func (v *validator) followed(i, k int) {
	msgs := v.read
	if v.p.Thinking == ThinkingSigned || v.p.Thinking == ThinkingPart {
		said := slices.ContainsFunc(msgs[i].blocks[k+1:], func(b seenBlock) bool { return b.kind != PartThinking })
		v.is(RuleThinking, i, said, "nothing follows the thinking")
	}
	if v.p.Thinking == ThinkingItem {
		item := i+1 < len(msgs) && msgs[i+1].role == TurnAssistant && len(msgs[i+1].blocks) > 0 && msgs[i+1].blocks[0].kind != PartThinking
		v.is(RuleThinking, i, item, "the reasoning item is not followed by its item")
	}
}

func (v *validator) signed(i int, b *seenBlock) {
	v.is(RuleThinking, i, b.kind != PartThinking || b.signature != "", "thinking without a signature")
	if b.signature == "" || v.src == nil || b.signature == noSignature && b.kind == PartCall {
		return
	}
	v.is(RuleThinking, i, v.src.has(b, v.messages[i], v.p.Thinking), "what is signed is not as it came")
}

func (v *validator) other(i int, b *seenBlock) {
	raw := b.raw.of(v.messages[i])
	if !v.p.Opaque || v.p.reserved(raw) || v.src != nil && !v.src.passed(raw) {
		v.fail(RuleBlock, i, "a block of type %q that the API did not give", jsonx.StringAt(raw, "type"))
	}
}

// summaries counts the texts that are a compaction summary in its form and that
// no one else said.
func (v *validator) summaries() {
	if v.src == nil {
		return
	}
	v.src.countOthers()
	n, last := 0, -1
	for text, said := range v.src.summaries {
		here := 0
		for i := range v.read {
			for _, b := range v.read[i].blocks {
				if b.kind == PartText && spells(b.text.of(v.messages[i]), text) {
					here++
					last = max(last, i)
				}
			}
		}
		n += max(0, here-said)
	}
	if n > 1 {
		v.fail(RuleSummary, last, "there are %d compaction summaries", n)
	}
}

// spells reports whether a JSON string spells a text. It decodes few that do not.
func spells(quoted []byte, text string) bool {
	if len(quoted) < len(text)+2 {
		return false
	}
	n := min(16, len(text))
	if head := quoted[1 : n+1]; bytes.IndexByte(head, '\\') < 0 && string(head) != text[:n] {
		return false
	}
	return decoded(quoted) == text
}

func decoded(quoted []byte) string { text, _ := jsonx.String(quoted); return text }

// source is what Validate needs to know of the messages that a request was made
// from.
type source struct {
	signed    []*message.Block // in order
	next      int              // index of the one in signed that is probably looked for next
	fields    map[string]bool  // reasoning of one answer, joined, where the API takes it in a field
	summaries map[string]int   // compaction summaries in their form, with how often others said the same
	msgs      []*message.Message
	unknown   map[string]bool // blocks of other types in answers; nil until needed
}

func (s *source) add(m *message.Message, t Thinking) {
	if m.Role == message.RoleCompactionSummary {
		text := SummaryForm(m).Wrap(m.Summary)
		s.summaries[strings.ToValidUTF8(text, "\uFFFD")] = 0
	}
	if m.Role != message.RoleAssistant {
		return
	}
	var thoughts []string
	for k := range m.Content {
		b := &m.Content[k]
		if b.Signature == "" {
			continue
		}
		s.signed = append(s.signed, b)
		if t == ThinkingField && b.Type == message.BlockThinking && slices.Contains(reasoningFields, b.Signature) &&
			!b.Redacted && !b.Blank() && intact(b) {
			thoughts = append(thoughts, b.Text)
		}
	}
	if thoughts != nil {
		s.fields[strings.Join(thoughts, "\n")] = true
	}
}

// countOthers counts how often somebody said what a summary in its form says: a
// user who pastes a context does not make a second summary.
func (s *source) countOthers() {
	if len(s.summaries) == 0 {
		return
	}
	count := func(text string) {
		if _, ok := s.summaries[text]; ok {
			s.summaries[text]++
		}
	}
	for _, m := range s.msgs {
		if m.Role == message.RoleBranchSummary {
			count(SummaryForm(m).Wrap(m.Summary))
		}
		for k := range m.Content {
			if m.Content[k].Type == message.BlockText {
				count(m.Content[k].Text)
			}
		}
	}
}

// has reports whether a block with a signature stands in the messages as it was
// read from raw.
func (s *source) has(b *seenBlock, raw []byte, t Thinking) bool {
	text := b.text.of(raw)
	if t == ThinkingField {
		return s.fields[decoded(text)]
	}
	is := func(o *message.Block) bool {
		switch b.kind {
		case PartThinking:
			return o.Type == message.BlockThinking && (t == ThinkingItem || o.Redacted == b.redacted && (b.redacted || same(o, text)))
		case PartText:
			return o.Type == message.BlockText && same(o, text)
		case PartCall:
			return o.Type == message.BlockToolCall && bytes.Equal(o.Arguments, b.arguments.of(raw))
		case PartOpaque, PartStored, PartImage, PartResult:
		}
		return false
	}
	for n := range s.signed {
		k := (s.next + n) % len(s.signed)
		if o := s.signed[k]; o.Signature == b.signature && is(o) {
			s.next = k + 1
			return true
		}
	}
	return false
}

// same reports whether a JSON string that was sent spells the text of a block, and
// that text can be sent as it is.
func same(o *message.Block, sent []byte) bool {
	return o.RawText() != nil && bytes.Equal(o.RawText(), sent) || o.Text == decoded(sent) && intact(o)
}

func (s *source) passed(raw []byte) bool {
	if s.unknown == nil {
		s.unknown = map[string]bool{}
		known := []message.BlockType{message.BlockText, message.BlockThinking, message.BlockToolCall, message.BlockImage}
		for _, m := range s.msgs {
			for k := range m.Content {
				b := &m.Content[k]
				if m.Role == message.RoleAssistant && b.Raw() != nil && !slices.Contains(known, b.Type) {
					s.unknown[string(jsonx.Clean(b.Raw()))] = true
				}
			}
		}
	}
	return s.unknown[string(raw)]
}
