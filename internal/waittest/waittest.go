// Package waittest waits, in tests, for what another goroutine or process does.
//
//	waittest.Until(t, "the file to be there", func() bool { _, err := os.Stat(path); return err == nil })
package waittest

import (
	"testing"
	"time"
)

// patience is how long a test waits for what should happen at once. It only says
// when to give up, so it is long: the machine may be busy with other tests.
const patience = 2 * time.Minute

// Until returns as soon as ok does, and fails the test when it never does. ok is
// asked every few milliseconds, from the goroutine of the caller.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Forever blocks the process, as a program does that hangs.
func Forever() {
	// A timer keeps the runtime from calling it a deadlock.
	for range time.Tick(time.Hour) {
	}
}
