package summary

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// digest is what the deterministic summarizer found in its input, before it
// decides what fits.
type digest struct {
	in    *Input
	refs  refs
	msgs  []msg
	led   ledger.Ledger
	index map[string]int // place of an entry in msgs
	users []Quote        // the user's messages, oldest first: those of an earlier summary, then of this input
	turns []turn
	last  turn // of turns, if there are any

	prev    Document // the earlier summary, where it is in our form
	merged  bool     // it is
	foreign string   // the earlier summary, where it is not

	names   *names
	kept    []*facts // of the messages that stay
	known   []*facts // of the earlier summary
	profile Chosen
	words   *phrases
}

// msg is a message with what its tool calls and results belong to.
type msg struct {
	*message.Message
	id   string
	ref  string
	call *message.Block // toolResult: the call
	made int            // toolResult: index of the message that made the call
	done []edit         // edits of the answer that did not fail
	*facts
}

// turn is a request of the user and what came of it.
type turn struct {
	ask      Quote // no text where the range begins inside a turn
	from, to int   // indices in msgs; from is the first message after the request
	ended    bool  // the agent's last answer in it makes no calls, or another request follows
}

func newDigest(in *Input, cache *Cache) *digest {
	items := slices.Concat(in.Items, in.Prefix)
	d := &digest{in: in, refs: newRefs(items), names: cache.names, index: map[string]int{}}
	look := cache.lookup(in.Cwd, in.Instructions)
	previous, details := in.Previous, in.PreviousDetails
	calls := calls{}
	made := map[string]int{}
	failed := map[string]bool{}
	for _, it := range items {
		m := it.Message
		if m == nil || m.ExcludeFromContext {
			continue
		}
		if m.Role == message.RoleCompactionSummary {
			previous, details = m.Summary, m.Details
			continue
		}
		entry := msg{Message: m}
		if it.Entry != nil && it.Entry.ID != "" {
			entry.id, entry.ref = it.Entry.ID, d.refs.of(it.Entry.ID)
			d.index[entry.id] = len(d.msgs)
		}
		call := calls.of(m)
		for _, b := range m.ToolCalls() {
			made[b.ID] = len(d.msgs)
		}
		if m.Role == message.RoleToolResult {
			entry.call, entry.made = call, made[m.ToolCallID]
			failed[m.ToolCallID] = m.IsError
		}
		entry.facts = look(m, entry.call)
		d.msgs = append(d.msgs, entry)
	}
	d.takeThoughts()
	for i, m := range d.msgs {
		for _, e := range m.edits {
			if !failed[e.call] {
				d.msgs[i].done = append(d.msgs[i].done, e)
			}
		}
	}
	for _, it := range in.Kept {
		if m := it.Message; m != nil {
			d.kept = append(d.kept, look(m, calls.of(m)))
		}
	}
	previous = redact.Text(previous)
	if text := withoutFileBlocks(previous); strings.TrimSpace(text) != "" {
		if doc, ok := Parse(text); ok {
			if d.prev, d.merged = doc.Unfold(), true; d.prev.Earlier == doc.Given {
				d.foreign = strings.TrimSpace(doc.Given)
			}
		} else {
			d.foreign = strings.TrimSpace(text)
		}
	}
	if in.Ledger != nil {
		d.led = *in.Ledger
	} else {
		d.led = d.readLedger(previous, details)
	}
	d.profile = d.chooseProfile()
	d.findUsers()
	d.findTurns()
	d.words = &languages[languageOf(d.users)]
	return d
}

// takeThoughts takes what was thought for what was said where the agent says next to nothing:
// some models put all their words there.
func (d *digest) takeThoughts() {
	answers, said := 0, 0
	for _, m := range d.msgs {
		if m.Role == message.RoleAssistant {
			answers++
			said += min(len(m.said), 1)
		}
	}
	if said*silentBelow >= answers {
		return
	}
	for i := range d.msgs {
		if f := d.msgs[i].facts; len(f.said) == 0 && len(f.thought) > 0 {
			spoken := *f // the facts are shared
			spoken.said = f.thought
			d.msgs[i].facts = &spoken
		}
	}
}

// silentBelow: an agent that says something in less than one of so many answers is silent.
const silentBelow = 5

