package jsonl

import (
	"bytes"
	"cmp"
	"index/suffixarray"
	"iter"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// PurgeMarker stands where something was purged.
const PurgeMarker = "[purged]"

var quotedMarker = jsonx.Quote(PurgeMarker)

func values(raw []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		more := true
		jsonx.EditStrings(raw, func(_ []string, s string, _ bool) (string, bool) {
			more = more && yield(s)
			return "", false
		})
	}
}

// structural are the members that hold the session together: ids, types, roles, and what requests can't do without.
var structural = text.Words(`
	type id parentId timestamp targetId fromId firstKeptEntryId customType provider modelId model thinkingLevel
	version kind message.role message.toolCallId message.toolName message.provider message.model message.api
	message.stopReason message.customType message.fromId message.content.[].type message.content.[].id
	message.content.[].name message.content.[].mimeType content.[].type content.[].mimeType
	replacement.content.[].type replacement.content.[].id replacement.content.[].name
	replacement.content.[].mimeType systemMessage.role details.clew.rung details.clew.of details.clew.summarizer
	details.clew.pins.[] details.clew.form.role details.clew.form.open details.clew.form.close data.id data.from
	data.pass data.reason
`)

func isStructural(path []string) bool {
	return structural()[strings.Join(path, ".")] || slices.Contains(path, "toolsAdded") || slices.Contains(path, "toolsRemoved")
}

// freeName reports whether a model or a program made up the name of a member, so that nothing breaks when it changes.
func freeName(path []string) bool {
	above := path[:max(len(path)-1, 0)]
	return !slices.Contains(above, "clew") &&
		(slices.Contains(above, "arguments") || slices.Contains(above, "details") || slices.Contains(above, "data"))
}

// textsOf returns what of a record would be purged: every string that is not structural.
func textsOf(raw []byte) (texts []string) {
	jsonx.EditStrings(raw, func(path []string, s string, isName bool) (string, bool) {
		image := strings.HasSuffix(strings.Join(path, "."), "[].data")
		if !isName && s != PurgeMarker && s != "" && !image && !isStructural(path) {
			texts = append(texts, strings.Clone(s))
		}
		return "", false
	})
	return texts
}

// contents are the members of a record that hold its content, and what becomes of each.
var contents = map[session.Type]map[string]func([]byte) []byte{
	session.TypeMessage:       {"message": purgeMessage},
	session.TypeCustomMessage: {"content": purgeContent, "details": purgeDetails},
	session.TypeContextEdit:   {"replacement": purgeReplacement, "details": purgeDetails},
	session.TypeCompaction:    {"summary": purgeAll, "details": purgeDetails},
	session.TypeBranchSummary: {"summary": purgeAll, "details": purgeDetails},
	session.TypeLabel:         {"label": purgeAll},
	session.TypeSessionInfo:   {"name": purgeAll},
	session.TypeCustom:        {"data": purgeAll},
	session.TypeModelChange:   nil, session.TypeThinkingLevel: nil, session.TypeUsage: nil,
}

// purgeRecord returns a record without its content. It keeps its place in the tree, its type, and what pairs calls
// with results. ok is false for entries that have no content to purge.
func purgeRecord(raw []byte, typ session.Type) (purged []byte, ok bool) {
	members, known := contents[typ]
	switch {
	case !known:
		return jsonx.EditStrings(raw, func(path []string, _ string, isName bool) (string, bool) {
			return PurgeMarker, !isName && !isStructural(path)
		}), true
	case members == nil, typ == session.TypeCustom && strings.HasPrefix(jsonx.StringAt(raw, "customType"), "clew."):
		return nil, false
	}
	for name, purge := range members {
		if val := jsonx.Get(raw, name); val != nil {
			raw = jsonx.Set(raw, name, purge(val))
		}
	}
	return raw, true
}

func purgeReplacement(val []byte) []byte {
	if content := jsonx.Get(val, "content"); content != nil {
		return jsonx.Set(val, "content", purgeContent(content))
	}
	return val
}

