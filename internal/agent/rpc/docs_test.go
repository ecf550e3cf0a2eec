package rpc

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
)

// The reference (clew help rpc) has a section with an example for every method, a row for every
// event and every code, and nothing beside; docs/rpc.md names every method. The examples of both
// are lines that mean something.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/rpc.md")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile("../../../cmd/clew/help/rpc.md")
	if err != nil {
		t.Fatal(err)
	}
	headings, rows := map[string]bool{}, map[string]bool{}
	section := ""
	examples := map[string]int{}
	for line := range strings.Lines(string(reference) + string(page)) {
		line = strings.TrimRight(line, "\n")
		if h, ok := strings.CutPrefix(line, "### "); ok {
			section, headings[h] = h, true
		}
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(row, "`")
			rows[name] = true
		}
		example, ok := strings.CutPrefix(line, "    {")
		if !ok {
			continue
		}
		example = "{" + example
		var kind map[string]json.RawMessage
		if err := json.Unmarshal([]byte(example), &kind); err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		switch {
		case kind["method"] != nil:
			r, bad := parseRequest([]byte(example))
			if bad != nil {
				t.Errorf("%s: %v", example, bad)
			} else if err := try(r); err != nil {
				t.Errorf("%s: %v", example, err)
			}
			if section == r.Method {
				examples[section]++
			}
		case kind["event"] != nil:
			var e agent.Event
			if err := strictly(kind["event"], &e); err != nil || !slices.Contains(agent.Kinds(), e.Kind) {
				t.Errorf("%s: %v", example, err)
			}
		case kind["hello"] != nil:
			if err := strictly(kind["hello"], &agent.Hello{}); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		case kind["error"] != nil:
			if err := strictly(kind["error"], &Error{}); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		case kind["result"] == nil:
			t.Errorf("%s: what is it?", example)
		}
	}
	for _, m := range Methods() {
		if !strings.Contains(string(page), "`"+m+"`") {
			t.Errorf("docs/rpc.md does not name the method %s", m)
		}
		if !headings[m] || examples[m] == 0 {
			t.Errorf("method %s: section %v, %d examples", m, headings[m], examples[m])
		}
		delete(headings, m)
	}
	if len(headings) > 0 {
		t.Errorf("sections for no method: %v", headings)
	}
	known := map[string]bool{}
	for _, k := range agent.Kinds() {
		if known[string(k)] = true; !rows[string(k)] {
			t.Errorf("event %s has no row", k)
		}
	}
	for _, c := range []string{CodeBadLine, CodeUnknownMethod, CodeBadParams, CodeBusy, CodeTooMany, CodeClosed, CodeNotFound, CodeLater, CodeLocked, CodeChanged, CodeCancelled, CodeFailed} {
		if known[c] = true; !rows[c] {
			t.Errorf("code %s has no row", c)
		}
	}
	for row := range rows {
		if !known[row] {
			t.Errorf("the row %s is for nothing", row)
		}
	}
	event := reflect.TypeFor[agent.Event]()
	for i := range event.NumField() {
		name, _, _ := strings.Cut(event.Field(i).Tag.Get("json"), ",")
		if !strings.Contains(string(reference), "`"+name+"`") && name != "time" && name != "kind" {
			t.Errorf("the member %s of events is not mentioned", name)
		}
	}
}

func strictly(data []byte, to any) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// try decodes the params of an example as the method would.
func try(r request) error {
	m, ok := methods()[r.Method]
	if r.Params == nil || !ok {
		return nil
	}
	_, err := decode(m.params, r.Params)
	return err
}
