package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// Range is a range of bytes: From inclusive, To exclusive.
type Range struct{ From, To int }

// Of returns the bytes of the range.
func (r Range) Of(b []byte) []byte { return b[r.From:r.To] }

// Len returns the number of bytes.
func (r Range) Len() int { return r.To - r.From }

// Node is the smallest piece of a list that a client adds or leaves out: a content block
// of a message, a call or result, or an item.
type Node struct {
	Range
	Kind PartKind // PartText, PartImage, PartThinking, PartCall, PartResult or PartOpaque
	Item int      // index into Inbound.Items
	// ID pairs a call with its result; empty where the API pairs by position. Name is the
	// tool's, where it is said. Both are as they stand in the body, without quotes.
	ID, Name string
	// Content is the value that a result carries, or the text of a text node.
	Content Range
	// Digest identifies the node: SHA-256 over kind and bytes, for the first node of an
	// item over its role and other members too. It leaves out what clients change without
	// meaning anything by it: cache marks, and the ids and status of Responses items.
	Digest Digest
}

// Item is one element of a list: a message, or an item of the Responses API.
type Item struct {
	Range
	Turn  TurnKind // TurnSystem, TurnUser, TurnAssistant or TurnResults; empty for what is nobody's turn
	First int      // the item's nodes are Inbound.Nodes[First:Last], siblings in one array but for Chat Completions
	Last  int
}

// Inbound is a request body that a client made, read without changing a byte. Its
// strings and ranges point into Body.
type Inbound struct {
	Body    []byte
	Profile Profile

	Model     string
	Stream    bool
	MaxOutput int64 // the greatest length of the answer in tokens that is asked for; 0 when the body does not say
	Thinking  bool  // reasoning with signed blocks is switched on
	// Held says that the server holds a part of the conversation, so that the list is not
	// all of it. Edits says that the client asks the server to shorten the context; to leave
	// out old thinking, which Claude Code always asks for, is no more than servers do anyway.
	// Compacted says that the list has a summary which a server has made.
	Held, Edits, Compacted bool

	List  Range // the list with its brackets
	Items []Item
	Nodes []Node
	// Env identifies system text, tools and model, which stand before the list in a prompt cache.
	Env Digest

	hash    hash.Hash
	buf     []byte   // what goes to the hash, and its sum: nothing is put on the heap for it
	members []member // of the objects that are being read
}

// inbounds are used again for the next bodies.
var inbounds = sync.Pool{New: func() any { return &Inbound{hash: sha256.New(), buf: make([]byte, 0, 64)} }}

// maxPooled is the number of nodes up to which the memory is kept for the next body.
const maxPooled = 1 << 16

// member is one member of an object: its name, where that is one that is told apart, the
// decoded key, and the range of the value.
type member struct {
	name string
	key  []byte
	Range
}

// ErrInbound is wrapped by the errors of Parse.
var ErrInbound = errors.New("not a request that can be read")

func inboundError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInbound, fmt.Sprintf(format, args...))
}

// Parse reads a request body of the Messages API, Chat Completions, the Responses API or
// generateContent. An error says why the body can't be understood; pass such a body on as
// it is. Members with the same name, which servers read differently, are an error where
// they matter here.
func Parse(p Profile, body []byte) (*Inbound, error) {
	in := inbounds.Get().(*Inbound)
	*in = Inbound{Body: body, Profile: p, Items: in.Items[:0], Nodes: in.Nodes[:0], hash: in.hash, buf: in.buf, members: in.members[:0]}
	if err := in.parse(); err != nil {
		in.Release()
		return nil, err
	}
	return in, nil
}

// Release gives the memory back, so that the next body costs no allocation. Nothing of in may
// be used from then on. Without it the garbage collector does the same.
func (in *Inbound) Release() {
	if in == nil || cap(in.Nodes) > maxPooled || cap(in.members) > maxPooled {
		return
	}
	clear(in.Nodes) // they point into the body
	clear(in.members[:cap(in.members)])
	in.Body = nil
	inbounds.Put(in)
}

