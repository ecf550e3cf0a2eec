package jsonx

import "testing"

func TestOne(t *testing.T) {
	for data, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, " [1] \n": "[1]", "1": "1",
		"": "", "  ": "", "{": "", "1 2": "", `{"a":1}x`: "",
	} {
		if got := string(One([]byte(data))); got != want {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	}
}

func TestMembersOfAnAnswer(t *testing.T) {
	obj := []byte(`{"s":"x","n":3,"m":-3,"b":true}`)
	if StringAt(obj, "s") != "x" || StringAt(obj, "n") != "" || StringAt(obj, "no") != "" || StringAt(nil, "s") != "" {
		t.Error("StringAt")
	}
	if CountAt(obj, "n") != 3 || CountAt(obj, "m") != 0 || CountAt(obj, "b") != 0 || CountAt(nil, "n") != 0 {
		t.Error("CountAt")
	}
	for want, values := range map[string][][]byte{"[]": nil, "[1]": {[]byte("1")}, `[1,"a",{}]`: {[]byte("1"), []byte(`"a"`), []byte("{}")}} {
		if got := string(Array(values)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
