package blobtest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/clew-dev/clew/blob"
)

// Random operations give what they give with a map.
func testRandom(t *testing.T, sub Subject) {
	const quota = 4000
	happened := map[string]int{}
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := sub.New(t, quota)
		model := map[blob.ID][]byte{}
		used := 0
		for range 60 {
			p := data(rng.Uint64N(8), int(rng.Uint64N(4))*500)
			id := blob.IDOf(p)
			_, there := model[id]
			switch op := rng.IntN(20); {
			case op < 10:
				_, err := s.Put(ctx, bytes.NewReader(p))
				fits := there || used+len(p) <= quota
				if fits != (err == nil) || !fits && !errors.Is(err, blob.ErrFull) {
					t.Fatalf("seed %d: %d bytes with %d of %d taken, there already: %v: %v", seed, len(p), used, quota, there, err)
				}
				if fits && !there {
					model[id], used = p, used+len(p)
				}
				happened[map[[2]bool]string{{true, true}: "same", {true, false}: "stored", {false, false}: "refused"}[[2]bool{fits, there}]]++
			case op < 12:
				_, err := s.Put(ctx, io.MultiReader(bytes.NewReader(p), iotest.ErrReader(errors.New("broken"))))
				if !errors.Is(err, blob.ErrSource) {
					t.Fatalf("seed %d: a broken source: %v", seed, err)
				}
			case op < 15:
				if err := s.Delete(ctx, id); err != nil {
					t.Fatal(err)
				}
				if there {
					used -= len(p)
					delete(model, id)
					happened["deleted"]++
				}
			case op < 16 && sub.Reopen != nil:
				s = sub.Reopen(t, s, quota)
				happened["reopened"]++
			case there:
				has(t, s, p)
			default:
				hasNot(t, s, id)
			}
			ids, size := list(t, s)
			if len(ids) != len(model) || size != int64(used) {
				t.Fatalf("seed %d: %d of %d bytes are there, want %d of %d", seed, len(ids), size, len(model), used)
			}
		}
		for _, p := range model {
			has(t, s, p)
		}
	}
	t.Logf("what happened: %v", happened)
	for _, what := range []string{"stored", "same", "refused", "deleted"} {
		if happened[what] < 5 {
			t.Errorf("%s only %d times; the test tests little", what, happened[what])
		}
	}
}
