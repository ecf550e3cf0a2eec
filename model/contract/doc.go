// Package contract holds the adapters and the servers of package modeltest
// against the vendors' own clients. It is a module of its own, so that nothing
// else needs those clients. It has tests only:
//
//	cd model/contract && go test ./...
//
// Each scenario is played three times. The vendor's client talks to a server of
// modeltest, which checks its requests; what it reads must be what the script
// said, so the client judges the server. The recorded bytes are then given to our
// adapter, which must read the same. And the requests that our adapters write
// must be values of the vendor's request types, with no member that those do not
// know.
package contract
