package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// The API takes no mark on reasoning, and at most four in all.
func TestMark(t *testing.T) {
	const m = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	for _, c := range []struct{ content, want string }{
		{`[{"type":"text","text":"a"}]`, `[{"type":"text","text":"a"` + m + `}]`},
		{`[{"type":"text","text":"a"},{"type":"thinking","thinking":"b"}]`, `[{"type":"text","text":"a"` + m + `},{"type":"thinking","thinking":"b"}]`},
		{`[{"type":"redacted_thinking","data":"b"}]`, `[{"type":"redacted_thinking","data":"b"}]`},
		{`[]`, `[]`},
		{`"text"`, `"text"`},
	} {
		req := &wire.Request{Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":` + c.content + `}`)}}
		mark(req, model.CacheLong)
		if got, want := string(req.Messages[0]), `{"role":"user","content":`+c.want+`}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
