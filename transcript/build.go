package transcript

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// node is an entry in the making.
type node struct {
	parent *node
	place  int // among the nodes: a parent stands before its children
	id     string
	key    string // what the id is made of; unique in the source where it has ids
	at     time.Time
	line   int

	msg     *message.Message
	draft   func() session.Draft // for what is no message
	raw     *session.Entry       // read as it stands: pi's own
	copyOf  *node
	rewrite *Rewrite

	answer *node // of a result: the answer with its call
	last   *node // of an answer: the end of the results that hang behind it
	kids   int
}

// atTime returns the time of a node that may be nil.
func (n *node) atTime() time.Time {
	if n == nil {
		return time.Time{}
	}
	return n.at
}

// builder collects nodes and makes entries of them. Nodes are built as messages
// while reading, for one answer may be spread over many lines.
type builder struct {
	t       *Transcript
	opt     ReadOptions
	nodes   []*node
	tip     *node             // the end of the path that is being read
	names   map[string]string // of tools, by call id
	callIDs map[string]string // as they are stored, by what the source calls them
	used    map[string]bool
	name    string // of the session
}

func newBuilder(t *Transcript, opt ReadOptions) *builder {
	return &builder{t: t, opt: opt, names: map[string]string{}, callIDs: map[string]string{}, used: map[string]bool{}}
}

func (b *builder) note(c Class, kind string, line int, example, what string) {
	b.t.Report.add(c, kind, line, example, what)
}

// add puts a node behind parent, which is nil for a root.
func (b *builder) add(parent *node, n *node) *node {
	n.parent, n.place = parent, len(b.nodes)
	if parent != nil {
		parent.kids++
	}
	b.nodes = append(b.nodes, n)
	b.tip = n
	return n
}

// say adds a message at the tip.
func (b *builder) say(m *message.Message, at time.Time, line int, key string) *node {
	if !at.IsZero() {
		m.Timestamp = at.UnixMilli()
	}
	b.nameCalls(m.Content)
	return b.add(b.tip, &node{msg: m, at: at, line: line, key: key})
}

// nameCalls remembers the tools of the calls among blocks and reports whether there
// are any.
func (b *builder) nameCalls(blocks []message.Block) (calls bool) {
	for i := range blocks {
		if c := &blocks[i]; c.Type == message.BlockToolCall {
			b.names[c.ID], calls = c.Name, true
		}
	}
	return calls
}

func (b *builder) user(origin message.Origin, blocks []message.Block, at time.Time, line int, key string) *node {
	m := &message.Message{Role: message.RoleUser, Content: blocks}
	if origin != message.OriginUser {
		m.Origin = origin
	}
	return b.say(m, at, line, key)
}

// words adds what stands in a user message, apart by who said it: one message may
// hold the user's words and a reminder.
func (b *builder) words(blocks []message.Block, whose func(message.Block) message.Origin, at time.Time, line int, key string) {
	for from, part := 0, 0; from < len(blocks); part++ {
		origin, to := whose(blocks[from]), from+1
		for to < len(blocks) && whose(blocks[to]) == origin {
			to++
		}
		id := key
		if key != "" {
			id += sub(part)
		}
		b.user(origin, blocks[from:to:to], at, line, id)
		from = to
	}
}

func (b *builder) userText(origin message.Origin, text string, at time.Time, line int, key string) *node {
	return b.user(origin, []message.Block{message.TextBlock(text)}, at, line, key)
}

// textOf returns what blocks say.
func textOf(blocks []message.Block) string {
	return (&message.Message{Role: message.RoleUser, Content: blocks}).Text()
}

func (b *builder) system(text string, at time.Time, line int, key string) {
	b.say(&message.Message{Role: message.RoleSystem, Content: []message.Block{message.TextBlock(text)}}, at, line, key)
}

// result adds the result of a call. The tool's name is that of the call.
func (b *builder) result(callID, name string, blocks []message.Block, isError bool, at time.Time, line int, key string) *node {
	if known := b.names[callID]; known != "" {
		name = known
	} else {
		b.note(Aside, "no-call", line, callID, "results whose call is not in the file; they are kept and never sent")
	}
	if name == "" {
		name = "unknown"
	}
	if blocks == nil {
		blocks = []message.Block{message.TextBlock("")}
	}
	m := &message.Message{Role: message.RoleToolResult, ToolCallID: callID, ToolName: name, Content: blocks, IsError: isError}
	return b.say(m, at, line, key)
}

// encrypted stands for a summary that only the model's maker can read.
const encrypted = "[The conversation before this point was compacted. The summary is encrypted and can't be shown here.]"

// compaction adds a recorded compaction that keeps what follows first, which is
// nil when nothing before it is kept. The summary stands in the context as the
// other program put it: without words of ours around it.
func (b *builder) compaction(rw Rewrite, first *node, details []byte, at time.Time, key string) *node {
	sys := b.systemBefore(b.tip)
	return b.add(b.tip, &node{
		at: at, line: rw.Line, key: key, rewrite: &rw,
		draft: func() session.Draft {
			var clew, all jsonx.Object
			if len(details) > len("{}") {
				all.Raw("source", details)
			}
			// What Write has put around a summary of clew's own comes off again.
			def := wire.SummaryForm(&message.Message{Role: message.RoleCompactionSummary})
			if text, ok := def.Unwrap(rw.Summary); ok {
				rw.Summary = text
			} else {
				clew.Int("v", 1)
				clew.Raw("form", wire.Form{Role: message.RoleUser}.JSON())
				all.Raw("clew", clew.Bytes())
			}
			text := rw.Summary
			if text == "" && rw.Encrypted {
				text = encrypted
			}
			c := session.Compaction{Summary: text, TokensBefore: rw.TokensBefore, SystemMessage: sys}
			if extra := all.Bytes(); len(extra) > len("{}") {
				c.Details = extra
			}
			if first != nil {
				c.FirstKeptEntryID = first.id
			}
			return session.NewCompaction(c)
		},
	})
}

