package summary

import (
	"encoding/json"
	"math"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// Uses says how much the names in a summary were used in what it stands for. The next summary
// finds it in the details, as member "uses" of "clew", and goes on counting: from the text
// alone, a name that was used all the time is worth no more than one that was seen once.
type Uses struct {
	Messages int `json:"messages"` // that were looked at
	// Names have how often the agent and others used each, where a use counts less the
	// older it is, and in how many messages.
	Names map[string][3]float64 `json:"names,omitempty"`
}

// usesOf reads the details of an earlier summary. What no summary can have written is none.
func usesOf(details []byte) (u Uses) {
	own := jsonx.Get(jsonx.Get(jsonx.One(details), "clew"), "uses")
	if own == nil || json.Unmarshal(own, &u) != nil || u.Messages < 0 || u.Messages > maxUses {
		return Uses{}
	}
	for name, n := range u.Names {
		if min(n[0], n[1], n[2]) < 0 || max(n[0], n[1], n[2]) > maxUses {
			delete(u.Names, name)
		}
	}
	return u
}

// usesIn returns the uses of the names in a text.
func (d *digest) usesIn(s string) Uses {
	u := Uses{Messages: d.counted.Messages + len(d.msgs), Names: map[string][3]float64{}}
	round := func(f float64) float64 { return math.Round(f*100) / 100 }
	for _, id := range d.idsIn(s) {
		n := d.uses[id]
		u.Names[d.names.text[id]] = [3]float64{round(n.agent), round(n.world), float64(n.messages)}
	}
	return u
}

// halfLife is in how many messages the weight of a use falls by half.
func (d *digest) halfLife() float64 {
	return math.Max(minHalfLife, halfLife*float64(d.counted.Messages+len(d.msgs)))
}

// use says how much an identifier was used, later uses counting more.
type use struct {
	agent, world float64
	messages     int32 // in how many messages it stands
	user, kept   bool  // it stands in the user's words, in what is kept
}

// weights says what it is worth to name each identifier. What the agent wrote itself is
// the best sign of what it will write again; what stands in what is kept need not be said.
func (d *digest) weights() []float64 {
	uses := make([]use, len(d.names.text))
	half := d.halfLife()
	see := func(f *facts, at int) {
		recency := math.Exp2(-float64(len(d.msgs)-1-at) / half)
		for _, u := range f.uses {
			x := &uses[u.id]
			x.messages++
			if u.agent {
				x.agent += recency
			} else {
				x.world += recency
			}
			x.user = x.user || u.user
		}
	}
	for _, f := range d.known {
		see(f, 0)
	}
	age := math.Exp2(-float64(len(d.msgs)) / half)
	for name, n := range d.counted.Names {
		if id, ok := d.names.ids[name]; ok {
			uses[id] = use{agent: n[0] * age, world: n[1] * age, messages: int32(n[2])}
		}
	}
	for at, m := range d.msgs {
		see(m.facts, at)
	}
	for _, f := range d.kept {
		for _, u := range f.uses {
			uses[u.id].kept = true
		}
	}
	d.uses = uses
	out := make([]float64, len(uses))
	for n, u := range uses {
		w := math.Pow(u.agent, usesPower) + worldUse*math.Pow(u.world, usesPower)
		if u.messages == 1 {
			w *= onlyOnce
		}
		if u.agent == 0 {
			w *= neverByAgent
		}
		if u.user {
			w *= byUser
		}
		if u.kept {
			w *= keptAnyway
		}
		switch d.names.class[n] {
		case text.Number, text.Hash, text.UUID:
			w *= asNumber
		case text.Ref:
			if !d.profile.KeepReferences {
				w *= asFlag
			}
		case text.Flag:
			w *= asFlag
		case text.URL:
			if d.profile.KeepReferences {
				w *= asReference
			}
		default:
		}
		out[n] = w
	}
	return out
}

// The weights of identifiers. The text changes little with any one of them.
const (
	halfLife     = .35 // of the conversation, in which the weight of a use falls by half
	minHalfLife  = 20. // messages
	usesPower    = .7  // uses count less the more there are
	worldUse     = .3  // a use that is not the agent's
	neverByAgent = .4
	onlyOnce     = .7 // it stands in a single message
	byUser       = 1.2
	asNumber     = .3 // a number, a hash, a UUID: seldom typed again
	asFlag       = .5
	keptAnyway   = .1
)

// maxUses is more than any session has.
const maxUses = 1 << 30
