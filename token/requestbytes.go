package token

import "github.com/clew-dev/clew/message"

// RequestBytes is about how many bytes a message takes in a request, as in
// Reading.Bytes.
func RequestBytes(m *message.Message) int64 { return sentBytes(m) }
