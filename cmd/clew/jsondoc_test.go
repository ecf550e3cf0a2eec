package main

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/admin"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// jsonShapes are the values that --json prints, by the headings of help/json.md.
var jsonShapes = map[string]any{
	"gateway": gateway.Event{}, "top": admin.Listing{},
	"version": versionInfo{}, "settings": settingsReport{}, "models": modelsReport{}, "chat": chatHeader{}, "ls": sessionList{}, "rm": []removedSession{}, "setup": setupReport{}, "resume": resumeReport{}, "tree": treeJSON{},
	"context": contextReport{}, "verify": []verifiedFile{}, "repair": repairReport{},
	"compact": compactReport{}, "undo": undoReport{},
	"explain": explainReport{}, "explain --presets": presetsReport{}, "summarize": summaryReport{}, "pin, unpin": pinReport{}, "purge": purgeReport{}, "recall": recallReport{},
	"import": []importedFile{}, "export": exportReport{}, "db": dbReport{},
	"replay": replayJSON{}, "A policy's figures": keptJSON{},
	"branch": branchReport{}, "fork, clone": forkReport{}, "label": labelReport{}, "name": nameReport{},
	"A session": sessionJSON{}, "A reading": token.Reading{}, "A problem": session.Problem{}, "A plan": compact.Plan{},
}

// TestJSONIsDocumented: help/json.md has a row for every field that is printed and for no
// other, and ? stands where a field may be left out. UPDATE=1 makes it so: what a row says
// of its fields stays, and new fields get a row that says nothing yet.
func TestJSONIsDocumented(t *testing.T) {
	const name = "help/json.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	apart := map[reflect.Type]bool{}
	for name, shape := range jsonShapes {
		if strings.HasPrefix(name, "A ") {
			apart[reflect.TypeOf(shape)] = true
		}
	}
	var b strings.Builder
	seen := map[string]bool{}
	for i, section := range strings.Split(string(doc), "\n## ") {
		heading, _, _ := strings.Cut(section, "\n")
		if i > 0 {
			b.WriteString("\n## ")
			if jsonShapes[heading] == nil {
				t.Errorf("%s: there is no shape for the section %q", name, heading)
			}
		}
		if shape := jsonShapes[heading]; shape != nil {
			var want []jsonField
			jsonFields(reflect.TypeOf(shape), "", apart, &want, true, false)
			section, seen[heading] = withRows(section, want), true
		}
		b.WriteString(section)
	}
	for heading := range jsonShapes {
		if !seen[heading] {
			t.Errorf("%s: no section %q", name, heading)
		}
	}
	switch {
	case b.String() == string(doc):
	case os.Getenv("UPDATE") == "":
		t.Errorf("%s is not what the types say; UPDATE=1 go test ./cmd/clew -run JSONIsDocumented shows how", name)
	default:
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	rowPattern   = regexp.MustCompile("^- ((?:`[^`]+`(?: \\?)?(?:, )?)+)(:.*)?$")
	fieldPattern = regexp.MustCompile("`([^`]+)`")
)

// withRows brings the table of a section up to date.
func withRows(section string, want []jsonField) string {
	left := map[string]jsonField{}
	for _, f := range want {
		left[f.path] = f
	}
	var out []string
	last := 0 // after the last row
	for line := range strings.SplitSeq(section, "\n") {
		m := rowPattern.FindStringSubmatch(line)
		if m == nil {
			out = append(out, line)
			continue
		}
		var fields []string
		for _, name := range fieldPattern.FindAllStringSubmatch(m[1], -1) {
			if f, ok := left[name[1]]; ok {
				fields = append(fields, f.String())
				delete(left, f.path)
			}
		}
		if len(fields) > 0 {
			out = append(out, "- "+strings.Join(fields, ", ")+m[2])
			last = len(out)
		}
	}
	for _, f := range want {
		if _, missing := left[f.path]; missing {
			out = slices.Insert(out, last, "- "+f.String())
			last++
		}
	}
	return strings.Join(out, "\n")
}

// A jsonField is a field as a path from the top.
type jsonField struct {
	path     string
	optional bool
}

func (f jsonField) String() string {
	if f.optional {
		return "`" + f.path + "` ?"
	}
	return "`" + f.path + "`"
}

var (
	marshaler  = reflect.TypeFor[json.Marshaler]()
	rawMessage = reflect.TypeFor[json.RawMessage]()
)

// jsonFields lists the fields of a type that hold no others.
func jsonFields(typ reflect.Type, path string, apart map[reflect.Type]bool, into *[]jsonField, top, optional bool) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Slice && typ != rawMessage {
		jsonFields(typ.Elem(), path+"[]", apart, into, top, optional)
		return
	}
	if typ.Kind() != reflect.Struct || typ.Implements(marshaler) || !top && apart[typ] {
		*into = append(*into, jsonField{path, optional})
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			jsonFields(f.Type, path, apart, into, true, optional)
		case name != "-" && f.IsExported():
			jsonFields(f.Type, strings.TrimPrefix(path+"."+name, "."), apart, into, false, options == "omitempty" || options == "omitzero")
		}
	}
}
