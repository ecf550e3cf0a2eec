package main

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// jsonShapes are the values that --json prints, by the headings of docs/JSON.md.
var jsonShapes = map[string]any{
	"version": versionInfo{}, "settings": settingsReport{}, "models": modelsReport{}, "chat": chatHeader{}, "ls": sessionList{}, "rm": []removedSession{}, "tree": treeJSON{},
	"context": contextJSON{}, "verify": []verifiedFile{}, "repair": repairReport{},
	"compact": compactReport{}, "undo": undoReport{},
	"explain": explainReport{}, "explain --presets": presetsReport{}, "summarize": summaryReport{}, "pin": pinReport{}, "purge": purgeReport{}, "recall": recallReport{},
	"import": []importedFile{}, "export": exportReport{},
	"replay": replayJSON{}, "A policy's figures": keptJSON{},
	"branch": branchReport{}, "fork": forkReport{}, "label": labelReport{}, "name": nameReport{},
	"A session": sessionJSON{}, "A reading": token.Reading{}, "A problem": session.Problem{}, "A plan": compact.Plan{},
}

// TestJSONIsDocumented holds docs/JSON.md against the types that are printed:
// every field stands in one row, every row has fields, and ? stands where a field may
// be left out.
func TestJSONIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/JSON.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]map[string]bool{} // heading → field → may be left out
	heading := ""
	row := regexp.MustCompile("^\\| (`[^|]+) \\| .*\\|$")
	field := regexp.MustCompile("^`([^`]+)`( \\?)?$")
	for line := range strings.Lines(string(doc)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(h)
			documented[heading] = map[string]bool{}
		}
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		for name := range strings.SplitSeq(m[1], ", ") {
			f := field.FindStringSubmatch(name)
			if f == nil {
				t.Fatalf("docs/JSON.md, %s: %q is no field", heading, name)
			}
			if _, twice := documented[heading][f[1]]; twice {
				t.Errorf("docs/JSON.md, %s: two rows for %s", heading, f[1])
			}
			documented[heading][f[1]] = f[2] != ""
		}
	}
	apart := map[reflect.Type]bool{}
	for name, shape := range jsonShapes {
		if strings.HasPrefix(name, "A ") {
			apart[reflect.TypeOf(shape)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(jsonShapes)) {
		want := map[string]bool{}
		jsonFields(reflect.TypeOf(jsonShapes[name]), "", apart, want, true)
		for field, optional := range want {
			if got, ok := documented[name][field]; !ok {
				t.Errorf("docs/JSON.md, %s: no row for %s", name, field)
			} else if got != optional && !strings.Contains(field, "[].") && !strings.Contains(field, ".") {
				t.Errorf("docs/JSON.md, %s: %s may be left out: %v, says the row: %v", name, field, optional, got)
			}
		}
		for field := range documented[name] {
			if _, ok := want[field]; !ok {
				t.Errorf("docs/JSON.md, %s: %s is never printed", name, field)
			}
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("docs/JSON.md has sections for nothing: %v", documented)
	}
}

var (
	marshaler  = reflect.TypeFor[json.Marshaler]()
	rawMessage = reflect.TypeFor[json.RawMessage]()
)

// jsonFields lists the fields of a type as paths, and whether they may be left out.
func jsonFields(typ reflect.Type, path string, apart map[reflect.Type]bool, into map[string]bool, top bool) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Slice && typ != rawMessage {
		jsonFields(typ.Elem(), path+"[]", apart, into, top)
		return
	}
	if typ.Kind() != reflect.Struct || typ.Implements(marshaler) || !top && apart[typ] {
		if _, ok := into[path]; !ok {
			into[path] = false
		}
		return
	}
	for f := range fields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			jsonFields(f.Type, path, apart, into, true)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		before := maps.Clone(into)
		jsonFields(f.Type, at, apart, into, false)
		for field := range into {
			if _, ok := before[field]; !ok && strings.TrimSuffix(field, "[]") == at {
				into[field] = options == "omitempty"
			}
		}
	}
}

func fields(typ reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range typ.NumField() {
			if !yield(typ.Field(i)) {
				return
			}
		}
	}
}
