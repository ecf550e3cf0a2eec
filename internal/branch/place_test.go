package branch_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/session/jsonl"
)

const placeFile = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/src"}
{"type":"message","id":"u1","parentId":"nowhere","timestamp":"2026-01-01T10:00:01.000Z","message":{"role":"user","content":"hello","timestamp":1}}
{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"yes"}],"timestamp":1}}
{"type":"custom_message","id":"c1","parentId":"a1","timestamp":"2026-01-01T10:00:03.000Z","customType":"note","content":"given","display":true}
{"type":"custom_message","id":"x1","parentId":"c1","timestamp":"2026-01-01T10:00:04.000Z","customType":"clew.excerpt","content":"cut","display":false,"details":{"clew":{"of":"a1"}}}
{"type":"message","id":"u2","parentId":"x1","timestamp":"2026-01-01T10:00:05.000Z","message":{"role":"user","content":"again","timestamp":1}}
{"type":"custom","id":"p1","parentId":"u2","timestamp":"2026-01-01T10:00:06.000Z","customType":"clew.pass","data":{"lines":2}}
{"type":"context_edit","id":"p2","parentId":"p1","timestamp":"2026-01-01T10:00:07.000Z","targetId":"a1","replacement":null}
{"type":"context_edit","id":"p3","parentId":"p2","timestamp":"2026-01-01T10:00:08.000Z","targetId":"u1","replacement":null}
{"type":"context_edit","id":"e1","parentId":"p3","timestamp":"2026-01-01T10:00:09.000Z","targetId":"u2","replacement":null}
`

func TestPlace(t *testing.T) {
	ctx := context.Background()
	f, err := jsonl.Read(ctx, "test", bytes.NewReader([]byte(placeFile)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ target, leaf, text string }{
		{"", "", ""},
		{"u1", "", "hello"}, // its parent is nowhere
		{"a1", "a1", ""},
		{"c1", "a1", "given"},
		{"x1", "x1", ""}, // nobody typed it
		{"u2", "x1", "again"},
		{"p1", "u2", ""}, // inside a pass
		{"p2", "u2", ""},
		{"p3", "p3", ""}, // the whole of it
		{"e1", "e1", ""},
	} {
		if leaf, text, err := branch.Place(ctx, f, tc.target); leaf != tc.leaf || text != tc.text || err != nil {
			t.Errorf("%q: %q, %q, %v; want %q, %q", tc.target, leaf, text, err, tc.leaf, tc.text)
		}
	}
	if _, _, err := branch.Place(ctx, f, "x2"); err == nil {
		t.Error("no such entry, and no error")
	}
}
