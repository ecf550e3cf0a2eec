package jsonl_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

var (
	idSource = rand.New(rand.NewPCG(1, 2))
	idMu     sync.Mutex
)

// randomID returns an id of the form that the store takes for random.
func randomID() string {
	idMu.Lock()
	defer idMu.Unlock()
	return fmt.Sprintf("%016x", idSource.Uint64())
}

// appendRaw writes to a file as a program does that knows no lock.
func appendRaw(t testing.TB, path, data string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(data); err != nil {
		t.Fatal(err)
	}
}
