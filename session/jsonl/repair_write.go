package jsonl

import (
	"bufio"
	"context"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// write writes the copy. It may be called again after a failure.
func (rp *repairer) write(ctx context.Context, w *bufio.Writer) error {
	rp.written, rp.fixes, rp.more = 0, rp.fixes[:rp.looked], rp.lookedMore
	line := func(raw []byte) error {
		_, err := w.Write(raw)
		if err == nil {
			err = w.WriteByte('\n')
		}
		return err
	}
	if err := line(rp.f.header.JSON()); err != nil {
		return err
	}
	// Records that had no id were no part of a pass; they wait until it ends.
	var waiting []int
	inPass := 0
	last := -1
	put := func(i int, raw []byte) error {
		last = i
		rp.written++
		return line(raw)
	}
	release := func() error {
		for _, i := range waiting {
			if err := put(i, rp.rewrite(i, rp.recs[i].raw)); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
		return nil
	}
	for i := range rp.recs {
		n := &rp.recs[i]
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		switch {
		case n.drop:
			continue
		case n.r == nil:
			waiting = append(waiting, i)
		default:
			e, err := rp.x.load(n.r, false)
			if err != nil {
				return err
			}
			if inPass > 0 {
				inPass--
			}
			if lines, ok := e.Group(); ok {
				inPass = lines
			}
			if err := put(i, rp.rewrite(i, e.Raw())); err != nil {
				return err
			}
		}
		if inPass == 0 {
			if err := release(); err != nil {
				return err
			}
		}
	}
	if err := release(); err != nil {
		return err
	}
	return rp.writeLeaf(last, line)
}

// writeLeaf makes the last record of the copy stand where the last one of the
// original did.
func (rp *repairer) writeLeaf(last int, line func([]byte) error) error {
	leaf := rp.leaf()
	if leaf < 0 || last == leaf {
		return nil
	}
	var data, o jsonx.Object
	data.Str("from", rp.recs[last].id)
	data.Str("reason", "repair")
	o.Str("type", string(session.TypeCustom))
	o.Str("id", rp.leafID)
	o.Str("parentId", rp.recs[leaf].id)
	stamp, _ := jsonx.String(jsonx.Get(rp.recs[last].raw, "timestamp"))
	o.Str("timestamp", stamp)
	o.Str("customType", session.CustomLeaf)
	o.Raw("data", data.Bytes())
	rp.written++
	rp.fix("no-id", rp.recs[last].off, 0, rp.recs[leaf].id, "added a record that makes this entry the leaf, as it was read")
	return line(o.Bytes())
}

// rewrite returns the record as it stands in the copy. What is sound in it is not
// changed.
func (rp *repairer) rewrite(i int, raw []byte) []byte {
	n := &rp.recs[i]
	if n.r == nil || n.id != n.r.id {
		raw = jsonx.Set(raw, "id", jsonx.Quote(n.id))
	}
	if !n.keep {
		parent := []byte("null")
		if n.parent >= 0 {
			parent = jsonx.Quote(rp.recs[n.parent].id)
		}
		raw = jsonx.Set(raw, "parentId", parent)
	}
	if n.kept != "" {
		raw = jsonx.Set(raw, "firstKeptEntryId", jsonx.Quote(n.kept))
	}
	switch typ, _ := jsonx.String(jsonx.Get(raw, "type")); session.Type(typ) {
	case session.TypeMessage:
		return rp.rewriteMessage(n, raw)
	case session.TypeCustomMessage:
		if content, bad := soundContent(jsonx.Get(raw, "content"), message.RoleCustom); bad {
			rp.fix("bad-content", n.off, 0, n.id, "wrote its content as it was read")
			return jsonx.Set(raw, "content", content)
		}
	default:
	}
	return raw
}

func (rp *repairer) rewriteMessage(n *fixed, raw []byte) []byte {
	msg := jsonx.Get(raw, "message")
	m, err := message.Parse(msg)
	if err != nil {
		rp.fix("bad-message", n.off, 0, n.id, "made it an entry that no model sees, with what it held, because it is no message")
		return asCustom(raw)
	}
	switch m.Role {
	case message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleCustom:
	default:
		return raw
	}
	content, bad := soundContent(jsonx.Get(msg, "content"), m.Role)
	if bad {
		rp.fix("bad-content", n.off, 0, n.id, "wrote its content as it was read")
	}
	if mended, ok := soundArguments(content, m); ok {
		rp.fix("bad-arguments", n.off, 0, n.id, "wrote an empty object for the arguments of a call that had none")
		content, bad = mended, true
	}
	if !bad {
		return raw
	}
	return jsonx.Set(raw, "message", jsonx.Set(msg, "content", content))
}

// asCustom makes a custom entry of a message entry whose message can't be read.
// It keeps what it said in its data.
func asCustom(raw []byte) []byte {
	var o jsonx.Object
	o.Str("type", string(session.TypeCustom))
	data := []byte("null")
	jsonx.Members(raw, func(key, val []byte) bool {
		switch string(key) {
		case "type":
		case "message":
			data = val
		default:
			o.Raw(string(key), val)
		}
		return true
	})
	o.Str("customType", "unreadable-message")
	o.Raw("data", data)
	return o.Bytes()
}

// soundContent returns content of the kind that readers expect, and whether it
// was of another one.
func soundContent(content []byte, r message.Role) (sound []byte, changed bool) {
	blocks := r == message.RoleAssistant || r == message.RoleToolResult
	switch {
	case jsonx.IsArray(content), jsonx.IsString(content) && !blocks:
		return content, false
	case jsonx.IsString(content):
		var o jsonx.Object
		o.Str("type", string(message.BlockText))
		o.Raw("text", content)
		return append(append([]byte{'['}, o.Bytes()...), ']'), true
	}
	return []byte("[]"), true
}

// soundArguments returns content in which every call has arguments, and whether
// one had none.
func soundArguments(content []byte, m *message.Message) (sound []byte, changed bool) {
	if m.Role != message.RoleAssistant {
		return nil, false
	}
	out := []byte{'['}
	jsonx.Elements(content, func(block []byte) bool {
		if typ, _ := jsonx.String(jsonx.Get(block, "type")); typ == string(message.BlockToolCall) && jsonx.IsNull(jsonx.Get(block, "arguments")) {
			block, changed = jsonx.Set(block, "arguments", []byte("{}")), true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, block...)
		return true
	})
	return append(out, ']'), changed
}
