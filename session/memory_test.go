package session_test

import (
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		return storetest.Subject{Open: func(*testing.T) session.Store {
			return session.NewMemory(session.Header{ID: "test"})
		}}
	})
}
