// Package builtin has the tools that clew's agent works with: read, write, edit,
// bash, grep, find, ls and recall.
//
//	set, err := builtin.New(builtin.Config{Dir: "."})
//	defer set.Close()
//	for _, t := range set.Tools() {
//		effect, err := t.Effect(arguments)         // what would it do? ask the user
//		result, err := t.Run(ctx, tool.Call{Arguments: arguments})
//	}
//
// # Places
//
// The tools for files work in one folder, the project, through an os.Root: neither
// ".." nor a symbolic link leads them out of it. A place outside has to be named by
// its absolute path; its Effect says Outside, and Run refuses what no Effect has
// announced. Only regular files are read and written: devices, pipes and sockets
// are refused everywhere, and with them all of /dev, /proc and /sys.
//
// A path may lead to another place at Run than it did at Effect, because a link was
// changed meanwhile. Such a call is refused.
//
// bash is another matter: a command may do whatever the user may.
//
// # Files
//
// write and edit replace a file as a whole: a new one beside it takes its name, so
// that a reader sees the old file or the new one. The permissions are kept; other
// hard links to the file keep the old content. One file is changed at a time, however
// many calls run.
package builtin
