package bench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// corpus returns a real session, or skips.
func corpus(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("CLEW_CORPUS")
	if dir == "" {
		dir = "../../shared/corpus"
	}
	files, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(name)))
	if len(files) == 0 {
		if os.Getenv("CLEW_CORPUS") != "" {
			tb.Fatalf("CLEW_CORPUS=%s holds no %s", dir, name)
		}
		tb.Skip("no real sessions here")
	}
	return files[0]
}

const (
	version1 = "sessions/pi/*before-compaction*.jsonl"
	version3 = "pi-golden/before-compaction.v3.jsonl"
)

// BenchmarkOpen opens a session for reading and builds the context of its leaf.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct{ name, file string }{{"v1", version1}, {"v3", version3}} {
		b.Run(c.name, func(b *testing.B) {
			path := corpus(b, c.file)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				openContext(b, path)
			}
		})
	}
}

func openContext(tb testing.TB, path string) *session.Context {
	tb.Helper()
	ctx := context.Background()
	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	last, err := f.Last(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := session.ContextAt(ctx, f, last.ID)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// BenchmarkAll reads every entry of a session.
func BenchmarkAll(b *testing.B) {
	ctx := context.Background()
	path := corpus(b, version3)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range f.All(ctx) {
			if err != nil {
				b.Fatal(err)
			}
		}
		f.Close()
	}
}
