package text

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"state", "path", "tree", "set_mode", "set_model", "settings"}
	for name, want := range map[string]string{
		"stat": "state", "STATE": "state", "pth": "path", "set_mdoe": "set_mode", "treee": "tree", "zzzzzzzz": "", "": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Nearest("bat", []string{"cat", "bad"}); got != "bad" {
		t.Errorf("of two that are equally near it is %q", got)
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc": "a b c", "\x1b[2Jx": "\uFFFD[2Jx", "ab\u202ecd": "ab\uFFFDcd", "日本": "日本",
	} {
		if got := OneLine(in, 100); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Valid("a\x00b\xff"); got != "a\uFFFDb\uFFFD" {
		t.Errorf("Valid = %q", got)
	}
}
