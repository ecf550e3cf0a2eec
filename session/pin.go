package session

import (
	"encoding/json"
	"slices"
)

// CustomPin is a custom entry that pins an entry or takes the pin away.
const CustomPin = "clew.pin"

type pinData struct {
	ID string `json:"id"`
	On bool   `json:"on"`
}

// NewPin drafts a pin: a mark that keeps an entry verbatim through every pass.
// on false takes the pin away.
func NewPin(id string, on bool) Draft {
	data, _ := json.Marshal(pinData{id, on}) // a string and a flag: it can't fail
	return NewCustom(CustomPin, data)
}

// Pins returns the ids of the entries that are pinned at the end of a path, in
// the order they were pinned. The path may be what ContextPath gives: a
// compaction says in its details what was pinned when it was made.
func Pins(path []*Entry) []string {
	var pins []string
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Type == TypeCompaction {
			pins = compactionPins(path[i])
			path = path[i+1:]
			break
		}
	}
	for _, e := range path {
		c, ok := e.Custom()
		if !ok || c.CustomType != CustomPin {
			continue
		}
		var p pinData
		if json.Unmarshal(c.Data, &p) != nil || p.ID == "" {
			continue
		}
		pins = slices.DeleteFunc(pins, func(id string) bool { return id == p.ID })
		if p.On {
			pins = append(pins, p.ID)
		}
	}
	return pins
}

func compactionPins(e *Entry) []string {
	view, _ := e.Compaction()
	var d struct {
		Clew struct {
			Pins []string `json:"pins"`
		} `json:"clew"`
	}
	if json.Unmarshal(view.Details, &d) != nil {
		return nil
	}
	return d.Clew.Pins
}
