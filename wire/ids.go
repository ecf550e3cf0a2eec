package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	minIDMax  = 16 // the least length of ids and names: room for some of the original and the digest
	digestLen = 10 // of what keeps shortened ones apart
)

// idMap gives the calls of one list ids that the API takes, no two the same: the stored one
// where it can be, else one derived from it. It depends on the calls before it alone.
type idMap struct {
	max  int
	used map[string]bool
	next map[string]int // stored id → the next number to tell calls with it apart
}

func newIDMap(limit, calls int) *idMap {
	return &idMap{limit, make(map[string]bool, calls), map[string]int{}}
}

// assign returns the id for a call stored with id; renamed is false when it is
// the stored one, or the stored one without its item id.
func (m *idMap) assign(id string) (sent string, renamed bool) {
	base, _, _ := strings.Cut(id, "|") // pi stores "call id|item id" for the Responses API
	clean := onlyIDChars(base)
	if clean == base && base != "" && len(base) <= m.max && m.take(base) {
		return base, false
	}
	if clean == "" {
		clean = "call"
	}
	for n := m.next[id]; ; n++ {
		sent = clean[:min(len(clean), m.max-digestLen-1)] + "_" + digest(id+"\x00"+strconv.Itoa(n))
		if m.take(sent) {
			m.next[id] = n + 1
			return sent, true
		}
	}
}

// take reports whether an id is not used yet, and uses it.
func (m *idMap) take(id string) bool {
	n := len(m.used)
	m.used[id] = true
	return len(m.used) > n
}

// toolName returns the name under which a tool is sent. It depends on the name
// alone, so that calls and definitions agree.
func (p *Profile) toolName(name string) (sent string, renamed bool) {
	sent = onlyIDChars(name)
	if sent == "" {
		sent = "unnamed"
	}
	if c := sent[0]; p.NameStart && (c == '-' || '0' <= c && c <= '9') {
		sent = "_" + sent
	}
	if len(sent) > p.ToolNameMax {
		sent = sent[:p.ToolNameMax-digestLen-1] + "_" + digest(name)
	}
	return sent, sent != name
}

// onlyIDChars returns s with every other byte than a-z, A-Z, 0-9, _ and - as _.
func onlyIDChars(s string) string {
	if idChars(s) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if !idChar(c) {
			b[i] = '_'
		}
	}
	return string(b)
}

func idChars(s string) bool {
	for i := range len(s) {
		if !idChar(s[i]) {
			return false
		}
	}
	return true
}

func idChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digestLen]
}
