package recall_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// recorded returns the sessions of the corpus.
func recorded(t *testing.T) (stores []session.Store) {
	t.Helper()
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "*", "*"))
	if err != nil || len(files) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there are no sessions in it: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := transcript.Read(f, transcript.ReadOptions{})
		f.Close()
		if errors.Is(err, transcript.ErrUnknown) {
			continue // a program whose logs are not read
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		stores = append(stores, tr.Store())
	}
	t.Logf("%d files, %d of a known format", len(files), len(stores))
	return stores
}

// TestRecorded asks real sessions for what stands in them: the words of a random line of a
// random entry must bring an entry with that line among the first ten, half of the words and
// in another order still most often.
func TestRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all recorded sessions")
	}
	ctx := context.Background()
	stores := recorded(t)
	var sessions, lines, whole, half, first int
	var size, heap int64
	var took time.Duration
	for n, store := range stores {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := recall.New(store, nil)
		start := time.Now()
		if err := x.Update(ctx); err != nil {
			t.Fatal(err)
		}
		took += time.Since(start)
		runtime.GC()
		runtime.ReadMemStats(&after)
		heap += int64(after.HeapAlloc) - int64(before.HeapAlloc)
		texts := map[string]string{}
		var ids []string
		for e, err := range store.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			size += int64(len(e.Raw()))
			c := session.Project([]*session.Entry{e})
			if len(c.Items) > 0 && e.Type == session.TypeMessage {
				texts[e.ID] = recall.Text(c.Items[len(c.Items)-1].Message)
				ids = append(ids, e.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		sessions++
		r := rand.New(rand.NewPCG(uint64(n), 4))
		asked := 0
		for tries := 0; tries < 400 && asked < 20; tries++ {
			all := strings.Split(texts[ids[r.IntN(len(ids))]], "\n")
			line := strings.TrimSpace(all[r.IntN(len(all))])
			words := strings.Fields(line)
			if len(line) > 300 || len(words) < 5 {
				continue
			}
			lines++
			asked++
			ask := func(query string) int {
				found, err := x.Search(ctx, recall.Query{Text: strings.ReplaceAll(query, `"`, " ")}, nil)
				if err != nil {
					return -1
				}
				for i, h := range found.Hits {
					for _, half := range h.Pair {
						h.Like = append(h.Like, half.Entry)
					}
					if slices.ContainsFunc(append(h.Like, h.Entry), func(id string) bool { return strings.Contains(texts[id], line) }) {
						return i
					}
				}
				return -1
			}
			at := ask(line)
			if at >= 0 {
				whole++
			}
			if at == 0 {
				first++
			}
			r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			if ask(strings.Join(words[:(len(words)+1)/2], " ")) >= 0 {
				half++
			}
		}
		runtime.KeepAlive(x)
	}
	t.Logf("%d lines: found by all words %.3f, first of all %.3f; by half of the words %.3f", lines,
		float64(whole)/float64(lines), float64(first)/float64(lines), float64(half)/float64(lines))
	t.Logf("%d sessions of %.1f MB: %.0f MB/s, %.2f bytes of memory for each byte", len(stores), float64(size)/1e6, float64(size)/1e6/took.Seconds(), float64(heap)/float64(size))
	if lines < 15*sessions || lines == 0 || float64(whole) < 0.95*float64(lines) || float64(half) < 0.75*float64(lines) {
		t.Error("too little is found")
	}
}
