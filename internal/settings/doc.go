// Package settings reads how clew is to work from where users say it: a file of the
// user, a file of the project, the environment and flags.
//
//	s, err := settings.Load(settings.Options{Dir: ".", Environ: os.Environ()})
//	cfg, err := s.Config()
//	session, err := clew.Open(ctx, path, cfg)
//
// What is said in several places counts in this order: flags, environment, the
// project's file, the user's file, the preset, the default. Keys lists all there is to
// set, docs/settings.md shows it as a table.
//
// The files are JSON with comments and trailing commas. The project's is
// .clew/settings.json in the working directory, or in the nearest folder above it up to
// the one with .git. A project can't run programs, can't choose who gets to read the
// conversation, and can't allow what would be asked for, unless the user's file says
// that it may.
package settings
