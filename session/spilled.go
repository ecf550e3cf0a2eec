package session

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Spilled says where the full content of a message is that was too large for the
// log: the JSON of the message, as it was to be written, is the content of this
// address in the session's blob store. The log has an excerpt of it.
type Spilled struct {
	// ID is the address, as package blob writes it.
	ID string `json:"id"`
	// Size is that of the JSON, in bytes.
	Size int64 `json:"size"`
	// Purged says that the content was erased on purpose.
	Purged bool `json:"purged,omitempty"`
}

// WithSpilled returns the excerpt of a message with the address of the full content
// in its details.
func WithSpilled(excerpt *message.Message, at Spilled) (*message.Message, error) {
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

// SpilledOf returns where the full content of a message is, if it is not in the log.
func SpilledOf(m *message.Message) (Spilled, bool) {
	var at Spilled
	val := jsonx.Get(jsonx.Get(jsonx.Get(m.JSON(), "details"), "clew"), "blob")
	if !jsonx.IsObject(val) || json.Unmarshal(val, &at) != nil || at.ID == "" {
		return Spilled{}, false
	}
	return at, true
}
