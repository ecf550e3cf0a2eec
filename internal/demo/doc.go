// Package demo shows a whole session of clew chat without a network and without a key: a
// model that answers by rules, on a small project whose check fails.
//
//	d, err := demo.Open(demo.Config{Pace: demo.Pace})
//	defer d.Close()
//	s, err := chat.Open(ctx, chat.Config{Dir: d.Dir, Home: d.Home, UserFile: d.UserFile,
//		Environ: d.Environ(os.Environ()), OpenModel: d.OpenModel, Events: show, Interactive: true})
//
// Only the model is made up, and it is no film: it reads the conversation it is sent, as any
// model does, and decides by what it finds there. The tools, the engine and the session file
// are those of clew chat. Its window is so small that a compaction is due within a minute.
//
// Tour says what to try, one after the other; Script is the same for the terminal to do by itself.
package demo
