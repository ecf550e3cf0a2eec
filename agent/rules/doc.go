// Package rules reads what the user and the project tell every agent: the files
// AGENTS.md.
//
//	set, err := rules.Read(rules.Config{Dir: ".", Home: home, User: filepath.Join(config, "clew")})
//	system := prompt + "\n\n" + set.Text()
//	// later, at a pass or before a request:
//	now, err := rules.Read(config)
//	message := rules.Diff(set, now) // "" when nothing has changed
//
// The user's own file comes first, then those of the folders from the top of the
// project down to where the agent works, so that what is nearer is read last. The top
// is the folder with .git in it, a folder or, in a worktree, a file. Without one it
// is the folder below the home folder, or the root of the file system. A folder that has
// no AGENTS.md may have a CLAUDE.md.
//
// A file of a project is data of whoever wrote the project. It is not read through a
// link that leads out of the project. Nor is one that lies above the folder where the
// agent works, in a folder that all users of the machine share, such as /tmp.
package rules
