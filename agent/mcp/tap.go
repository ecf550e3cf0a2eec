package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/clew-dev/clew/model"
)

// tap keeps what a server sends until it is shut. The SDK gives a schema as a map, which
// loses the order of its members; models read them in that order, and caches hold only
// where bytes stay the same. So the schemas are read a second time, from what was sent.
type tap struct {
	mu   sync.Mutex
	shut bool
	kept []*stream
	size int
}

// stream is one answer, or all that a program has written.
type stream struct {
	data   bytes.Buffer
	events bool // as server-sent events, not as JSON
}

// on returns a reader of which the tap keeps what is read.
func (t *tap) on(r io.ReadCloser, events bool) io.ReadCloser {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		return r
	}
	s := &stream{events: events}
	t.kept = append(t.kept, s)
	return &tapped{r, t, s}
}

type tapped struct {
	io.ReadCloser
	tap *tap
	to  *stream
}

// Read implements io.Reader.
func (r *tapped) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.tap.mu.Lock()
	defer r.tap.mu.Unlock()
	if !r.tap.shut && r.tap.size+n <= maxMessage {
		r.to.data.Write(p[:n])
		r.tap.size += n
	}
	return n, err
}

// close shuts the tap and returns the schemas that came by, by the names of the tools.
func (t *tap) close() map[string]json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = true
	out := map[string]json.RawMessage{}
	for _, s := range t.kept {
		if s.events {
			_ = model.ReadEvents(&s.data, maxMessage, func(e model.ServerEvent) error {
				schemas(e.Data, out)
				return nil
			})
			continue
		}
		d := json.NewDecoder(&s.data)
		for {
			var one json.RawMessage
			if d.Decode(&one) != nil {
				break
			}
			schemas(one, out)
		}
	}
	t.kept = nil
	return out
}

// schemas takes the schemas out of an answer to tools/list; of other messages nothing.
func schemas(data []byte, into map[string]json.RawMessage) {
	var answer struct {
		Result struct {
			Tools []struct {
				Name        string          `json:"name"`
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return
	}
	for _, t := range answer.Result.Tools {
		if _, ok := into[t.Name]; !ok { // of two the first counts
			into[t.Name] = t.InputSchema
		}
	}
}
