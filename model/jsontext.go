package model

import (
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// objectText returns the JSON object in a text, without white space around it. A
// blank text is an empty object.
func objectText(s string) (obj string, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || s == "null" {
		return "{}", true
	}
	end, err := jsonx.Scan([]byte(s), 0)
	return s, err == nil && end == len(s) && s[0] == '{'
}
