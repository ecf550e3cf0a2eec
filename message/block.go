package message

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
)

// BlockType names a kind of content block.
type BlockType string

// The block types of the file format. A block of another type is kept, counted and passed on as it is.
const (
	BlockText     BlockType = "text"
	BlockThinking BlockType = "thinking"
	BlockToolCall BlockType = "toolCall"
	BlockImage    BlockType = "image"
)

var blockTypes = []BlockType{BlockText, BlockThinking, BlockToolCall, BlockImage}

// Block is one part of a message's content. Which fields have a meaning depends on Type.
type Block struct {
	Type BlockType

	Text      string // text, thinking
	Signature string // text, thinking, toolCall: what the provider wants back unchanged
	Redacted  bool   // thinking: the text is withheld, the signature holds it encrypted

	ID        string          // toolCall
	Name      string          // toolCall
	Arguments json.RawMessage // toolCall: an object; nil when absent

	MIMEType string // image
	Data     string // image: base64

	raw  json.RawMessage
	text json.RawMessage // in raw: the spelling of Text, or of Data in an image, if it is sound
}

// Raw returns the bytes the block was parsed from, or nil for a block that was built.
func (b *Block) Raw() json.RawMessage { return b.raw }

// RawText returns the JSON string that Text was parsed from, in an image that of Data. It is
// nil for a block that was built or has none, and where the string holds what can't be sent:
// bytes that are not UTF-8, or half of a surrogate pair.
func (b *Block) RawText() json.RawMessage { return b.text }

// Blank reports whether Text is nothing but white space.
func (b *Block) Blank() bool {
	// What was stored is what is sent, so it is looked at first: Text lies elsewhere in memory.
	if len(b.text) > 2 && b.text[1] > ' ' && b.text[1] < utf8.RuneSelf && b.text[1] != '\\' {
		return false
	}
	return strings.TrimSpace(b.Text) == ""
}

// TextBlock returns a block of text.
func TextBlock(text string) Block { return Block{Type: BlockText, Text: text} }

// ThinkingBlock returns a block of reasoning with the signature its provider gave it.
func ThinkingBlock(text, signature string) Block {
	return Block{Type: BlockThinking, Text: text, Signature: signature}
}

// ToolCallBlock returns a call. Arguments must be a JSON object.
func ToolCallBlock(id, name string, arguments json.RawMessage) Block {
	return Block{Type: BlockToolCall, ID: id, Name: name, Arguments: arguments}
}

// ImageBlock returns an image; data is base64.
func ImageBlock(mimeType, data string) Block {
	return Block{Type: BlockImage, MIMEType: mimeType, Data: data}
}

// ParseContent reads the content of a message: a string is one text block, what is no array is no content.
func ParseContent(content []byte) []Block {
	if _, err := jsonx.Scan(content, 0); err != nil {
		return nil
	}
	return parseContent(content[jsonx.Space(content, 0):])
}

func parseContent(content []byte) []Block {
	if jsonx.IsString(content) {
		return []Block{{Type: BlockText, Text: str(content)}}
	}
	if !jsonx.IsArray(content) {
		return nil
	}
	blocks, _, err := scanBlocks(content, 0, 0)
	if err != nil {
		return nil
	}
	return blocks
}

// scanBlocks reads the array of blocks that starts at data[i], depth levels deep, and returns the index just past it.
func scanBlocks(data []byte, i, depth int) (blocks []Block, end int, err error) {
	end, err = jsonx.ScanArray(data, i, func(at int) (int, error) {
		b, end, err := scanBlock(data, at, depth+1)
		if err == nil {
			blocks = append(blocks, b)
		}
		return end, err
	})
	return blocks, end, err
}

func scanBlock(data []byte, i, depth int) (b Block, end int, err error) {
	if i >= len(data) || data[i] != '{' {
		end, err = jsonx.ScanAt(data, i, depth)
		if err == nil {
			b.raw = data[i:end:end]
		}
		return b, end, err
	}
	var text, thinking, image []byte
	end, err = jsonx.ScanObject(data, i, func(key []byte, at int) (int, error) {
		end, err := jsonx.ScanAt(data, at, depth+1)
		if err != nil {
			return end, err
		}
		val := data[at:end:end]
		switch string(key) {
		case "type":
			b.Type = shared(blockTypes, str(val))
		case "text":
			text = val
		case "thinking":
			thinking = val
		case "textSignature", "thinkingSignature", "thoughtSignature":
			b.Signature = str(val)
		case "redacted":
			b.Redacted = jsonx.Bool(val)
		case "id":
			b.ID = str(val)
		case "name":
			b.Name = str(val)
		case "arguments":
			b.Arguments = jsonx.NotNull(val)
		case "mimeType":
			b.MIMEType = str(val)
		case "data":
			image = val
		}
		return end, nil
	})
	if err != nil {
		return b, end, err
	}
	b.raw = data[i:end:end]
	b.Data = str(image)
	if b.Type == BlockThinking {
		text = thinking
	}
	b.Text = str(text)
	decoded := b.Text
	if b.Type == BlockImage {
		text, decoded = image, b.Data
	}
	if jsonx.IsString(text) && sound(decoded, text) {
		b.text = text
	}
	return b, end, nil
}

// sound is jsonx.Sound for a string that was decoded: where it holds no U+FFFD, its escapes are.
func sound(decoded string, raw []byte) bool {
	return utf8.ValidString(decoded) && (!strings.Contains(decoded, "\uFFFD") || jsonx.Sound(raw))
}

// JSON returns the bytes the block was parsed from, or its encoding.
func (b *Block) JSON() json.RawMessage {
	if b.raw != nil {
		return b.raw
	}
	var o jsonx.Object
	o.Str("type", string(b.Type))
	switch b.Type {
	case BlockText:
		o.Str("text", b.Text)
		o.OptStr("textSignature", b.Signature)
	case BlockThinking:
		o.Str("thinking", b.Text)
		o.OptStr("thinkingSignature", b.Signature)
		if b.Redacted {
			o.Bool("redacted", true)
		}
	case BlockToolCall:
		o.Str("id", b.ID)
		o.Str("name", b.Name)
		args := b.Arguments
		if jsonx.IsNull(args) {
			args = json.RawMessage("{}")
		}
		o.Raw("arguments", args)
		o.OptStr("thoughtSignature", b.Signature)
	case BlockImage:
		o.Str("data", b.Data)
		o.Str("mimeType", b.MIMEType)
	}
	return o.Bytes()
}

// EncodeBlocks returns blocks as a JSON array; parsed blocks keep their bytes.
func EncodeBlocks(blocks []Block) json.RawMessage {
	all := make([][]byte, len(blocks))
	for i := range blocks {
		all[i] = blocks[i].JSON()
	}
	return jsonx.Array(all)
}

// subjects are the arguments that say most of what a call does, the best first.
var subjects = []string{"command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "id", "name", "description"}

// Subject returns what a call is about, as far as its arguments tell, and the name of that argument; "" for nothing.
func Subject(arguments json.RawMessage) (name, subject string) {
	for _, name := range subjects {
		if s := jsonx.StringAt(arguments, name); s != "" {
			return name, s
		}
	}
	return "", ""
}
