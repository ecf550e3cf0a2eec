// Package tui is the terminal of clew chat: what was said, an editor, and a line that
// says how full the window is.
//
//	sink := tui.NewSink()
//	host, err := chat.Open(ctx, chat.Config{Dir: dir, Interactive: true, Events: sink.Send})
//	err = tui.Run(ctx, tui.Config{Host: host, Events: sink, In: os.Stdin, Out: os.Stdout})
//	err = host.Close()
//
// What is shown is made of the agent's events and of agent.Path, and of nothing else.
// Whatever may take long runs beside the program: typing never waits, and what is
// typed is never overwritten.
//
// On a terminal that can't be drawn on, and for screen readers, the same commands
// work on plain lines that come one after the other; see plain.go.
package tui
