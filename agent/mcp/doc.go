// Package mcp makes tools of an agent of what servers offer over the Model Context
// Protocol.
//
//	set, warnings := mcp.Connect(ctx, mcp.Config{Servers: settings.MCPServers, Dir: dir})
//	defer set.Close()
//	for _, t := range set.Tools() {
//		fmt.Println(t.Spec().Name) // "files__read"
//	}
//
// A server is a program, which is spoken to over its standard input and output, or an
// address (streamable HTTP). One that can't be reached is a warning, and its tools are
// not there. A program that ends is started again at the next call.
//
// What a server says is a tool's result and nothing else: it can't ask the user, ask the
// model, or look at files through clew. What it says of a tool's harmlessness is shown,
// and not believed.
package mcp