// systemBefore returns the system text in force at a node, which a compaction
// stores: the messages at the start of the path.
func (b *builder) systemBefore(n *node) *message.Message {
	var first *message.Message
	for ; n != nil; n = n.parent {
		if n.msg != nil && n.msg.Role == message.RoleSystem {
			first = n.msg
		}
	}
	return first
}

// edit adds an edit that replaces the content of a node, or takes it out.
func (b *builder) edit(target *node, text string, omit bool, at time.Time, line int, key string) *node {
	return b.add(b.tip, &node{at: at, line: line, key: key, draft: func() session.Draft {
		e := session.ContextEdit{TargetID: target.id, Omit: omit}
		if !omit {
			e.Content = message.EncodeBlocks([]message.Block{message.TextBlock(text)})
		}
		return session.NewContextEdit(e)
	}})
}

// again adds a copy of a message at the tip. Its usage stays with the original: it
// is not what the context costs where the copy stands.
func (b *builder) again(of *node, at time.Time, line int, key string) *node {
	m := *of.msg
	m.Usage = nil
	return b.add(b.tip, &node{msg: &m, at: at, line: line, key: key, copyOf: of})
}

// identify gives every node its id.
func (b *builder) identify() {
	for i, n := range b.nodes {
		if n.id != "" {
			continue
		}
		key := n.key
		if key == "" {
			key = fmt.Sprintf("#%d", i)
		}
		for try := 0; ; try++ {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d", b.t.Format, b.t.Header.ID, key, try))
			n.id = hex.EncodeToString(sum[:8])
			if !b.used[n.id] {
				break
			}
		}
		b.used[n.id] = true
	}
}

// finish makes the entries.
func (b *builder) finish() error {
	said := false
	for _, n := range b.nodes {
		said = said || n.msg != nil && n.msg.Role != message.RoleSystem || n.raw != nil || n.rewrite != nil
	}
	if !said {
		return fmt.Errorf("%w: it looks like %s%s", ErrEmpty, b.t.Format, b.t.Report.seen())
	}
	b.nameIt()
	b.leaf()
	b.header()
	b.identify()
	ctx := context.Background()
	var id string
	var at time.Time
	log, err := session.NewLog(ctx, session.NewMemory(b.t.Header), session.Options{
		Clock: func() time.Time { return at },
		NewID: func() string { return id },
	})
	if err != nil {
		return err
	}
	last := b.t.Header.Timestamp
	place := func(e *session.Entry, n *node) {
		if n.rewrite != nil {
			n.rewrite.Index, n.rewrite.EntryID = len(b.t.Entries), e.ID
			b.t.Rewrites = append(b.t.Rewrites, *n.rewrite)
		}
		b.t.Entries = append(b.t.Entries, e)
		b.t.Lines = append(b.t.Lines, n.line)
	}
	for _, n := range b.nodes {
		if n.raw != nil {
			place(n.raw, n)
			continue
		}
		if id, at = n.id, n.at; at.IsZero() {
			at = last
		}
		last = at
		draft := session.Draft{}
		if n.msg != nil {
			draft = session.Message(n.msg)
		} else {
			draft = n.draft()
		}
		parent := ""
		if n.parent != nil {
			parent = n.parent.id
		}
		entries, err := log.Append(ctx, draft.Under(parent))
		if err != nil {
			return err
		}
		e := entries[0]
		if n.copyOf != nil {
			if e, err = session.ParseEntry(jsonx.Set(e.Raw(), "clew", object("copyOf", n.copyOf.id))); err != nil {
				return err
			}
		}
		place(e, n)
	}
	b.t.Report.sort()
	return nil
}

// header fills in what the source did not say.
func (b *builder) header() {
	h := &b.t.Header
	if h.Raw() != nil {
		return
	}
	h.Version = session.Version
	if h.Timestamp.IsZero() {
		for _, n := range b.nodes {
			if !n.at.IsZero() {
				h.Timestamp = n.at
				break
			}
		}
	}
	if h.Timestamp.IsZero() {
		if h.Timestamp = b.opt.Time; h.Timestamp.IsZero() {
			h.Timestamp = time.UnixMilli(0).UTC()
		}
	}
	if h.ID == "" {
		sum := sha256.New()
		for _, n := range b.nodes {
			if n.msg != nil {
				sum.Write(n.msg.JSON())
			}
		}
		h.ID = uuid(sum.Sum(nil))
	}
}

// nameIt puts the session's name at the end of the path.
func (b *builder) nameIt() {
	if b.name != "" && b.tip != nil {
		name := b.name
		b.add(b.tip, &node{key: "name", at: b.tip.at, line: b.tip.line, draft: func() session.Draft { return session.NewSessionInfo(name) }})
	}
}

// leaf says where the session stands, if that is not at its last entry.
func (b *builder) leaf() {
	if last := b.nodes[len(b.nodes)-1]; b.tip != nil && b.tip != last && b.tip.raw == nil {
		b.add(b.tip, &node{key: "leaf", line: last.line, draft: func() session.Draft {
			return session.NewCustom(session.CustomLeaf, json.RawMessage(`{"reason":"import"}`))
		}})
	}
}

// uuid makes an id of the form of a UUID, version 8, of a hash.
func uuid(sum []byte) string {
	b := [16]byte(sum[:16])
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
