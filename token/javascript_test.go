package token

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

type measured struct {
	text string
	n    int64
}

func (m *measured) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&m.text, &m.n})
}

func javascript(t *testing.T) (stringify, decode []measured) {
	t.Helper()
	data, err := os.ReadFile("testdata/javascript.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Stringify, Decode []measured }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Stringify) < 200 || len(all.Decode) < 150 {
		t.Fatalf("only %d and %d answers", len(all.Stringify), len(all.Decode))
	}
	return all.Stringify, all.Decode
}

// The length of a JSON value is that of JavaScript's own spelling of it.
func TestStringifyLenIsThatOfJavaScript(t *testing.T) {
	values, _ := javascript(t)
	for _, v := range values {
		if got := stringifyLen([]byte(v.text)); got != v.n {
			t.Errorf("stringifyLen(%s) = %d, JavaScript has %d", v.text, got, v.n)
		}
	}
}

// Text that is not UTF-8 has the length it has once JavaScript decoded it.
func TestUTF16LenIsThatOfJavaScript(t *testing.T) {
	_, texts := javascript(t)
	for _, v := range texts {
		raw, err := hex.DecodeString(v.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := utf16Len(string(raw)); got != v.n {
			t.Errorf("utf16Len(%s) = %d, JavaScript has %d", v.text, got, v.n)
		}
	}
}

// A value that is not JSON is as long as its text, and nesting is no problem.
func TestStringifyLenOfAnything(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "{": 1, `{"a":}`: 6, "日": 1} {
		if got := stringifyLen([]byte(text)); got != want {
			t.Errorf("stringifyLen(%q) = %d, want %d", text, got, want)
		}
	}
	deep := strings.Repeat(`[{"a":`, 4000) + "1" + strings.Repeat("}]", 4000)
	if got := stringifyLen([]byte(deep)); got != int64(len(deep)) {
		t.Errorf("8,000 levels: %d, want %d", got, len(deep))
	}
	tooDeep := strings.Repeat("[", 20_000)
	if got := stringifyLen([]byte(tooDeep)); got != 20_000 {
		t.Errorf("20,000 levels: %d", got)
	}
}
