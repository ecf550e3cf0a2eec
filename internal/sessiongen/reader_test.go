package sessiongen

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// record is a reader's view of a line, independent of how the generator thinks of it.
type record struct {
	raw []byte

	Type      string
	ID        string
	ParentID  *string
	Timestamp string
	Version   int

	Message *struct {
		Role                     string
		Content                  json.RawMessage
		ToolCallID               string
		Command, Output          *string
		ExcludeFromContext       bool
		StopReason               string
		Sections                 map[string]*string
		ToolsAdded, ToolsRemoved []any
	}
	Content             json.RawMessage
	Summary             *string
	FirstKeptEntryID    *string
	FirstKeptEntryIndex *float64
	SystemMessage       json.RawMessage
	TargetID            *string
	Replacement         json.RawMessage
	FromID              string
}

type block struct {
	Type              string
	Text              *string
	Thinking          *string
	ThinkingSignature string
	ID                string
	Name              *string
	Arguments         json.RawMessage
}

func (r *record) role() string {
	if r.Type != "message" || r.Message == nil {
		return ""
	}
	return r.Message.Role
}

// readAll reads a file in which every line must be a JSON object.
func readAll(t *testing.T, data []byte) (header record, entries []record) {
	t.Helper()
	if !bytes.HasSuffix(data, []byte("\n")) {
		t.Fatal("the file does not end with a newline")
	}
	first := true
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %.200q: %v", line, err)
		}
		r.raw = line
		if first {
			header, first = r, false
			continue
		}
		entries = append(entries, r)
	}
	return header, entries
}

func blocksOf(t *testing.T, content json.RawMessage) []block {
	t.Helper()
	if len(content) == 0 || content[0] == '"' {
		return nil
	}
	var bs []block
	if err := json.Unmarshal(content, &bs); err != nil {
		t.Fatalf("content %.200q: %v", content, err)
	}
	return bs
}

// tree gives each entry its parent by position; -1 where there is none.
func treeOf(header record, entries []record) (parents []int, byID map[string]int) {
	byID = map[string]int{}
	for i, e := range entries {
		byID[e.ID] = i
	}
	for i, e := range entries {
		p := -1
		if header.Version < 2 {
			p = i - 1
		} else if e.ParentID != nil {
			if at, ok := byID[*e.ParentID]; ok {
				p = at
			}
		}
		parents = append(parents, p)
	}
	return parents, byID
}

func pathTo(parents []int, i int) []int {
	var path []int
	for ; i >= 0; i = parents[i] {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

func leavesOf(parents []int) []int {
	child := make([]bool, len(parents))
	for _, p := range parents {
		if p >= 0 {
			child[p] = true
		}
	}
	var leaves []int
	for i, c := range child {
		if !c {
			leaves = append(leaves, i)
		}
	}
	return leaves
}

// keptFrom returns where on path the kept range of the compaction at position c of the path
// begins; c itself when nothing before it is kept.
func keptFrom(header record, entries []record, path []int, c int) (int, bool) {
	e := &entries[path[c]]
	if header.Version < 2 {
		if e.FirstKeptEntryIndex == nil {
			return c, false
		}
		at := *e.FirstKeptEntryIndex - 1
		if at != float64(int(at)) || at < 0 || int(at) > c {
			return c, false
		}
		return int(at), true
	}
	for k, i := range path[:c+1] {
		if e.FirstKeptEntryID != nil && entries[i].ID == *e.FirstKeptEntryID {
			return k, true
		}
	}
	return c, false
}

// contextOf returns the entries of path that the context is made of, by the rules
// of the format: latest compaction, kept range, rest; and the edit of each.
func contextOf(header record, entries []record, path []int) (visible []int, edits map[string]*record) {
	last := -1
	for k, i := range path {
		if entries[i].Type == "compaction" {
			last = k
		}
	}
	active := path
	if last >= 0 {
		from, _ := keptFrom(header, entries, path, last)
		active = append([]int{path[last]}, path[from:last]...)
		active = append(active, path[last+1:]...)
	}
	edits = map[string]*record{}
	for _, i := range active {
		if entries[i].Type == "context_edit" {
			edits[*entries[i].TargetID] = &entries[i]
		}
	}
	return active, edits
}

// unpaired checks a list of entries with edits applied, in order, and returns what is wrong with its calls.
func unpaired(t *testing.T, entries []record, list []int, edits map[string]*record) string {
	t.Helper()
	open := map[string]bool{}
	for _, i := range list {
		e := &entries[i]
		if e.Type != "message" && e.Type != "custom_message" {
			continue
		}
		var content json.RawMessage
		if e.Message != nil {
			content = e.Message.Content
		}
		if ed := edits[e.ID]; ed != nil {
			if string(ed.Replacement) == "null" {
				continue
			}
			var v struct{ Content json.RawMessage }
			if err := json.Unmarshal(ed.Replacement, &v); err != nil {
				t.Fatal(err)
			}
			content = v.Content
		}
		if e.role() == "toolResult" {
			if !open[e.Message.ToolCallID] {
				return "result of " + e.Message.ToolCallID + " without its call at " + e.ID
			}
			delete(open, e.Message.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return "a message stands between calls and results at " + e.ID
		}
		if e.role() == "assistant" {
			for _, b := range blocksOf(t, content) {
				if b.Type == "toolCall" {
					open[b.ID] = true
				}
			}
		}
	}
	if len(open) > 0 {
		return "calls without results at the end"
	}
	return ""
}
