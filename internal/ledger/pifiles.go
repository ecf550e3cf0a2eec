package ledger

import (
	"cmp"
	"slices"
	"unicode/utf16"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// PiFiles returns the file lists as pi 0.87.1 computes them for a compaction:
// from calls named exactly read, write and edit with a string path, whatever
// their results, paths as written; read are those not modified. Lists in the
// details of an earlier compaction among the items count, those of branch
// summaries and of hooks do not. Both are sorted by UTF-16 code units, as
// JavaScript sorts, and never nil.
func PiFiles(items []session.Item) (read, modified []string) {
	reads, changes := map[string]bool{}, map[string]bool{}
	for _, it := range items {
		m := it.Message
		switch {
		case m == nil:
		case m.Role == message.RoleCompactionSummary:
			if fromHook(it.Entry) {
				continue
			}
			for _, p := range stringList(jsonx.Get(m.Details, "readFiles")) {
				reads[p] = true
			}
			for _, p := range stringList(jsonx.Get(m.Details, "modifiedFiles")) {
				changes[p] = true
			}
		case m.Role == message.RoleAssistant:
			for _, b := range m.Content {
				if b.Type == message.BlockToolCall {
					piCall(b, reads, changes)
				}
			}
		}
	}
	read, modified = []string{}, []string{}
	for p := range reads {
		if !changes[p] {
			read = append(read, p)
		}
	}
	for p := range changes {
		modified = append(modified, p)
	}
	slices.SortFunc(read, compareUTF16)
	slices.SortFunc(modified, compareUTF16)
	return read, modified
}

func fromHook(e *session.Entry) bool {
	if e == nil {
		return false
	}
	c, _ := e.Compaction()
	return c.FromHook
}

func piCall(b message.Block, reads, changes map[string]bool) {
	path, ok := jsonx.String(jsonx.Get(b.Arguments, "path"))
	if !ok || path == "" {
		return
	}
	switch b.Name {
	case "read":
		reads[path] = true
	case "write", "edit":
		changes[path] = true
	}
}

// compareUTF16 orders strings by their UTF-16 code units: a character beyond
// the basic plane, which is written with surrogates, comes before U+E000.
func compareUTF16(a, b string) int {
	return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
}
