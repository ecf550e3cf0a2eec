package measure

import "testing"

// TestJunk: a line is a statement if it has three plain words, or names something and says
// a word about it. Quotes, sources and file lists are not asked.
func TestJunk(t *testing.T) {
	for _, c := range []struct {
		text      string
		junk, all int
	}{
		{"", 0, 0},
		{"The importer drops the last row.", 0, 1},
		{"- `go test ./store` passes", 0, 1},
		{"- Commit 1507f8b: Cache loaded sessions", 0, 1},
		{"## Done\n- [x] `go test ./...` passes\n- [x] `readRows`", 1, 2},
		{"- readRows\n- mergeShelves\n- lib/pantry.go", 3, 3},
		{"readRows, mergeShelves, countShelves, lib/pantry.go, 1507f8b", 1, 1},
		{"- **Shelves**", 1, 1},
		{"- ok", 1, 1},
		{"}\n);", 2, 2},
		{"修复了导入器，它不再丢掉最后一行。", 0, 1},
		{"## Goal\nMend the importer, please.\n\n## Sources\n- lib/pantry.go [#1a2b3c4d]\n  - readRows(a, b)\n  - }", 0, 1},
		{"## Files\n### Modified\n- lib/pantry.go\n### Read\n- a.go\n\n## User Messages\n[#1a2b3c4d]\n> ok\n\n## Story\n- x", 1, 1},
		{"> ok\n> readRows\n", 0, 0},
		{"<read-files>\nThe importer drops rows.\n</read-files>", 0, 1},
	} {
		got := Junk(c.text)
		want := share(c.junk, c.all)
		if got != want {
			t.Errorf("of %q junk is %+v, want %d of %d", c.text, got, c.junk, c.all)
		}
	}
}
