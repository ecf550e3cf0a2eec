package transcript

import (
	"fmt"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/wire"
)

// writeList writes a request body: the messages, the system text and the tools,
// as package wire sends them, and the model.
func writeList(w *writer) error {
	p := wire.Anthropic
	switch w.format {
	case OpenAIChat:
		p = wire.OpenAIChat
	case OpenAIResponses:
		p = wire.OpenAIResponses
	default:
	}
	msgs, ids := w.messages(w.opt.Full)
	model := w.target(w.opt)
	req, notes, err := wire.Build(msgs, p, wire.Target{Provider: model.Provider, Model: model.ID, TakesImages: true}, wire.Options{CloseOpenCalls: true})
	if req != nil && len(req.Messages) == 0 {
		return fmt.Errorf("%w: no message of the session is one that is sent", ErrNothing)
	}
	if err != nil {
		return err
	}
	w.wireNotes(notes, ids)
	if w.format != Anthropic {
		w.lostErrors(msgs, ids)
	}
	w.aside()
	if w.opt.Full {
		for _, b := range w.breaks {
			w.report.add(Aside, "entry:compaction", b.before, b.entry.ID, "compactions; the whole path is written without them")
		}
	}
	var o jsonx.Object
	o.OptStr("model", model.ID)
	body := req.Body(p, nil)
	jsonx.Members(body, func(key, val []byte) bool {
		o.Raw(string(key), val)
		return true
	})
	w.line(o.Bytes())
	return nil
}
