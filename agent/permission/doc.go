// Package permission decides what a call of a tool may do.
//
//	guard, err := permission.New(permission.Config{
//		Dir: project, Home: home,
//		Rules: permission.Rules{Allow: []string{"edit(src/**)", "bash(go test *)"}, Deny: []string{"bash(rm *)"}},
//	})
//	d := guard.Decide("bash", tool.Effect{Kind: tool.Run, Command: "go test ./..."})
//	// d.Answer is Allow, Ask or Deny, d.Reason says why.
//
// # Rules
//
// A rule is the name of a tool, or a name and a pattern: tool(pattern). In names "*"
// stands for any characters: github__* are all tools of the MCP server github.
//
// The pattern of a rule for bash is a command, in which "*" stands for any
// characters; an ending " *" matches the command without arguments too. The words of
// a command are compared without their quotes, with one blank between them; a word
// with blanks, quotes or backslashes in it stands in single quotes.
//
// The pattern of any other rule is a place: a path relative to the project, an
// absolute one, or one that begins with ~/. In it "*" stands for any characters of
// one name, "?" for one, and "**" for any number of folders. What ends in "/" means
// all that is below. There are no other signs: app/[id]/** is what it says. A rule
// without a pattern is about the project alone: what lies outside is allowed only by
// a pattern that names the place.
//
// Deny goes before Ask, and Ask before Allow. Where no rule matches, reading in the
// project is allowed, and all else is asked; see Mode.
//
// # Commands
//
// Allowing is strict. A pattern allows a command line only when clew can read all of
// it, and some rule allows each command in it. Substitutions, assignments, files that
// are written to or read by the shell, background jobs, loops over words and
// functions are asked, unless a rule is the whole line, word for word.
//
// Denying is best effort: a rule that denies is held against all commands that can
// be seen in a line, in substitutions and behind sudo, env, xargs, sh -c and their
// like. A command that is put together while the line runs can't be seen, and a script
// can do what it likes. Where a rule denies commands, a line that can't be read is
// asked even if all commands are allowed. What must not happen needs a container.
//
// A rule that denies places is held against the paths that a call names. A search in
// a folder above such a place is not stopped by it.
package permission
