package jsonl

import (
	"bytes"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// PurgeMarker stands where something was purged.
const PurgeMarker = "[purged]"

var quotedMarker = jsonx.Quote(PurgeMarker)

// eachString calls fn for every string value in raw with the names above it, from
// the outermost in; in an array the name is "[]". Where fn returns true, its string
// takes the value's place. Names are given too, as values of themselves, with
// isName. All other bytes stay.
func eachString(raw []byte, fn func(path []string, s string, isName bool) (string, bool)) []byte {
	var out []byte
	var path []string
	from := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '{':
			path = append(path, "")
		case '[':
			path = append(path, "[]")
		case '}', ']':
			path = path[:max(len(path)-1, 0)]
		case '"':
			end, err := jsonx.Scan(raw, i)
			if err != nil {
				return raw
			}
			s, _ := jsonx.String(raw[i:end:end])
			next := jsonx.Space(raw, end)
			isName := next < len(raw) && raw[next] == ':'
			if isName && len(path) > 0 {
				path[len(path)-1] = s
			}
			if now, ok := fn(path, s, isName); ok {
				out = append(out, raw[from:i]...)
				out = jsonx.AppendQuote(out, now)
				from = end
			}
			i = end
			continue
		}
		i++
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// structural are the members that hold the session together, by where they stand:
// ids, types, roles, and what requests can't do without.
var structural = map[string]bool{
	"type": true, "id": true, "parentId": true, "timestamp": true, "targetId": true, "fromId": true,
	"firstKeptEntryId": true, "customType": true, "provider": true, "modelId": true, "model": true,
	"thinkingLevel": true, "version": true, "kind": true,
	"message.role": true, "message.toolCallId": true, "message.toolName": true, "message.provider": true,
	"message.model": true, "message.api": true, "message.stopReason": true, "message.customType": true,
	"message.fromId": true, "message.content.[].type": true, "message.content.[].id": true,
	"message.content.[].name": true, "message.content.[].mimeType": true,
	"content.[].type": true, "content.[].mimeType": true,
	"replacement.content.[].type": true, "replacement.content.[].id": true, "replacement.content.[].name": true,
	"replacement.content.[].mimeType": true, "systemMessage.role": true,
	"details.clew.rung": true, "details.clew.of": true, "details.clew.summarizer": true, "details.clew.pins.[]": true,
	"details.clew.form.role": true, "details.clew.form.open": true, "details.clew.form.close": true,
	"data.id": true, "data.from": true, "data.pass": true, "data.reason": true,
}

func isStructural(path []string) bool {
	return structural[strings.Join(path, ".")] || slices.Contains(path, "toolsAdded") || slices.Contains(path, "toolsRemoved")
}

// freeName reports whether the name of a member was made up by a model or a program,
// so that nothing breaks when it changes.
func freeName(path []string) bool {
	above := path[:max(len(path)-1, 0)]
	return !slices.Contains(above, "clew") &&
		(slices.Contains(above, "arguments") || slices.Contains(above, "details") || slices.Contains(above, "data"))
}

// textsOf returns what of a record would be purged: every string that is not
// structural.
func textsOf(raw []byte) (texts []string) {
	eachString(raw, func(path []string, s string, isName bool) (string, bool) {
		image := len(path) > 1 && path[len(path)-1] == "data" && path[len(path)-2] == "[]"
		if !isName && s != PurgeMarker && s != "" && !image && !isStructural(path) {
			texts = append(texts, s)
		}
		return "", false
	})
	return texts
}

// purgeRecord returns a record without its content. It keeps its place in the tree,
// its type, and what pairs calls with results. ok is false for entries that have no
// content to purge.
func purgeRecord(raw []byte, typ session.Type) (purged []byte, ok bool) {
	body := func(name string, purge func([]byte) []byte) {
		if val := jsonx.Get(raw, name); val != nil {
			raw = jsonx.Set(raw, name, purge(val))
		}
	}
	switch typ {
	case session.TypeMessage:
		body("message", purgeMessage)
	case session.TypeCustomMessage:
		body("content", purgeContent)
		body("details", purgeDetails)
	case session.TypeContextEdit:
		body("replacement", func(val []byte) []byte {
			if content := jsonx.Get(val, "content"); content != nil {
				return jsonx.Set(val, "content", purgeContent(content))
			}
			return val
		})
		body("details", purgeDetails)
	case session.TypeCompaction, session.TypeBranchSummary:
		body("summary", purgeAll)
		body("details", purgeDetails)
	case session.TypeLabel:
		body("label", purgeAll)
	case session.TypeSessionInfo:
		body("name", purgeAll)
	case session.TypeCustom:
		if custom, _ := jsonx.String(jsonx.Get(raw, "customType")); strings.HasPrefix(custom, "clew.") {
			return nil, false
		}
		body("data", purgeAll)
	case session.TypeModelChange, session.TypeThinkingLevel, session.TypeUsage:
		return nil, false
	default:
		raw = eachString(raw, func(path []string, _ string, isName bool) (string, bool) {
			return PurgeMarker, !isName && !isStructural(path)
		})
	}
	return raw, true
}

// purgeAll puts the marker in the place of every string in a value.
func purgeAll(val []byte) []byte {
	return eachString(val, func(_ []string, _ string, isName bool) (string, bool) { return PurgeMarker, !isName })
}

// purgeDetails keeps of details what says how clew shows the entry.
func purgeDetails(val []byte) []byte {
	clew := jsonx.Get(val, "clew")
	if clew == nil {
		return []byte("{}")
	}
	var kept, out jsonx.Object
	jsonx.Members(clew, func(key, v []byte) bool {
		switch string(key) {
		case "v", "rung", "freed", "of", "summarizer", "coverage", "pins", "form":
			kept.Raw(string(key), v)
		}
		return true
	})
	out.Raw("clew", kept.Bytes())
	return out.Bytes()
}

// purgeMessage keeps of a message what requests need beside its content.
func purgeMessage(val []byte) []byte {
	if !jsonx.IsObject(val) {
		return quotedMarker
	}
	var out jsonx.Object
	jsonx.Members(val, func(key, v []byte) bool {
		switch name := string(key); name {
		case "role", "toolCallId", "toolName", "provider", "model", "api", "stopReason", "usage", "timestamp",
			"customType", "fromId", "toolsAdded", "toolsRemoved":
			out.Raw(name, v)
		case "content":
			out.Raw(name, purgeContent(v))
		case "details":
			out.Raw(name, purgeDetails(v))
		default:
			out.Raw(name, purgeAll(v))
		}
		return true
	})
	return out.Bytes()
}

// purgeContent keeps the calls of a content, without their arguments. Reasoning is
// left out: it is signed, or of no use without the rest.
func purgeContent(val []byte) []byte {
	if !jsonx.IsArray(val) {
		return quotedMarker
	}
	var blocks []message.Block
	jsonx.Elements(val, func(raw []byte) bool {
		typ, _ := jsonx.String(jsonx.Get(raw, "type"))
		switch message.BlockType(typ) {
		case message.BlockToolCall:
			id, _ := jsonx.String(jsonx.Get(raw, "id"))
			name, _ := jsonx.String(jsonx.Get(raw, "name"))
			blocks = append(blocks, message.ToolCallBlock(id, name, []byte(`{"purged":true}`)))
		case message.BlockThinking:
		default:
			blocks = append(blocks, message.TextBlock(PurgeMarker))
		}
		return true
	})
	if len(blocks) == 0 {
		blocks = append(blocks, message.TextBlock(PurgeMarker))
	}
	return message.EncodeBlocks(blocks)
}

// contentOf returns the content of a message as it stands in the record, or nil.
// Two records with the same content are copies of each other, as undo makes them.
func contentOf(raw []byte, typ session.Type) []byte {
	switch typ {
	case session.TypeMessage:
		msg := jsonx.Get(raw, "message")
		if c := jsonx.Get(msg, "content"); c != nil {
			return c
		}
		return jsonx.Get(msg, "output")
	case session.TypeCustomMessage:
		return jsonx.Get(raw, "content")
	default:
		return nil
	}
}

// madeOf returns the entry that a record was made of: the target of an edit, what an
// excerpt stands for. "" when there is none.
func madeOf(raw []byte, typ session.Type) string {
	val := []byte(nil)
	switch typ {
	case session.TypeContextEdit:
		val = jsonx.Get(raw, "targetId")
	case session.TypeCustomMessage:
		val = jsonx.Get(jsonx.Get(jsonx.Get(raw, "details"), "clew"), "of")
	default:
	}
	id, _ := jsonx.String(val)
	return id
}

// derived reports whether a record was made from others, so that it may quote them.
func derived(raw []byte, typ session.Type) bool {
	switch typ {
	case session.TypeCompaction, session.TypeBranchSummary, session.TypeContextEdit, session.TypeSessionInfo, session.TypeLabel:
		return true
	case session.TypeCustomMessage, session.TypeCustom:
		return bytes.Contains(raw, []byte(`"clew.`))
	case session.TypeMessage:
		role, _ := jsonx.String(jsonx.Get(jsonx.Get(raw, "message"), "role"))
		return role == string(message.RoleCompactionSummary) || role == string(message.RoleBranchSummary)
	default:
		return false
	}
}
