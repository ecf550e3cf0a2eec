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

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/settings"
)

// Config says which servers there are, and where they work.
type Config struct {
	// Servers are the servers by their names. Those that are disabled are passed over.
	Servers map[string]settings.MCPServer
	// Dir is where programs run that name no folder. Default: the working directory.
	Dir string
	// Environ is the environment. Programs get of it what programs need, such as PATH and
	// HOME, and no keys. Default os.Environ.
	Environ []string
	// Version is that of clew, which servers are told. Default "unknown".
	Version string
}

// Set is the servers that were reached, and their tools.
type Set struct {
	servers []*server
	tools   []tool.Tool
	stop    context.CancelFunc
	once    sync.Once
}

// Connect reaches all servers at the same time, asks for their tools and waits until each
// has answered or its time is over. What goes wrong is returned as warnings, one for a
// server or a tool, by the names of the servers; the set is never nil. When ctx is done, those that
// have not answered yet are left out. Close the set.
func Connect(ctx context.Context, c Config) (*Set, []error) {
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	c.Version = cmp.Or(c.Version, "unknown")
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	set := &Set{stop: stop}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if cfg := c.Servers[name]; !cfg.Disabled {
			set.servers = append(set.servers, newServer(name, cfg, &c, life))
		}
	}
	var all sync.WaitGroup
	for _, s := range set.servers {
		all.Go(func() { s.begin(ctx) })
	}
	all.Wait()
	var warnings []error
	taken := map[string]bool{}
	for _, s := range set.servers {
		warnings = append(warnings, s.warnings...)
		for _, o := range s.offers {
			set.tools = append(set.tools, &remote{s: s, offer: o, name: unique(s.name, o.name, taken)})
		}
	}
	return set, warnings
}

// Tools returns the tools of all servers, by the names of the servers, and for each in
// its own order.
func (s *Set) Tools() []tool.Tool { return slices.Clone(s.tools) }

// Status says how it stands with a server.
type Status struct {
	Name  string
	Tools int   // how many it gives
	Err   error // why it gives none; nil where it was reached
}

// Servers returns how it stood with each server when the set was made.
func (s *Set) Servers() []Status {
	var out []Status
	for _, one := range s.servers {
		out = append(out, Status{one.name, len(one.offers), one.err})
	}
	return out
}

// Close ends calls under way, ends the programs and closes the connections. It returns
// when they have ended, within a few seconds, and does nothing the second time.
func (s *Set) Close() {
	s.once.Do(func() {
		s.stop()
		var all sync.WaitGroup
		for _, one := range s.servers {
			all.Go(one.close)
		}
		all.Wait()
	})
}
