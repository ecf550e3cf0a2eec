package page

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// content writes the blocks of a message.
func content(o *out, m *message.Message) { blocks(o, m.Content, m.Role) }

func blocks(o *out, list []message.Block, role message.Role) {
	for i := range list {
		block(o, &list[i], role)
	}
}

func block(o *out, b *message.Block, role message.Role) {
	switch b.Type {
	case message.BlockText:
		switch {
		case strings.TrimSpace(b.Text) == "":
		case role == message.RoleAssistant:
			markdown(o, b.Text)
		case role == message.RoleToolResult:
			pre(o, b.Text)
		default:
			// The user's words, letter for letter.
			o.raw(`<div class="said" dir="auto">`)
			o.text(b.Text)
			o.raw("</div>\n")
		}
	case message.BlockThinking:
		thinking(o, b)
	case message.BlockToolCall:
		call(o, b)
	case message.BlockImage:
		image(o, b)
	default:
		folded(o, "more", "A block of the type "+line(string(b.Type)), func() { pre(o, indent(b.JSON())) })
	}
}

func pre(o *out, s string) {
	// A line break right behind the tag would be lost.
	o.raw("<pre tabindex=\"0\">\n")
	o.text(s)
	o.raw("</pre>\n")
}

func thinking(o *out, b *message.Block) {
	if b.Text == "" {
		if b.Redacted || b.Signature != "" {
			o.raw("<p class=\"usage\">Thinking that the provider withheld</p>\n")
		}
		return
	}
	folded(o, "thinking", "Thinking: "+line(b.Text), func() {
		o.raw(`<div class="said" dir="auto">`)
		o.text(b.Text)
		o.raw("</div>\n")
	})
}

// telling are the arguments that say most of what a call does.
var telling = []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "description"}

// call writes a call: the tool and the telling argument, the others folded.
func call(o *out, b *message.Block) {
	head := ""
	for _, name := range telling {
		if s := jsonx.StringAt(b.Arguments, name); s != "" {
			head = s
			break
		}
	}
	o.raw(`<details class="call"><summary><b>`)
	o.text(line(b.Name))
	o.raw("</b> <code>")
	o.text(line(head))
	o.raw("</code></summary>\n")
	switch {
	case jsonx.IsNull(b.Arguments):
		o.raw("<p>No arguments</p>\n")
	case !jsonx.IsObject(b.Arguments):
		pre(o, indent(b.Arguments))
	default:
		arguments(o, b.Arguments)
	}
	o.raw("</details>\n")
}

// arguments writes each argument with its name; texts stand as they are, so that a
// file or a script can be read.
func arguments(o *out, args json.RawMessage) {
	o.raw("<dl>\n")
	jsonx.Members(args, func(key, val []byte) bool {
		o.raw("<dt>")
		o.text(string(key))
		o.raw("</dt><dd>")
		if s, ok := jsonx.String(val); ok {
			pre(o, s)
		} else {
			pre(o, indent(val))
		}
		o.raw("</dd>\n")
		return true
	})
	o.raw("</dl>\n")
}

// indent makes JSON readable. What is nested too deep for that stays as it is.
func indent(val []byte) string {
	const deep = 100
	depth, most := 0, 0
	for _, c := range val {
		switch c {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	var b bytes.Buffer
	if most > deep || json.Indent(&b, val, "", "  ") != nil {
		return string(val)
	}
	return b.String()
}

// shownImages are the types of images that a page shows: none that can hold a script
// or ask for something.
var shownImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func image(o *out, b *message.Block) {
	if !slices.Contains(shownImages, b.MIMEType) || !isBase64(b.Data) {
		o.raw(`<p class="usage">An image that is not shown (`)
		o.text(line(b.MIMEType))
		o.raw(", " + size(int64(base64.StdEncoding.DecodedLen(len(b.Data)))) + ")</p>\n")
		return
	}
	o.raw(`<p><img alt="An image of ` + size(int64(base64.StdEncoding.DecodedLen(len(b.Data)))) + `" src="data:` + b.MIMEType + ";base64,")
	o.raw(b.Data)
	o.raw("\"></p>\n")
}

// isBase64 reports whether s has no other characters than base64 has.
func isBase64(s string) bool {
	for i := range len(s) {
		if !alphanumeric(s[i]) && strings.IndexByte("+/=", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// coloured writes a change of a file: lines that begin with a plus or a minus are told
// apart.
func coloured(o *out, diff string) {
	o.raw("<pre tabindex=\"0\">\n")
	for l := range strings.Lines(visible(diff)) {
		tag := ""
		switch l[0] {
		case '+':
			tag = "ins"
		case '-':
			tag = "del"
		case '@':
			tag = "i"
		}
		if strings.HasPrefix(l, "+++ ") || strings.HasPrefix(l, "--- ") {
			tag = "i"
		}
		if tag != "" {
			o.raw("<" + tag + ">")
		}
		o.escaped(l)
		if tag != "" {
			o.raw("</" + tag + ">")
		}
	}
	o.raw("</pre>\n")
}
