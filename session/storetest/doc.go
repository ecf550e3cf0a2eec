// Package storetest is the one suite that every session.Store passes.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Subject {
//			s := mystore.New(t.TempDir())
//			return storetest.Subject{
//				Open:   func(t *testing.T) session.Store { return s.Create(t) },
//				Reopen: func(t *testing.T) session.Store { return s.Open(t) },
//			}
//		})
//	}
//
// The suite takes a few seconds under the race detector, which it is meant to
// be run with.
package storetest
