package measure

import "strings"

// Digest is a message with what the measures read of it, so that a session that is
// cut at many places is read once.
type Digest struct {
	*Message
	ids  map[string]Class
	size int
}

// NewDigest reads a message.
func NewDigest(m *Message) *Digest {
	d := &Digest{Message: m, ids: map[string]Class{}, size: m.Size()}
	m.said(func(s string) {
		for id := range Identifiers(s) {
			if _, ok := d.ids[id.Text]; !ok {
				d.ids[strings.Clone(id.Text)] = id.Class
			}
		}
	})
	return d
}

// Digests reads a list of messages.
func Digests(msgs []Message) []*Digest {
	ds := make([]*Digest, len(msgs))
	for i := range msgs {
		ds[i] = NewDigest(&msgs[i])
	}
	return ds
}

// Size returns the size of the message in UTF-16 units.
func (d *Digest) Size() int { return d.size }

// TokensOf returns the size of a list in tokens.
func TokensOf(ds []*Digest) int {
	n := 0
	for _, d := range ds {
		n += d.size
	}
	return (n + CharsPerToken - 1) / CharsPerToken
}

func union(lists ...[]*Digest) map[string]bool {
	u := map[string]bool{}
	for _, l := range lists {
		for _, d := range l {
			for id := range d.ids {
				u[id] = true
			}
		}
	}
	return u
}
