package hook

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/clew-dev/clew/message"
)

// Whatever a program writes is an answer or a bad answer, and an answer that was
// understood can be written and understood again.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"cancel":true,"why":"no","keep":"25%","target":20000,"edits":[{"entry":"a","omit":true},{"entry":"b","text":""}]}`))
	f.Add([]byte(`{"edits":[{"entry":"a","content":[{"type":"text","text":"x"},{"type":"toolCall","id":1}]}]}`))
	f.Add([]byte(`{"content":[null,1,{"type":"image"}]} `))
	f.Add([]byte(`{"summary":{"summary":"s","details":[1]},"details":null,"compaction":{"summary":"s","tokensBefore":1}}`))
	f.Add([]byte("{\"add\":\"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, answer := range []any{&NoAnswer{}, &ContextAnswer{}, &ToolResultAnswer{}, &BeforeCompactAnswer{}, &CompactAnswer{}, &BeforeTreeAnswer{}, &BeforeForkAnswer{}} {
			if err := decode(out, answer); err != nil {
				if !errors.Is(err, ErrBadAnswer) {
					t.Errorf("%T: %v", answer, err)
				}
				continue
			}
			again, err := json.Marshal(answer)
			if err != nil {
				t.Errorf("%T: %v", answer, err)
				continue
			}
			if err := decode(again, answer); err != nil {
				t.Errorf("%T: %s became %s: %v", answer, out, again, err)
			}
			switch a := answer.(type) {
			case *BeforeCompactAnswer:
				for _, e := range edits(a.Edits) {
					message.EncodeBlocks(e.Content)
				}
			case *ToolResultAnswer:
				message.EncodeBlocks(content(a.Text, a.Content))
			}
		}
	})
}
