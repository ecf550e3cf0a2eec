package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// system is the system text and the tools as system messages build them up:
// their texts in order, then the sections in the order in which they were first
// set. A section that is set again keeps its place; one that was taken away and
// comes back goes to the end. The same holds for tools.
type system struct {
	texts    []string
	sections ordered[string]
	tools    ordered[json.RawMessage]
}

// ordered is a map that remembers the order of its keys.
type ordered[T any] []named[T]

type named[T any] struct {
	name string
	val  T
}

func (o *ordered[T]) set(name string, val T) {
	if i := slices.IndexFunc(*o, func(e named[T]) bool { return e.name == name }); i >= 0 {
		(*o)[i].val = val
		return
	}
	*o = append(*o, named[T]{name, val})
}

func (o *ordered[T]) remove(name string) {
	*o = slices.DeleteFunc(*o, func(e named[T]) bool { return e.name == name })
}

// fold works a system message into the text.
func (s *system) fold(m *message.Message) {
	if text := m.Text(); strings.TrimSpace(text) != "" {
		s.texts = append(s.texts, text)
	}
	for _, sec := range m.Sections {
		if sec.Text == "" {
			s.sections.remove(sec.Name)
		} else {
			s.sections.set(sec.Name, sec.Text)
		}
	}
}

// foldTools replays the tools that a system message takes away and adds, in this
// order, so that one message can replace a tool. It returns what cannot be used.
func (s *system) foldTools(m *message.Message) (bad []string) {
	for _, name := range toolNames(m.ToolsRemoved) {
		s.tools.remove(name)
	}
	jsonx.Elements(m.ToolsAdded, func(tool []byte) bool {
		if name, ok := jsonx.String(jsonx.Get(tool, "name")); ok && name != "" && !tooDeep(tool) {
			s.tools.set(name, tool)
		} else {
			bad = append(bad, "a tool without a name or with a schema too deep to send was added; it is left out")
		}
		return true
	})
	return bad
}

func (s *system) text() string {
	parts := slices.Clone(s.texts)
	for _, sec := range s.sections {
		if strings.TrimSpace(sec.val) != "" {
			parts = append(parts, sec.val)
		}
	}
	return strings.Join(parts, "\n\n")
}

// toolNames returns the names in an array of names or of objects with a name.
func toolNames(arr json.RawMessage) (names []string) {
	jsonx.Elements(arr, func(val []byte) bool {
		if jsonx.IsObject(val) {
			val = jsonx.Get(val, "name")
		}
		if name, ok := jsonx.String(val); ok {
			names = append(names, name)
		}
		return true
	})
	return names
}

// updateText says what a system message in the middle changes; "" for nothing.
func updateText(m *message.Message) string {
	var parts []string
	if text := m.Text(); strings.TrimSpace(text) != "" {
		parts = append(parts, text)
	}
	for _, sec := range m.Sections {
		if sec.Text == "" {
			parts = append(parts, fmt.Sprintf("The section %q of the system prompt no longer applies.", sec.Name))
		} else {
			parts = append(parts, fmt.Sprintf("The section %q of the system prompt now reads:\n\n%s", sec.Name, sec.Text))
		}
	}
	if names := toolNames(m.ToolsRemoved); len(names) > 0 {
		parts = append(parts, "Tools that are no longer there: "+strings.Join(names, ", ")+".")
	}
	if names := toolNames(m.ToolsAdded); len(names) > 0 {
		parts = append(parts, "Tools that were added: "+strings.Join(names, ", ")+".")
	}
	return strings.Join(parts, "\n\n")
}
