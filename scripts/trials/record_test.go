package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What is recorded keeps the form that a program writes: keys, their order, numbers, spaces,
// escapes and characters beyond ASCII. Its words, ids and folders are gone.
func TestScrub(t *testing.T) {
	body := `{"model": "m", "max_tokens":1.0e3,"system":"You are \u201cthe\u201d agent; \ud83d\ude00 größer\n/tmp/trial/home",` +
		`"cwd":"/tmp/trial/project","session":"0199a1b2-1111-4222-8333-0123456789ab","tools":[{"name":"read_file","enum":["a","b"]}],"arguments":"{\"path\":\"a b\"}"}`
	got := string(scrub([]byte(body), "/tmp/trial"))
	if !json.Valid([]byte(got)) || len(got) == 0 {
		t.Fatalf("no JSON: %s", got)
	}
	for _, same := range []string{`{"model": "m", "max_tokens":1.0e3,"system":"`, `\u201c`, `\ud83d\ude00`, `ö`, `\n`, `"cwd":"/home/user/project"`, `"00000000-0000-0000-0000-000000000000"`, `"read_file","enum":["a","b"]`, `"{\"path\":\"a b\"}"`} {
		if !strings.Contains(got, same) {
			t.Errorf("without %s: %s", same, got)
		}
	}
	for _, gone := range []string{"You", "agent", "trial", "0199a1b2"} {
		if strings.Contains(got, gone) {
			t.Errorf("with %s: %s", gone, got)
		}
	}
	if long := scrub([]byte(`"`+strings.Repeat(`word \ud83d\ude00 `, 100)+`"`), "/tmp/trial"); !json.Valid(long) || len(long) > maxProse+20 {
		t.Errorf("a long text became %d bytes: %s", len(long), long)
	}
}
