package model

import "github.com/clew-dev/clew/message"

// Some servers never say that a request was too large. These predicates see it
// in what they report; each is a hint for one case, and they are kept apart from
// ClassifyOverflow because they need numbers that only the caller has.

// OverWindow reports an answer to more input than the model's window holds: the
// server took the request all the same and has dropped part of it, or the window
// is larger than thought. Everything that was sent counts, what was written to
// the cache too.
func OverWindow(u *message.Usage, window int64) bool {
	return window > 0 && u.Prompt() > window
}

// NoRoom reports an answer that stopped at its limit without a token, to an input
// that fills the window: servers that cut the input to fit do that.
func NoRoom(f Finish, u *message.Usage, window int64) bool {
	return f == FinishLength && u != nil && u.Output == 0 && window > 0 && u.Prompt()*100 >= window*99
}

// CutInput reports that the server has read much less than was sent. Ollama cuts
// the input to its own window and answers the rest, without a word:
// https://github.com/ollama/ollama/issues/17427. sent is a careful estimate of
// what was sent, in tokens; below half of it is not an error of estimation.
func CutInput(sent int64, u *message.Usage) bool {
	return u.Prompt() > 0 && sent >= 1_000 && u.Prompt()*2 < sent
}