func purgeAll(val []byte) []byte {
	return jsonx.EditStrings(val, func(_ []string, _ string, isName bool) (string, bool) { return PurgeMarker, !isName })
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

// purgeContent keeps the calls of a content, without arguments. Reasoning goes: it is signed, or of no use alone.
func purgeContent(val []byte) []byte {
	if !jsonx.IsArray(val) {
		return quotedMarker
	}
	var blocks []message.Block
	jsonx.Elements(val, func(raw []byte) bool {
		switch message.BlockType(jsonx.StringAt(raw, "type")) {
		case message.BlockToolCall:
			call := message.ToolCallBlock(jsonx.StringAt(raw, "id"), jsonx.StringAt(raw, "name"), []byte(`{"purged":true}`))
			blocks = append(blocks, call)
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
	case session.TypeCustomMessage:
		return jsonx.Get(raw, "content")
	case session.TypeMessage:
		msg := jsonx.Get(raw, "message")
		if c := jsonx.Get(msg, "content"); c != nil {
			return c
		}
		return jsonx.Get(msg, "output")
	default:
		return nil
	}
}

// madeOf returns the entry that a record was made of: the target of an edit, what an excerpt is of. "" for none.
func madeOf(raw []byte, typ session.Type) string {
	switch typ {
	case session.TypeContextEdit:
		return jsonx.StringAt(raw, "targetId")
	case session.TypeCustomMessage:
		return jsonx.StringAt(jsonx.Get(jsonx.Get(raw, "details"), "clew"), "of")
	default:
		return ""
	}
}

// derived reports whether a record was made from others, so that it may quote them.
func derived(raw []byte, typ session.Type) bool {
	switch typ {
	case session.TypeCompaction, session.TypeBranchSummary, session.TypeContextEdit, session.TypeSessionInfo, session.TypeLabel:
		return true
	case session.TypeCustomMessage, session.TypeCustom:
		return bytes.Contains(raw, []byte(`"clew.`))
	case session.TypeMessage:
		role := message.Role(jsonx.StringAt(jsonx.Get(raw, "message"), "role"))
		return role == message.RoleCompactionSummary || role == message.RoleBranchSummary
	default:
		return false
	}
}

// outsideFiles returns the paths of files that a message says its whole output is in, outside of the session.
func outsideFiles(raw []byte) (paths []string) {
	msg := jsonx.Get(raw, "message")
	for _, obj := range [][]byte{msg, jsonx.Get(msg, "details")} {
		if path := jsonx.StringAt(obj, "fullOutputPath"); path != "" && path != PurgeMarker {
			paths = append(paths, path)
		}
	}
	return paths
}

// markSpilled says in a message that the full content kept beside the session, to which it refers, was purged; ok
// is false when it refers to none of the addresses, or says so already.
func markSpilled(raw []byte, addresses []string) (marked []byte, ok bool) {
	msg := jsonx.Get(raw, "message")
	details := jsonx.Get(msg, "details")
	clew := jsonx.Get(details, "clew")
	at := jsonx.Get(clew, "blob")
	id := jsonx.StringAt(at, "id")
	if id == "" || !slices.Contains(addresses, id) || jsonx.Bool(jsonx.Get(at, "purged")) {
		return raw, false
	}
	at = jsonx.Set(at, "purged", []byte("true"))
	return jsonx.Set(raw, "message", jsonx.Set(msg, "details", jsonx.Set(details, "clew", jsonx.Set(clew, "blob", at)))), true
}

type span struct{ from, to int }

// Spellings are the forms in which a text may stand in a record, for who looks for it before Purge.
func Spellings(s string) ([]string, error) {
	if len(s) < minPurge {
		return nil, errShort
	}
	return spellings(s), nil
}

// spellings returns the forms in which a text may stand in a string of a session: as it is, and as other programs
// escape it in JSON or in URLs, the longest first. Of a text of several lines every long line counts alone, for
// summaries quote and indent lines.
func spellings(s string) []string {
	forms := []string{s}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); len(line) >= 16 {
			forms = append(forms, line)
		}
	}
	for _, f := range slices.Clone(forms) {
		q := inJSON(f)
		ascii := strconv.QuoteToASCII(q)
		ascii = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(ascii[1 : len(ascii)-1])
		html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(q)
		for _, once := range []string{q, ascii, strings.ReplaceAll(q, "/", `\/`), html} {
			forms = append(forms, once, inJSON(once))
		}
		forms = append(forms, url.QueryEscape(f), url.PathEscape(f))
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(forms)
}

func inJSON(s string) string {
	q := jsonx.Quote(s)
	return string(q[1 : len(q)-1])
}

func findAll(s string, forms []string) (found []span) {
	for _, f := range forms {
		for at := 0; ; {
			k := strings.Index(s[at:], f)
			if k < 0 {
				break
			}
			sp := span{at + k, at + k + len(f)}
			at = sp.to
			if !overlaps(found, sp) {
				found = append(found, sp)
			}
		}
	}
	sortSpans(found)
	return found
}

func overlaps(found []span, sp span) bool {
	return slices.ContainsFunc(found, func(o span) bool { return sp.from < o.to && o.from < sp.to })
}

func sortSpans(found []span) { slices.SortFunc(found, func(a, b span) int { return a.from - b.from }) }

func redact(s string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.from])
		b.WriteString(PurgeMarker)
		at = sp.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// matcher finds parts of texts that are to go in texts that were made of them: summaries, quotes, excerpts.
type matcher struct{ *suffixarray.Index }

// Lengths of matches, in bytes: from longMatch on any part counts; from shortMatch on, one of whole words.
const (
	shortMatch = 4
	longMatch  = 12
)

func newMatcher(texts []string) *matcher {
	return &matcher{suffixarray.New([]byte(strings.Join(texts, "\x00")))}
}

// longest returns how many bytes of s, from its beginning, stand in the texts.
func (m *matcher) longest(s []byte) int {
	has := func(n int) bool { return n <= len(s) && len(m.Lookup(s[:n], 1)) > 0 }
	if !has(shortMatch) {
		return 0
	}
	return sort.Search(len(s), func(n int) bool { return !has(n + 1) })
}

// shared returns the parts of s that stand in the texts too.
func (m *matcher) shared(s string) (found []span) {
	heading := strings.HasPrefix(s, "#")
	data := []byte(s)
	for i := 0; i < len(s); {
		n := wholeRunes(s, i, m.longest(data[i:]))
		if n < longMatch {
			n = wholeWords(s, i, n)
			if heading {
				n = 0
			}
		}
		if n < shortMatch || !telling(s[i:i+n]) {
			if s[i] == '\n' {
				heading = strings.HasPrefix(s[i+1:], "#")
			}
			i++
			continue
		}
		// White space around it is no part of it: lines stay lines.
		part := strings.TrimSpace(s[i : i+n])
		from := i + strings.Index(s[i:], part)
		found = append(found, span{from, from + len(part)})
		if k := strings.LastIndexByte(s[i:i+n], '\n'); k >= 0 {
			heading = strings.HasPrefix(s[i+k+1:], "#")
		}
		i += n
	}
	return found
}

func wholeRunes(s string, from, n int) int {
	if n == 0 || !utf8.RuneStart(s[from]) {
		return 0
	}
	for n > 0 && from+n < len(s) && !utf8.RuneStart(s[from+n]) {
		n--
	}
	return n
}

// wholeWords shortens a match to the words that are whole in it; 0 when it begins inside one.
func wholeWords(s string, from, n int) int {
	if wordAt(s, from-1) && wordAt(s, from) {
		return 0
	}
	for n > 0 && wordAt(s, from+n-1) && wordAt(s, from+n) {
		n--
	}
	return n
}

func wordAt(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] >= utf8.RuneSelf || s[i] == '_' || unicode.IsLetter(rune(s[i])) || unicode.IsDigit(rune(s[i])))
}