func (in *Inbound) parse() error {
	p, start := in.Profile, jsonx.Space(in.Body, 0)
	if start == len(in.Body) || in.Body[start] != '{' {
		return inboundError("the body is no JSON object")
	}
	var system, tools Range
	seen := 0
	once := func(bit int, key string) error {
		if seen&bit != 0 {
			return inboundError("two members named %q", key)
		}
		seen |= bit
		return nil
	}
	end, err := jsonx.ScanObject(in.Body, start, func(key []byte, at int) (int, error) {
		switch {
		case string(key) == p.MessagesField:
			if err := once(1, p.MessagesField); err != nil {
				return at, err
			}
			return in.list(at)
		case p.SystemField != "" && string(key) == p.SystemField, string(key) == "system_instruction" && p.form == formGemini:
			if err := once(2, p.SystemField); err != nil {
				return at, err
			}
			end, err := jsonx.Scan(in.Body, at)
			system = Range{at, end}
			return end, err
		case string(key) == p.ToolsField:
			if err := once(4, p.ToolsField); err != nil {
				return at, err
			}
			end, err := jsonx.Scan(in.Body, at)
			tools = Range{at, end}
			return end, err
		}
		end, err := jsonx.Scan(in.Body, at)
		if err == nil {
			in.setting(string(key), in.Body[at:end])
		}
		return end, err
	})
	switch {
	case err != nil && errors.Is(err, ErrInbound):
		return err
	case err != nil:
		return inboundError("%v", err)
	case jsonx.Space(in.Body, end) != len(in.Body):
		return inboundError("something follows the JSON object")
	case seen&1 == 0:
		return inboundError("it has no member %q", p.MessagesField)
	}
	in.hash.Reset()
	in.writeMarked(system.Of(in.Body))
	in.write("\x00")
	in.writeMarked(tools.Of(in.Body))
	in.write("\x00")
	in.write(in.Model)
	in.write("\x00")
	in.Env = in.sum()
	return nil
}

// at returns the byte at an index, 0 at the end.
func (in *Inbound) at(i int) byte {
	if i < len(in.Body) {
		return in.Body[i]
	}
	return 0
}

// write hashes a short string.
func (in *Inbound) write(s string) {
	in.buf = append(in.buf[:0], s...)
	in.hash.Write(in.buf)
}

// sum returns what was hashed since the last reset.
func (in *Inbound) sum() Digest {
	in.buf = in.hash.Sum(in.buf[:0])
	return Digest(in.buf)
}

// setting reads a member of the body beside list, system text and tools.
func (in *Inbound) setting(key string, val []byte) {
	switch key {
	case "model":
		in.Model, _ = jsonx.String(val)
	case "stream":
		in.Stream = jsonx.Bool(val)
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		in.MaxOutput, _ = jsonx.Int(val)
	case "generationConfig", "generation_config":
		in.MaxOutput = max(jsonx.CountAt(val, "maxOutputTokens"), jsonx.CountAt(val, "max_output_tokens"))
	case "thinking":
		switch jsonx.StringAt(val, "type") {
		case "enabled", "adaptive":
			in.Thinking = true
		}
	case "previous_response_id", "conversation", "thread", "container", "cachedContent", "cached_content":
		in.Held = in.Held || !jsonx.IsNull(val) && key != "container"
	case "context_management":
		jsonx.Elements(jsonx.Get(val, "edits"), func(e []byte) bool {
			in.Edits = in.Edits || !strings.HasPrefix(jsonx.StringAt(e, "type"), "clear_thinking_")
			return true
		})
		in.Edits = in.Edits || jsonx.IsArray(val) // the Responses API has a list
	}
}

func (in *Inbound) list(at int) (int, error) {
	if in.at(at) != '[' {
		end, err := jsonx.Scan(in.Body, at) // the Responses API takes a string
		in.List = Range{end, end}
		return end, err
	}
	in.List.From = at
	end, err := jsonx.ScanArray(in.Body, at, in.item)
	in.List = Range{at, end}
	return end, err
}

// object reads the members of the object at an index into in.members. It leaves the
// members named by nested to that function.
func (in *Inbound) object(at int, nested func(key string, at int) (end int, handled bool, err error)) (int, error) {
	from := len(in.members)
	return jsonx.ScanObject(in.Body, at, func(key []byte, val int) (end int, err error) {
		name := keyName(key)
		for _, m := range in.members[from:] {
			if m.name == name && name != "" {
				return val, inboundError("two members named %q in one object", key)
			}
		}
		handled := false
		if nested != nil {
			if end, handled, err = nested(name, val); err != nil {
				return end, err
			}
		}
		if !handled {
			if end, err = jsonx.ScanAt(in.Body, val, 8); err != nil {
				return end, err
			}
		}
		in.members = append(in.members, member{name, key, Range{val, end}})
		return end, nil
	})
}

