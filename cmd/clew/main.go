// Command clew shows, checks, mends and compacts the sessions of agents.
//
// Run clew without arguments for the list of commands. docs/JSON.md describes
// what --json prints.
package main

import "os"

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
