package message

import (
	"encoding/json"
	"testing"
)

// A parsed message keeps its bytes, and its views and copies hold still on
// anything.
func FuzzParse(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		m, err := Parse(data)
		if string(data) != before {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if m != nil {
				t.Fatal("a message beside an error")
			}
			return
		}
		raw := string(m.JSON())
		if !json.Valid([]byte(raw)) {
			t.Fatalf("%q is no JSON", raw)
		}
		again, err := Parse([]byte(raw))
		if err != nil || string(again.JSON()) != raw || again.Role != m.Role || again.Text() != m.Text() {
			t.Fatalf("%q reads back as %q, %v", raw, again.JSON(), err)
		}
		_ = m.Source()
		_ = m.StartsTurn()
		_ = m.ToolCalls()
		_ = m.Usage.Total()
		_ = m.Time()
		for i := range m.Content {
			if js := m.Content[i].JSON(); !json.Valid(js) {
				t.Fatalf("block %q", js)
			}
		}
		for _, c := range []*Message{m.WithContent(m.Content), m.WithRawContent([]byte(`"new"`)), m.WithContent(nil)} {
			if _, err := Parse(c.JSON()); err != nil {
				t.Fatalf("a copy of %q is %q: %v", raw, c.JSON(), err)
			}
		}
		// Written from its fields it is a message again.
		built := *m
		built.raw = nil
		if back, err := Parse(built.JSON()); err != nil || back.Role != Role([]rune(m.Role)) {
			t.Fatalf("%q written anew is %q: %v", raw, built.JSON(), err)
		}
	})
}
