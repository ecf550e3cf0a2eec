package session

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// OutOfLine says where the whole of a message is whose content was too large for
// the log: the JSON of the message, as it was to be written, is the content of
// this address in the session's blob store. The log has an excerpt of it.
type OutOfLine struct {
	// ID is the address, as package blob writes it.
	ID string `json:"id"`
	// Size is that of the JSON, in bytes.
	Size int64 `json:"size"`
}

// WithOutOfLine returns the excerpt of a message with the address of the whole in
// its details.
func WithOutOfLine(excerpt *message.Message, at OutOfLine) (*message.Message, error) {
	value, err := json.Marshal(at)
	if err != nil {
		return nil, err
	}
	clew := jsonx.Set([]byte("{}"), "blob", value)
	details := []byte("{}")
	if d := jsonx.Get(excerpt.JSON(), "details"); jsonx.IsObject(d) {
		details = d
	}
	return message.Parse(jsonx.Set(excerpt.JSON(), "details", jsonx.Set(details, "clew", clew)))
}

// OutOfLineOf returns where the whole of a message is, if it is out of line.
func OutOfLineOf(m *message.Message) (OutOfLine, bool) {
	var d struct {
		Clew struct {
			Blob OutOfLine `json:"blob"`
		} `json:"clew"`
	}
	details := jsonx.Get(m.JSON(), "details")
	if !jsonx.IsObject(details) || json.Unmarshal(details, &d) != nil || d.Clew.Blob.ID == "" {
		return OutOfLine{}, false
	}
	return d.Clew.Blob, true
}