// keyNames are the members that are told apart; others have the name "" and take part in
// digests with their bytes.
var keyNames = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"role", "content", "type", "text", "parts", "tool_calls", "tool_call_id", "id", "call_id", "status", "name", "output",
		"cache_control", "prompt_cache_breakpoint", "internal_chat_message_metadata_passthrough", "tool_use_id", "functionCall", "functionResponse",
		"function_call", "function_response", "inlineData", "inline_data", "fileData", "file_data", "thought", "response", "phase",
	} {
		m[name] = name
	}
	return m
}()

func keyName(key []byte) string { return keyNames[string(key)] }

// item reads one element of the list.
func (in *Inbound) item(at int) (int, error) {
	if in.at(at) != '{' {
		return at, inboundError("an element of %s is no object", in.Profile.MessagesField)
	}
	n, first, base := len(in.Items), len(in.Nodes), len(in.members)
	defer func() { in.members = in.members[:base] }()
	in.Items = append(in.Items, Item{First: first})
	end, err := in.object(at, func(key string, val int) (int, bool, error) {
		if in.at(val) != '[' || !in.blocksIn(key) {
			return 0, false, nil
		}
		mark := len(in.members)
		end, err := jsonx.ScanArray(in.Body, val, func(at int) (int, error) {
			if in.at(at) != '{' {
				return at, inboundError("a content block is no object")
			}
			end, err := in.object(at, nil)
			if err == nil {
				in.block(n, Range{at, end}, in.members[mark:], key == "tool_calls")
			}
			in.members = in.members[:mark]
			return end, err
		})
		return end, true, err
	})
	if err != nil {
		return end, err
	}
	in.finish(n, Range{at, end}, in.members[base:])
	return end, nil
}

// blocksIn reports whether a member of an item is an array of blocks.
func (in *Inbound) blocksIn(key string) bool {
	switch in.Profile.form {
	case formGemini:
		return key == "parts"
	case formChat:
		return key == "content" || key == "tool_calls"
	default:
		return key == "content"
	}
}

func (in *Inbound) value(ms []member, key string) Range {
	for _, m := range ms {
		if m.name == key {
			return m.Range
		}
	}
	return Range{}
}

func (in *Inbound) text(ms []member, key string) string {
	s, _ := jsonx.String(in.value(ms, key).Of(in.Body))
	return s
}

// block adds the node of a content block, a part or a tool call.
func (in *Inbound) block(item int, at Range, ms []member, call bool) {
	n := Node{Range: at, Item: item, Kind: PartOpaque}
	typ := in.text(ms, "type")
	switch {
	case call:
		n.Kind, n.ID = PartCall, in.text(ms, "id")
	case in.Profile.form == formGemini:
		in.geminiBlock(&n, ms)
	default:
		switch typ {
		case "text", "input_text", "output_text":
			n.Kind, n.Content = PartText, in.value(ms, "text")
		case "image", "image_url", "input_image":
			n.Kind = PartImage
		case "thinking", "redacted_thinking":
			n.Kind = PartThinking
		case "compaction":
			in.Compacted = true
		case "tool_use":
			n.Kind, n.ID, n.Name = PartCall, in.text(ms, "id"), in.text(ms, "name")
		case "tool_result": // calls of the server's own tools stand in one message with their results
			n.Kind, n.ID, n.Content = PartResult, in.text(ms, "tool_use_id"), in.value(ms, "content")
		}
	}
	in.digest(&n, ms)
	in.Nodes = append(in.Nodes, n)
}

func (in *Inbound) geminiBlock(n *Node, ms []member) {
	for _, m := range ms {
		switch m.name {
		case "text":
			n.Content = m.Range
			if n.Kind == PartOpaque {
				n.Kind = PartText
			}
		case "thought":
			if jsonx.Bool(m.Of(in.Body)) {
				n.Kind = PartThinking
			}
		case "functionCall", "function_call":
			n.Kind = PartCall
			n.ID, n.Name = jsonx.StringAt(m.Of(in.Body), "id"), jsonx.StringAt(m.Of(in.Body), "name")
		case "functionResponse", "function_response":
			n.Kind, n.Content = PartResult, m.Range
			n.ID, n.Name = jsonx.StringAt(m.Of(in.Body), "id"), jsonx.StringAt(m.Of(in.Body), "name")
		case "inlineData", "inline_data", "fileData", "file_data":
			n.Kind = PartImage
		}
	}
}

