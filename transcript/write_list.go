package transcript

import (
	"fmt"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/wire"
)

// writeList writes a request body: the messages, the system text and the tools,
// as package wire sends them, and the model.
func writeList(k *sink) error {
	p := wire.Anthropic
	switch k.format {
	case OpenAIChat:
		p = wire.OpenAIChat
	case OpenAIResponses:
		p = wire.OpenAIResponses
	default:
	}
	msgs, ids := k.messages(k.opt.Full)
	model := k.target(k.opt)
	req, notes, err := wire.Build(msgs, p, wire.Target{Provider: model.Provider, Model: model.ID, TakesImages: true}, wire.Options{CloseOpenCalls: true})
	if req != nil && len(req.Messages) == 0 {
		return fmt.Errorf("%w: no message of the session is one that is sent", ErrNothing)
	}
	if err != nil {
		return err
	}
	k.wireNotes(notes, ids)
	if k.format != Anthropic {
		k.lostErrors(msgs, ids)
	}
	k.aside()
	if k.opt.Full {
		for _, b := range k.breaks {
			k.report.add(Aside, "entry:compaction", b.before, b.entry.ID, "compactions; the whole path is written without them")
		}
	}
	var o jsonx.Object
	o.OptStr("model", model.ID)
	body := req.Body(p, nil)
	jsonx.Members(body, func(key, val []byte) bool {
		o.Raw(string(key), val)
		return true
	})
	k.line(o.Bytes())
	return nil
}