// telling reports whether a match has enough letters and digits to say something.
func telling(s string) bool {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= shortMatch
}

// secretLike returns the parts of a text that look like keys and tokens: long runs of letters and digits mixed.
func secretLike(s string) (words []string) {
	part := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("_+=-", r)
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !part(r) }) {
		if len(word) >= 16 && strings.ContainsAny(word, "0123456789") && strings.IndexFunc(word, unicode.IsLetter) >= 0 {
			words = append(words, word)
		}
	}
	return words
}

// loose decodes the escapes of JSON strings in bytes that may be no JSON; at[i] is
// where byte i of the text stands in the bytes, and at[len(text)] is their end.
func loose(data []byte) (text string, at []int) {
	var out []byte
	for i := 0; i < len(data); {
		n := len(out)
		r, size := rune(-1), 1
		if data[i] == '\\' && i+1 < len(data) {
			r, size = jsonx.Unescape(data[i:])
		}
		if r < 0 {
			out, size = append(out, data[i]), 1
		} else {
			out = utf8.AppendRune(out, r)
		}
		for range len(out) - n {
			at = append(at, i)
		}
		i += size
	}
	return string(out), append(at, len(data))
}

// blot overwrites parts of data, given by spans of its loose decoding.
func blot(data []byte, at []int, spans []span) []byte {
	out := bytes.Clone(data)
	for _, sp := range spans {
		for i := at[sp.from]; i < at[sp.to]; i++ {
			out[i] = '*'
		}
	}
	return out
}
