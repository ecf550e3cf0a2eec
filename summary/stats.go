package summary

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// stats says of each identifier how much it was used. What the agent wrote
// itself counts most: it is the best sign of what it will write again.
type stats struct {
	id    map[string]int32
	uses  []use
	total int // messages
}

type use struct {
	agent, world float64 // uses, later ones counting more
	messages     int32   // in how many messages it occurs
	last         int32   // the last of them
	kept         bool    // it stands in what is kept
	class        text.Class
}

func newStats(total int) *stats {
	return &stats{id: map[string]int32{}, total: total}
}

// of returns the number of an identifier.
func (s *stats) of(id text.Identifier) int32 {
	n, ok := s.id[id.Text]
	if !ok {
		n = int32(len(s.uses))
		s.id[strings.Clone(id.Text)] = n
		s.uses = append(s.uses, use{class: id.Class, last: -1})
	}
	return n
}

// see records that message at holds the identifier.
func (s *stats) see(n int32, at int, byAgent bool) {
	u := &s.uses[n]
	if u.last == int32(at) && u.messages > 0 {
		if byAgent && u.agent == 0 {
			u.agent += s.recency(at)
		}
		return
	}
	u.last = int32(at)
	u.messages++
	if byAgent {
		u.agent += s.recency(at)
	} else {
		u.world += s.recency(at)
	}
}

// recency is the weight of a use at message at: it falls by half over a share of
// the conversation.
func (s *stats) recency(at int) float64 {
	half := math.Max(minHalfLife, halfLife*float64(s.total))
	return math.Exp2(-float64(s.total-1-at) / half)
}

// weights returns the weight of each identifier.
func (s *stats) weights() []float64 {
	out := make([]float64, len(s.uses))
	for n := range out {
		out[n] = s.weight(int32(n))
	}
	return out
}

// weight says how much it is worth to name the identifier.
func (s *stats) weight(n int32) float64 {
	u := &s.uses[n]
	w := math.Pow(u.agent, usesPower) + worldUse*math.Pow(u.world, usesPower)
	if u.messages == 1 {
		w *= onlyOnce
	}
	if u.agent == 0 {
		w *= neverByUs
	}
	switch u.class {
	case text.Number, text.Hash, text.UUID:
		w *= asNumber
	case text.Flag, text.Ref:
		w *= asFlag
	case text.URL:
		w *= asURL
	default:
	}
	if u.kept {
		w *= keptAnyway
	}
	return w
}

// coordinate names arguments that say where to look, not what is known.
var coordinate = map[string]bool{
	"offset": true, "limit": true, "timeout": true, "line": true, "view_range": true, "yield_time_ms": true,
	"max_output_tokens": true, "head_limit": true,
}

// argumentTexts calls fn with the strings in the arguments of a call and the
// names of the members they stand in.
func argumentTexts(args json.RawMessage, fn func(name, s string)) {
	jsonx.Members(args, func(key, val []byte) bool {
		name := string(key)
		if !coordinate[name] {
			argumentText(name, val, fn, 0)
		}
		return true
	})
}

func argumentText(name string, val []byte, fn func(name, s string), depth int) {
	if depth > 8 {
		return
	}
	switch {
	case jsonx.IsString(val):
		s, _ := jsonx.String(val)
		fn(name, s)
	case jsonx.IsArray(val):
		jsonx.Elements(val, func(v []byte) bool {
			argumentText(name, v, fn, depth+1)
			return true
		})
	case jsonx.IsObject(val):
		jsonx.Members(val, func(k, v []byte) bool {
			argumentText(string(k), v, fn, depth+1)
			return true
		})
	}
}

// maxLook is how much of one text is looked at: its beginning and its end.
const maxLook = 64 << 10

func lookAt(s string) string {
	if len(s) <= maxLook {
		return s
	}
	return text.Head(s, maxLook*3/4) + "\n" + text.Tail(s, maxLook/4)
}

// seeKept marks the identifiers of the messages that stay in the context.
func (s *stats) seeKept(m *message.Message) {
	mark := func(t string) {
		for id := range text.Identifiers(lookAt(t)) {
			if n, ok := s.id[id.Text]; ok {
				s.uses[n].kept = true
			}
		}
	}
	mark(m.Text())
	mark(m.Command)
	mark(m.Output)
	for _, b := range m.ToolCalls() {
		argumentTexts(b.Arguments, func(_, t string) { mark(t) })
	}
}
