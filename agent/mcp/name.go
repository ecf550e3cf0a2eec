package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool that all providers take.
const maxName = 64

// names gives names to tools, each once.
type names struct{ taken map[string]bool }

func newNames() *names { return &names{map[string]bool{}} }

// of returns "server__tool" in letters that all providers take. Where that is too long,
// or is taken, its end becomes a sum of the true names, which stays the same.
func (n *names) of(server, tool string) string {
	name := plainName(server) + "__" + plainName(tool)
	if c := name[0]; c == '-' || c >= '0' && c <= '9' {
		name = "_" + name
	}
	// A zero byte stands between, so that no two pairs of names have one sum.
	sum := server + "\x00" + tool
	for full := name; len(name) > maxName || n.taken[name]; {
		h := sha256.Sum256([]byte(sum))
		end := "_" + hex.EncodeToString(h[:4])
		name = full[:min(len(full), maxName-len(end))] + end
		sum += "\x00"
	}
	n.taken[name] = true
	return name
}

func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
