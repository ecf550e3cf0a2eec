// Package rpc lets another program drive an agent over lines of JSON: all that a user
// can do at the terminal. docs/rpc.md describes every method and event.
//
//	srv := rpc.NewServer(os.Stdout)
//	host, err := open(srv.Event) // events go where answers go
//	err = srv.Serve(ctx, host, os.Stdin)
//
// The other side, in Go:
//
//	c := rpc.NewClient(stdout, stdin, rpc.ClientConfig{Events: show})
//	err := c.Call(ctx, "send", map[string]any{"text": "fix the flaky test"}, nil)
//	err = c.Call(ctx, "wait", nil, nil)
//
// A line that can't be understood is answered with an error, and nothing else happens.
package rpc