// readLedger reads the ledger of the input. Of an earlier summary that is known from its
// text alone, files and todos are those that the text lists.
func (d *digest) readLedger(previous string, details []byte) ledger.Ledger {
	r := ledger.NewReader(ledger.Options{Cwd: d.in.Cwd})
	if previous != "" {
		earlier := message.Message{Role: message.RoleCompactionSummary, Summary: previous, Details: details}
		r.Add([]session.Item{{Message: &earlier}})
	}
	if jsonx.Get(details, "clew") == nil {
		r.Merge(d.prev.facts())
	}
	r.Add(slices.DeleteFunc(slices.Concat(d.in.Items, d.in.Prefix), func(it session.Item) bool {
		return it.Message != nil && it.Message.Role == message.RoleCompactionSummary
	}))
	return r.Ledger()
}

// facts returns the files and what is to be done as the ledger has them.
func (d *Document) facts() (l ledger.Ledger) {
	list := func(to *[]ledger.File, s ledger.State, paths []string) {
		for _, p := range paths {
			*to = append(*to, ledger.File{Path: p, State: s, Read: s == ledger.StateRead})
		}
	}
	f := &d.Files
	list(&l.Files, ledger.StateRead, f.Read.Paths)
	list(&l.Files, ledger.StateModified, f.Modified.Paths)
	list(&l.Files, ledger.StateCreated, f.Created.Paths)
	list(&l.Files, ledger.StateDeleted, f.Deleted.Paths)
	list(&l.Weak, ledger.StateModified, f.Shell.Paths)
	list(&l.Weak, ledger.StateCreated, f.Scratch.Paths)
	for _, t := range d.Next {
		l.Todos = append(l.Todos, ledger.Todo{Text: t.Text, Status: ledger.TodoOpen})
	}
	return l
}

// withoutFileBlocks takes away pi's file lists at the end of a summary. The
// ledger has read them.
func withoutFileBlocks(s string) string {
	for _, tag := range []string{"modified-files", "read-files"} {
		if from := strings.LastIndex(s, "\n<"+tag+">\n"); from >= 0 {
			_, rest, ended := strings.Cut(s[from:], "\n</"+tag+">")
			if ended && strings.TrimSpace(rest) == "" {
				s = strings.TrimRight(s[:from], "\n")
			}
		}
	}
	return s
}

func (d *digest) findUsers() {
	earlier := d.in.Earlier
	if earlier == nil {
		earlier = d.prev.Quotes
	}
	refs := map[string][]string{} // of the earlier messages, by their text
	for _, q := range earlier {
		q.Ref, q.Role, q.Text = d.refs.of(q.Ref), "", redact.Text(q.Text)
		d.users = append(d.users, q)
		if !slices.Contains(refs[q.Text], q.Ref) {
			refs[q.Text] = append(refs[q.Text], q.Ref)
		}
	}
	for _, m := range d.msgs {
		quoted := slices.ContainsFunc(refs[m.text], func(ref string) bool { return sameEntry(ref, m.ref) })
		if !quoted && strings.TrimSpace(m.text) != "" {
			d.users = append(d.users, Quote{Ref: m.ref, Text: m.text})
		}
	}
}

// findTurns divides the messages at the requests of the user.
func (d *digest) findTurns() {
	cur := turn{}
	flush := func(to int, ended bool) {
		if cur.to = to; cur.to > cur.from || cur.ask.Text != "" {
			cur.ended = ended
			d.turns = append(d.turns, cur)
		}
	}
	for i, m := range d.msgs {
		if m.UserWords() && isRequest(m.text) {
			flush(i, true)
			cur = turn{ask: Quote{Ref: m.ref, Text: m.text}, from: i + 1}
		}
	}
	ended := false
	if len(d.in.Kept) > 0 {
		next := d.in.Kept[0].Message
		ended = next != nil && next.StartsTurn()
	} else if n := len(d.msgs); n > 0 {
		last := d.msgs[n-1]
		ended = last.Role == message.RoleAssistant && len(last.ToolCalls()) == 0
	}
	flush(len(d.msgs), ended)
	if n := len(d.turns); n > 0 {
		d.last = d.turns[n-1]
	}
}

// isRequest reports whether a message of the user asks for something: a command of
// the program, an interruption or an empty message does not.
func isRequest(s string) bool {
	s = strings.TrimSpace(s)
	first, rest, _ := strings.Cut(s, " ")
	switch {
	case s == "" || strings.HasPrefix(s, "[Request interrupted"):
		return false
	case strings.HasPrefix(s, "/") && programCommands()[first[1:]] && len(rest) < longCommand:
		return false // other slash commands are prompts that somebody wrote, and start work
	case strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">"):
		tag, _, _ := strings.Cut(s[1:], ">")
		if tag, _, _ = strings.Cut(tag, " "); strings.HasSuffix(s, "</"+tag+">") || strings.Contains(tag, "command-") {
			return false // one element is what a program put in, several may be a request
		}
	}
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9' })
}

