package jsonx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var samples = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0.5e+10`, `"a"`, `"\ud83d"`, `"\ud83d\ude00"`, `"\u0041\n\/"`,
	`{"a":1,"a":[{"b":{}}],"c":"x\"y"}`, ` [ 1 , 2 , { "k" : null } ] `, `[[[[[]]]]]`, `{"":""}`,
	"", "{", "[1,", `{"a"`, `{"a":`, `{"a":1,}`, `[1,]`, `01`, `1.`, `1e`, `-`, `+1`, `nul`, `tru`, `"`, `"\`, `"\u12`, `"\x"`, "\"\x01\"", `{a:1}`, `[1 2]`, `}`, `]`, `{"a" 1}`, "\xef\xbb\xbf{}",
	`"plain run longer than eight bytes \\ and then 日本語 some"`,
	"\"tab\there\"", "\"12345678\x1f\"", `{"k":"` + strings.Repeat("x", 100) + `"}`,
}

// Scan accepts what encoding/json accepts, but for bytes that are not UTF-8.
func TestScanAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range samples {
		checkAgainstStd(t, []byte(s))
	}
}

// ScanMembers says what Scan says, and gives the members that Members gives.
func TestScanMembersAgreesWithScanAndMembers(t *testing.T) {
	for _, s := range samples {
		checkScanMembers(t, []byte(s))
	}
	for _, n := range []int{MaxDepth - 1, MaxDepth} {
		checkScanMembers(t, []byte(`{"k":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`))
	}
}

func checkScanMembers(t *testing.T, data []byte) {
	t.Helper()
	end, err := Scan(data, 0)
	var got, want []string
	gotEnd, gotErr := ScanMembers(data, 0, func(k, v []byte) { got = append(got, string(k), string(v)) })
	if end != gotEnd || fmt.Sprint(err) != fmt.Sprint(gotErr) {
		t.Fatalf("ScanMembers(%.100q) = %d, %v; Scan gives %d, %v", data, gotEnd, gotErr, end, err)
	}
	// By hand, two levels deep.
	i := Space(data, 0)
	if i < len(data) && (data[i] == '{' || data[i] == '[') {
		if end, serr := scanTwoDeep(data, i, 0); end != gotEnd || fmt.Sprint(err) != fmt.Sprint(serr) {
			t.Fatalf("ScanObject and ScanArray of %.100q give %d, %v; Scan gives %d, %v", data, end, serr, gotEnd, err)
		}
	}
	if err != nil {
		return
	}
	Members(data, func(k, v []byte) bool { want = append(want, string(k), string(v)); return true })
	if !slices.Equal(got, want) {
		t.Errorf("ScanMembers(%.100q) gives %q, Members %q", data, got, want)
	}
}

func scanTwoDeep(data []byte, i, depth int) (int, error) {
	if depth < 3 && i < len(data) {
		switch data[i] {
		case '{':
			return ScanObject(data, i, func(_ []byte, at int) (int, error) { return scanTwoDeep(data, at, depth+1) })
		case '[':
			return ScanArray(data, i, func(at int) (int, error) { return scanTwoDeep(data, at, depth+1) })
		}
	}
	return ScanAt(data, i, depth)
}

func checkAgainstStd(t *testing.T, data []byte) {
	t.Helper()
	end, err := Scan(data, 0)
	ok := err == nil && Space(data, end) == len(data)
	if want := json.Valid(data); ok != want {
		t.Errorf("Scan(%q): %v at %d; encoding/json says valid=%v", data, err, end, want)
	}
	if !ok {
		return
	}
	if data[Space(data, 0)] == '"' {
		trimmed := bytes.TrimSpace(data)
		got, _ := String(trimmed)
		var want string
		if json.Unmarshal(data, &want) == nil && utf8.Valid(data) && got != want {
			t.Errorf("String(%q) = %q, want %q", data, got, want)
		}
		if utf8.Valid(data) {
			var back string
			if err := json.Unmarshal(Quote(got), &back); err != nil || back != want {
				t.Errorf("Quote(%q) does not read back: %v", got, err)
			}
		}
	}
	clean := Clean(data)
	if !json.Valid(clean) || !Sound(clean) || !utf8.Valid(clean) {
		t.Errorf("Clean(%q) = %q is not clean", data, clean)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkAgainstStd(t, data)
		checkScanMembers(t, data)
		// The views must hold still on anything, valid or not.
		Members(data, func(_, v []byte) bool { Elements(v, func([]byte) bool { return true }); return true })
		Set(data, "k", []byte("1"))
		String(data)
		Clean(data)
	})
}

