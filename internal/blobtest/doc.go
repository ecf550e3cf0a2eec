// Package blobtest is the one suite that every blob.Store passes.
//
//	func TestStore(t *testing.T) {
//		blobtest.Run(t, blobtest.Subject{
//			New: func(t testing.TB, quota int64) blob.Store { return mystore.New(t.TempDir(), quota) },
//		})
//	}
//
// The suite takes a second or two under the race detector, which it is meant to
// be run with.
package blobtest
