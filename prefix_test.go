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
	type sent struct {
		blocks        []string
		system, tools json.RawMessage
	}
	extended, passes, seeds := 0, 0, 3
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 21))
		s := newSession(t, clew.Config{Policy: compact.Policy{Window: 8_000}, Provider: "p", Model: "m"})
		last := map[string]sent{}
		request := func() {
			p, err := s.Prepare(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if p.Plan.Act {
				passes++
			} else if len(last) > 0 {
				extended++
			}
			for _, profile := range []wire.Profile{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses} {
				req, _, err := p.Render(profile)
				if err != nil {
					t.Fatal(err)
				}
				now := sent{blocks(req), req.System, req.Tools}
				if was, ok := last[profile.Name]; ok && !p.Plan.Act {
					if len(now.blocks) < len(was.blocks) {
						t.Fatalf("%s, seed %d: %d blocks after %d", profile.Name, seed, len(now.blocks), len(was.blocks))
					}
					for i := range was.blocks {
						if now.blocks[i] != was.blocks[i] {
							t.Fatalf("%s, seed %d: block %d was\n%.300s\nand is\n%.300s", profile.Name, seed, i, was.blocks[i], now.blocks[i])
						}
					}
					if !bytes.Equal(now.system, was.system) || !bytes.Equal(now.tools, was.tools) {
						t.Fatalf("%s, seed %d: system text or tools have changed", profile.Name, seed)
					}
				}
				last[profile.Name] = now
			}
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
	if extended < 25*seeds || passes < 4*seeds {
		t.Error("too few to say anything")
	}
}
