package settings

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/hook"
)

// docs/hooks.md has a row for each field of a hook, and no other.
func TestHookFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(doc), "| setting | |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/hooks.md has no table of settings")
	}
	var rows, fields []string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| `") {
			break
		}
		rows = append(rows, strings.Split(line, "`")[1])
	}
	for f := range reflect.TypeFor[hook.Config]().Fields() {
		if name := f.Tag.Get("json"); name != "-" {
			fields = append(fields, name)
		}
	}
	slices.Sort(rows)
	slices.Sort(fields)
	if !slices.Equal(rows, fields) {
		t.Errorf("rows %v, fields %v", rows, fields)
	}
}