// finish settles what an item is once all of it was read.
func (in *Inbound) finish(i int, at Range, ms []member) {
	it := &in.Items[i]
	it.Range, it.Last = at, len(in.Nodes)
	role, typ := in.text(ms, "role"), in.text(ms, "type")
	it.Turn = roles[in.Profile.form][role]
	whole := Node{Range: at, Item: i, Kind: PartOpaque}
	content := in.value(ms, "content")
	switch {
	case in.Profile.form == formResponses && typ != "" && typ != "message":
		whole.ID, whole.Name = in.text(ms, "call_id"), in.text(ms, "name")
		switch {
		case typ == "reasoning":
			whole.Kind, it.Turn = PartThinking, TurnAssistant
		case typ == "item_reference":
			in.Held = true
		case typ == "compaction", typ == "compaction_trigger":
			in.Compacted = true
		case whole.ID != "" && (in.value(ms, "output") != Range{} || strings.HasSuffix(typ, "_output")):
			whole.Kind, it.Turn, whole.Content = PartResult, TurnResults, in.value(ms, "output")
		case whole.ID != "":
			whole.Kind, it.Turn = PartCall, TurnAssistant
		}
		in.Nodes = in.Nodes[:it.First] // blocks of items that are no messages are no nodes
		it.Last = it.First
	case in.Profile.form == formChat && it.Turn == TurnResults:
		whole.Kind, whole.ID, whole.Content = PartResult, in.text(ms, "tool_call_id"), content
		in.Nodes = in.Nodes[:it.First]
		it.Last = it.First
	case jsonx.IsString(content.Of(in.Body)) && content.Len() > 2:
		n := Node{Range: content, Item: i, Kind: PartText, Content: content}
		in.digest(&n, nil)
		// A string is what a block of text is, and stands before calls.
		in.Nodes = append(in.Nodes, Node{})
		copy(in.Nodes[it.First+1:], in.Nodes[it.First:])
		in.Nodes[it.First] = n
		it.Last = len(in.Nodes)
	}
	if it.Last == it.First {
		in.digest(&whole, ms)
		in.Nodes = append(in.Nodes, whole)
		it.Last = len(in.Nodes)
	}
	if it.Turn == TurnUser && in.Nodes[it.First].Kind == PartResult {
		it.Turn = TurnResults
	}
	// The item's own members count with its first node.
	first := &in.Nodes[it.First]
	in.hash.Reset()
	in.buf = append(in.buf[:0], first.Digest[:]...)
	in.hash.Write(in.buf)
	in.write(role)
	for _, m := range ms {
		switch m.name {
		case "role", "content", "parts", "tool_calls":
		default:
			in.hashMember(m)
		}
	}
	first.Digest = in.sum()
}

// digest hashes kind and members of a node. The text of a block of text is hashed like a
// content string, which is the same thing in short.
func (in *Inbound) digest(n *Node, ms []member) {
	in.hash.Reset()
	in.write(string(n.Kind))
	if n.Kind == PartText {
		in.hash.Write(n.Content.Of(in.Body))
	}
	for _, m := range ms {
		if n.Kind == PartText && (m.name == "type" || m.name == "text") {
			continue
		}
		in.hashMember(m)
	}
	n.Digest = in.sum()
}

// hashMember hashes a member with its name, but for what means nothing.
func (in *Inbound) hashMember(m member) {
	switch m.name {
	case "cache_control", "prompt_cache_breakpoint", "internal_chat_message_metadata_passthrough":
		return
	case "id", "status":
		if in.Profile.form == formResponses {
			return
		}
	}
	in.hash.Write(m.key)
	in.write("\x00")
	in.writeMarked(m.Of(in.Body))
	in.write("\x00")
}

var cacheControl = []byte(`"cache_control"`)

// writeMarked hashes a value without the cache marks on the blocks in it.
func (in *Inbound) writeMarked(val []byte) {
	if len(val) > 0 && val[0] == '[' && bytes.Contains(val, cacheControl) {
		done, end := 0, 0 // what was hashed, and the end of the member before
		_, _ = jsonx.ScanArray(val, 0, func(at int) (int, error) {
			if val[at] != '{' {
				return jsonx.Scan(val, at)
			}
			end = at + 1
			return jsonx.ScanObject(val, at, func(key []byte, v int) (int, error) {
				before := end
				end, _ = jsonx.Scan(val, v)
				if string(key) == "cache_control" { // goes with the comma before it, or behind it
					in.hash.Write(val[done:before])
					if done = end; before == at+1 && end < len(val) && val[end] == ',' {
						done = jsonx.Space(val, end+1)
					}
				}
				return end, nil
			})
		})
		val = val[done:]
	}
	in.hash.Write(val)
}

// String returns the digest in 64 hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the digest as String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(d[:], text[:min(len(text), 2*len(d))]); err != nil || n != len(d) || len(text) != 2*len(d) {
		return errors.New("a digest has 64 hex digits")
	}
	return nil
}
