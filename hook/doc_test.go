package hook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// shapes are what programs get and answer, by the headings of cmd/clew/help/hooks.md.
var shapes = map[string][2]any{
	hook.SessionStart:         {hook.SessionEvent{}, hook.NoAnswer{}},
	hook.SessionShutdown:      {hook.SessionEvent{}, hook.NoAnswer{}},
	hook.Context:              {hook.ContextEvent{}, hook.ContextAnswer{}},
	hook.ToolResult:           {hook.ToolResultEvent{}, hook.ToolResultAnswer{}},
	hook.SessionBeforeCompact: {hook.BeforeCompactEvent{}, hook.BeforeCompactAnswer{}},
	hook.SessionCompact:       {hook.CompactEvent{}, hook.CompactAnswer{}},
	hook.SessionCompactFailed: {hook.CompactFailedEvent{}, hook.NoAnswer{}},
	hook.SessionBeforeTree:    {hook.BeforeTreeEvent{}, hook.BeforeTreeAnswer{}},
	hook.SessionTree:          {hook.TreeEvent{}, hook.NoAnswer{}},
	hook.SessionBeforeFork:    {hook.BeforeForkEvent{}, hook.BeforeForkAnswer{}},
	"An edit":                 {nil, hook.Edit{}},
	"Every event":             {hook.Head{}, nil},
	"A pass":                  {hook.Pass{}, nil},
	"A preparation":           {hook.Preparation{}, nil},
	"A compaction":            {nil, hook.Compaction{}},
	"A usage":                 {hook.Usage{}, nil},
}

// elsewhere are types that clew help json, docs/FORMAT.md or another section describes.
var elsewhere = []reflect.Type{
	reflect.TypeFor[token.Reading](), reflect.TypeFor[compact.Budget](), reflect.TypeFor[compact.Plan](),
	reflect.TypeFor[message.Message](), reflect.TypeFor[ledger.Ledger](), reflect.TypeFor[json.RawMessage](),
	reflect.TypeFor[hook.Usage](), reflect.TypeFor[hook.Preparation](), reflect.TypeFor[hook.Edit](),
	reflect.TypeFor[hook.Content](), reflect.TypeFor[hook.Amount](), reflect.TypeFor[hook.Compaction](), reflect.TypeFor[hook.BranchSummary](),
}

// TestProtocolIsDocumented holds cmd/clew/help/hooks.md against the types: every field has a
// row, every row a field, and ? stands where a field may be left out.
func TestProtocolIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../cmd/clew/help/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[string]bool{} // heading, "in" or "out" → field → may be left out
	heading, part := "", ""
	row := regexp.MustCompile("^- `([^`]+)`( \\?)?(: .*)?$")
	for line := range strings.Lines(string(doc)) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "### "); ok {
			heading, part = strings.Trim(h, "`"), "in"
		}
		if line == "Answer:" {
			part = "out"
		}
		if m := row.FindStringSubmatch(line); m != nil && heading != "" {
			key := heading + " " + part
			if rows[key] == nil {
				rows[key] = map[string]bool{}
			}
			rows[key][m[1]] = m[2] != ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for i, part := range []string{"in", "out"} {
			want := map[string]bool{}
			if shapes[name][i] != nil {
				collect(reflect.TypeOf(shapes[name][i]), "", want, name)
			}
			got := rows[name+" "+part]
			if !maps.Equal(got, want) && len(got)+len(want) > 0 {
				t.Errorf("help/hooks.md, %s, %s: rows %v, the type has %v", name, part, list(got), list(want))
			}
			delete(rows, name+" "+part)
		}
	}
	if len(rows) > 0 {
		t.Errorf("help/hooks.md describes what there is not: %v", slices.Sorted(maps.Keys(rows)))
	}
	for _, e := range hook.Events() {
		if _, ok := shapes[e]; !ok {
			t.Errorf("%s has no shape", e)
		}
	}
}

func list(fields map[string]bool) []string {
	var out []string
	for f, optional := range fields {
		out = append(out, fmt.Sprintf("%s%v", f, map[bool]string{true: "?", false: ""}[optional]))
	}
	slices.Sort(out)
	return out
}

func collect(typ reflect.Type, path string, into map[string]bool, section string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			// Described once, in sections of their own.
			if f.Type == reflect.TypeFor[hook.Head]() || f.Type == reflect.TypeFor[hook.Pass]() {
				continue
			}
			collect(f.Type, path, into, section)
			continue
		}
		inner, at := f.Type, path+name
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice && !slices.Contains(elsewhere, inner) {
			if inner.Kind() == reflect.Slice {
				at += "[]"
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && !slices.Contains(elsewhere, inner) {
			collect(inner, at+".", into, section)
			continue
		}
		into[at] = options == "omitempty" || options == "omitzero"
	}
}
