package clew_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// blocks takes a request apart into what a cache compares: each block with the
// role it stands under.
func blocks(r *wire.Request) []string {
	var out []string
	for _, m := range r.Messages {
		role, _ := jsonx.String(jsonx.Get(m, "role"))
		n := 0
		jsonx.Elements(jsonx.Get(m, "content"), func(val []byte) bool {
			out = append(out, role+string(val))
			n++
			return true
		})
		if n == 0 {
			out = append(out, string(m))
		}
	}
	return out
}

// I5: between two passes, what was sent is the beginning of what is sent next.
func TestRequestsAreExtended(t *testing.T) {
	ctx := context.Background()
	for _, profile := range []wire.Profile{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses} {
		t.Run(profile.Name, func(t *testing.T) {
			extended, passes := 0, 0
			for seed := range uint64(3) {
				r := rand.New(rand.NewPCG(seed, 21))
				s := newSession(t, clew.Config{Policy: compact.Policy{Window: 8_000}, Provider: "p", Model: "m"})
				var last []string
				var system, tools json.RawMessage
				request := func() {
					p, err := s.Prepare(ctx)
					if err != nil {
						t.Fatal(err)
					}
					req, _, err := p.Render(profile)
					if err != nil {
						t.Fatal(err)
					}
					now := blocks(req)
					if p.Plan.Act {
						passes++
					} else if last != nil {
						extended++
						if len(now) < len(last) {
							t.Fatalf("seed %d: %d blocks after %d", seed, len(now), len(last))
						}
						for i := range last {
							if now[i] != last[i] {
								t.Fatalf("seed %d: block %d was\n%.300s\nand is\n%.300s", seed, i, last[i], now[i])
							}
						}
						if !bytes.Equal(req.System, system) || !bytes.Equal(req.Tools, tools) {
							t.Fatalf("seed %d: system text or tools have changed", seed)
						}
					}
					last, system, tools = now, req.System, req.Tools
				}
				add(t, s, message.System("be brief", start))
				for k := range 30 {
					msgs := turn(r, k)
					if r.IntN(4) == 0 {
						msgs[1].Content = append([]message.Block{message.ThinkingBlock("hm", "c2ln")}, msgs[1].Content...)
						msgs[1].Provider, msgs[1].Model, msgs[1].API = "p", "m", "anthropic-messages"
					}
					add(t, s, msgs[0])
					request()
					add(t, s, msgs[1:len(msgs)-1]...)
					request() // inside the tool loop
					add(t, s, msgs[len(msgs)-1])
					if r.IntN(5) == 0 {
						if err := s.Pin(ctx, s.Leaf()); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			t.Logf("%d requests extended, %d passes", extended, passes)
			if extended < 80 || passes < 10 {
				t.Error("too few to say anything")
			}
		})
	}
}