// Every proper prefix of a value is reported as cut short, never as something else.
func TestScanPrefixIsErrEnd(t *testing.T) {
	full := []byte(`{"a":[1,true,null,"x\u00e9\n",{"b":-1.5e3}],"c":false}`)
	for n := range len(full) {
		_, err := Scan(full[:n], 0)
		if se, ok := errors.AsType[*SyntaxError](err); !ok || !se.Is(ErrEnd) {
			t.Fatalf("prefix %q: %v, want an ErrEnd", full[:n], err)
		}
	}
}

func TestScanDepth(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := Scan(deep(MaxDepth), 0); err != nil {
		t.Fatalf("depth %d: %v", MaxDepth, err)
	}
	if _, err := Scan(deep(MaxDepth+1), 0); !errors.Is(err, ErrDepth) {
		t.Fatalf("depth %d: %v, want ErrDepth", MaxDepth+1, err)
	}
}

func TestSetKeepsEveryOtherByte(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a" : 1, "b":2 }`, "a", `{"a" : 9, "b":2 }`},
		{`{"a":1,"a":2}`, "a", `{"a":1,"a":9}`},
		{`{"x":12345678901234567890}`, "k", `{"x":12345678901234567890,"k":9}`},
		{`{}`, "k", `{"k":9}`},
		{`{ }`, "k", `{"k":9}`},
	} {
		if got := Set([]byte(c[0]), c[1], []byte("9")); string(got) != c[2] {
			t.Errorf("Set(%s, %s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestMembersDecodesKeys(t *testing.T) {
	var keys []string
	Members([]byte(`{"\u0061":1,"b":[2],"c":{"d":3}}`), func(k, _ []byte) bool { keys = append(keys, string(k)); return true })
	if strings.Join(keys, " ") != "a b c" {
		t.Errorf("keys %q", keys)
	}
}

func TestObject(t *testing.T) {
	var o Object
	o.Str("a", "x\ny")
	o.Int("b", -3)
	o.Bool("c", true)
	o.Raw("d", []byte("[1]"))
	o.Raw("e", nil)
	o.OptStr("f", "")
	if got, want := string(o.Bytes()), `{"a":"x\ny","b":-3,"c":true,"d":[1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(new(Object).Bytes()); got != "{}" {
		t.Errorf("empty object: %s", got)
	}
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"type":"message","message":{"role":"user","content":[{"type":"text","text":` + string(Quote(strings.Repeat("func main() {\n\tfmt.Println(1)\n}\n", 500))) + `}]}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Scan(line, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStdValid(b *testing.B) {
	line := []byte(`{"type":"message","message":{"role":"user","content":[{"type":"text","text":` + string(Quote(strings.Repeat("func main() {\n\tfmt.Println(1)\n}\n", 500))) + `}]}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if !json.Valid(line) {
			b.Fatal("invalid")
		}
	}
}

// TestSound: at every offset, since eight bytes are read at a time.
func TestSound(t *testing.T) {
	for s, want := range map[string]bool{
		``: true, `plain`: true, `\n\"\\`: true, `\u0041`: true, `中文`: true, `\ufffd�`: true, `\\ud83d`: true, `\`: true,
		`\ud83d\ude00`: true, `😀`: true, `\ud83d`: false, `\ude00`: false, `\ud83dx`: false, `\ud83d\n`: false,
		`\ud83d\ud83d\ude00`: false, "\xff": false, "中\xe4\xb8": false, "\xed\xa0\xbd": false,
	} {
		for pad := range 20 {
			val := strings.Repeat("x", pad) + s
			for _, val := range []string{val, val + strings.Repeat("y", 9)} {
				if s == `\` && len(val) > pad+1 {
					continue
				}
				if Sound([]byte(val)) != want {
					t.Errorf("Sound(%q) is %v", val, !want)
				}
			}
		}
	}
}
