package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Exchange is a request and what was answered.
type Exchange struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with its query
	// RequestHeader has no keys; they are replaced by a word.
	RequestHeader http.Header     `json:"requestHeader,omitempty"`
	Request       json.RawMessage `json:"request"`

	Status         int         `json:"status"`
	ResponseHeader http.Header `json:"responseHeader,omitempty"`
	Response       string      `json:"response"`

	// Violations are the rules that the request broke.
	Violations []string `json:"violations,omitempty"`
	// Kept says that the request before was the start of this one.
	Kept bool `json:"kept,omitempty"`
}

// WriteExchanges writes exchanges, one a line.
func WriteExchanges(w io.Writer, xs []Exchange) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, x := range xs {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}

// ReadExchanges reads what WriteExchanges wrote.
func ReadExchanges(r io.Reader) (out []Exchange, err error) {
	for d := json.NewDecoder(r); ; {
		var x Exchange
		switch err := d.Decode(&x); err {
		case nil:
			out = append(out, x)
		case io.EOF:
			return out, nil
		default:
			return nil, fmt.Errorf("exchange %d: %w", len(out)+1, err)
		}
	}
}
