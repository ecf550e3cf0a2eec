package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
)

// wild returns the messages of a random session in file order.
func wild(seed uint64, opt sessiongen.Options) []session.Item {
	var items []session.Item
	for line := range bytes.Lines(sessiongen.Generate(seed, opt).Bytes()) {
		e, err := session.ParseEntry(line)
		if err != nil {
			continue
		}
		if m, err := e.Message(); err == nil {
			items = append(items, session.Item{Message: m, Entry: e})
		}
	}
	return items
}

func TestWildSessions(t *testing.T) {
	t.Parallel()
	files, seeds := 0, 60
	if testing.Short() {
		seeds = 12
	}
	for seed := range uint64(seeds) {
		items := wild(seed, sessiongen.Options{})
		a, err := json.Marshal(ledger.Read(items, ledger.Options{Cwd: "/tmp"}))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		l := ledger.Read(items, ledger.Options{Cwd: "/tmp"})
		if b, _ := json.Marshal(l); !bytes.Equal(a, b) {
			t.Fatalf("seed %d: read twice:\n%s\n%s", seed, a, b)
		}
		files += len(l.Files)
	}
	if files < seeds*5/6 {
		t.Errorf("only %d files in all sessions", files)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		items := conversation(rand.New(rand.NewPCG(1, 1)), n)
		bytes := 0
		for _, it := range items {
			bytes += len(it.Message.JSON())
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				ledger.Read(items, ledger.Options{Cwd: cwd})
			}
		})
	}
}
