package openai

import "errors"

var (
	errNothing = errors.New("the stream ended without an answer")
	errEnded   = errors.New("the stream ended in the middle of the answer")
)
