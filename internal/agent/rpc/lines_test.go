package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/clew-dev/clew/agent"
)

// FuzzLines holds the reader to what a plain split at LF gives, however the bytes come,
// and parsing to an error or a request that can be answered.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"method\":\"state\"}\n"), 1000)
	f.Add([]byte("a\nbb\n\nccc"), 2)
	f.Add([]byte("{\"id\":\"x\",\"method\":\"send\",\"params\":{\"text\":\"\\ud800\"}}\r\n\x00\xff\n"), 70)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		if most < 0 || most > 1<<20 {
			return
		}
		// A small buffer, so that lines are longer.
		l := &lineReader{bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(data)), 16), most}
		want := bytes.Split(data, []byte("\n"))
		for i, line := range want {
			got, err := l.next()
			switch last := i == len(want)-1; {
			case last && len(line) == 0:
				if !errors.Is(err, io.EOF) {
					t.Fatalf("at the end: %q %v", got, err)
				}
			case last:
				if !errors.Is(err, errTorn) {
					t.Fatalf("a line without an end: %q %v", got, err)
				}
			case len(line) > most:
				if !errors.Is(err, errLong) {
					t.Fatalf("a line of %d: %v", len(line), err)
				}
			case err != nil || !bytes.Equal(got, line):
				t.Fatalf("%q %v, want %q", got, err, line)
			default:
				r, bad := parseRequest(got)
				if bad == nil && (r.Method == "" || !json.Valid(r.ID) || r.Params != nil && !json.Valid(r.Params)) {
					t.Fatalf("%q gives %+v", got, r)
				}
				if bad != nil && (bad.Code != CodeBadLine || bad.Message == "" || bad.Hint == "") {
					t.Fatalf("%q gives %+v", got, bad)
				}
			}
		}
	})
}

// TestSubscribeIsFromNowOn: what has happened before goes by the kinds that the client wanted then.
func TestSubscribeIsFromNowOn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewServer(&out)
	s.Event(agent.Event{Kind: agent.KindWarning, Text: "before"})
	if err := doSubscribe(s, []agent.Kind{}); err != nil {
		t.Fatal(err)
	}
	s.Event(agent.Event{Kind: agent.KindWarning, Text: "after"})
	if err := s.Flush(); err != nil || !strings.Contains(out.String(), "before") || strings.Contains(out.String(), "after") {
		t.Errorf("%v: %s", err, &out)
	}
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`{"id":1,"method":"state"}`, ""},
		{`{"id":"a","method":"state","params":null}`, ""},
		{` {"method":"state","id":-7,"params":{}} ` + "\r", ""},
		{``, "no JSON object"},
		{`null`, "no JSON object"},
		{`[]`, "no JSON object"},
		{`{"id":1,"method":"state"`, "no JSON object"},
		{`{"id":1,"method":"state"} {}`, "no JSON object"},
		{"{\"id\":1,\"method\":\"\xff\"}", "not UTF-8"},
		{`{"method":"state"}`, "no id"},
		{`{"id":null,"method":"state"}`, "the id is neither"},
		{`{"id":1.5,"method":"state"}`, "the id is neither"},
		{`{"id":{},"method":"state"}`, "the id is neither"},
		{`{"id":"` + strings.Repeat("x", 2000) + `","method":"state"}`, "the id is neither"},
		{`{"id":1}`, "no method"},
		{`{"id":1,"method":7}`, "the method is no text"},
		{`{"id":1,"method":"state","params":[]}`, "params is no JSON object"},
		{`{"id":1,"method":"state","parms":{}}`, `no member "parms"`},
	} {
		_, bad := parseRequest([]byte(c.line))
		if (bad == nil) != (c.want == "") || bad != nil && !strings.Contains(bad.Message, c.want) {
			t.Errorf("%.60q: %v, want %q", c.line, bad, c.want)
		}
	}
}