// programCommands are those that agents carry out themselves, without asking a model.
var programCommands = text.Words(`
	add-dir agents approvals bashes bug clear clone compact config context copy cost debug doctor effort exit export
	fast feedback fork help hooks hotkeys ide keybindings login logout mcp memory model models name new permissions
	plugin privacy-settings quit redo reload remote-control rename reset resume rewind scoped-models session sessions
	settings share stats status statusline terminal-setup theme themes thinking tools tree undo upgrade usage vim`)

// use says how much an identifier was used, later uses counting more.
type use struct {
	agent, world float64
	messages     int32 // in how many messages it stands
	user, kept   bool  // it stands in the user's words, in what is kept
}

// weights says what it is worth to name each identifier. What the agent wrote itself is
// the best sign of what it will write again; what stands in what is kept need not be said.
func (d *digest) weights() []float64 {
	uses := make([]use, len(d.names.text))
	half := math.Max(minHalfLife, halfLife*float64(len(d.msgs)))
	see := func(f *facts, at int) {
		recency := math.Exp2(-float64(len(d.msgs)-1-at) / half)
		for _, u := range f.uses {
			x := &uses[u.id]
			x.messages++
			x.user = x.user || u.user
			if u.agent {
				x.agent += recency
			} else {
				x.world += recency
			}
		}
	}
	for _, f := range d.known {
		see(f, 0)
	}
	for at, m := range d.msgs {
		see(m.facts, at)
	}
	for _, f := range d.kept {
		for _, u := range f.uses {
			uses[u.id].kept = true
		}
	}
	kinds := map[text.Class]float64{
		text.Number: asNumber, text.Hash: asNumber, text.UUID: asNumber, text.Flag: asFlag, text.Ref: asFlag,
	}
	if d.profile.KeepReferences {
		kinds[text.Ref], kinds[text.URL] = 1, asReference
	}
	out := make([]float64, len(uses))
	for n, u := range uses {
		w := math.Pow(u.agent, usesPower) + worldUse*math.Pow(u.world, usesPower)
		for _, f := range []struct {
			is bool
			by float64
		}{{u.messages == 1, onlyOnce}, {u.agent == 0, neverByAgent}, {u.user, byUser}, {u.kept, keptAnyway}} {
			if f.is {
				w *= f.by
			}
		}
		if out[n] = w * cmp.Or(kinds[d.names.class[n]], 1); d.names.class[n] == wordClass {
			out[n] = wordWeight
		}
	}
	return out
}

// The weights of identifiers. The text changes little with any one of them.
const (
	halfLife     = .35 // of the conversation, in which the weight of a use falls by half
	minHalfLife  = 20. // messages
	usesPower    = .7  // uses count less the more there are
	worldUse     = .3  // a use that is not the agent's
	neverByAgent = .4
	onlyOnce     = .7 // it stands in a single message
	byUser       = 1.2
	asNumber     = .3 // a number, a hash, a UUID: seldom typed again
	asFlag       = .5
	keptAnyway   = .1
)

// place returns where an entry stands among the messages, or -1.
func (d *digest) place(entry string) int {
	if i, ok := d.index[entry]; ok {
		return i
	}
	return -1
}

// minRef is the least length of a recall handle, in bytes.
const minRef = 8

// refs shortens entry ids to handles: the first minRef bytes, or as many more as
// set the id apart from the others of the input. Ids made from the time share
// their beginning.
type refs map[string]string

func newRefs(items []session.Item) refs {
	var ids []string
	for _, it := range items {
		if it.Entry != nil && it.Entry.ID != "" {
			ids = append(ids, it.Entry.ID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	r := make(refs, len(ids))
	for i, id := range ids {
		n := minRef
		if i > 0 {
			n = max(n, shared(ids[i-1], id)+1)
		}
		if i+1 < len(ids) {
			n = max(n, shared(id, ids[i+1])+1)
		}
		r[id] = writableRef(id[:min(n, len(id))])
	}
	return r
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// of returns the handle of an id. One that is no entry of the input stays as it
// is: it comes from an earlier summary.
func (r refs) of(id string) string {
	if s, ok := r[id]; ok {
		return s
	}
	return writableRef(id)
}

// sameEntry reports whether two handles may name one entry.
func sameEntry(a, b string) bool {
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}
