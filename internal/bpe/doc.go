// Package bpe counts tokens exactly as OpenAI's encodings o200k_base and
// cl100k_base do, without a network and in time that grows no faster than
// n log n with the text, whatever the text is.
//
//	enc, err := bpe.New(bpe.O200k)
//	n := enc.Count("how many tokens is this?")
//
// Counter makes a counter for a [token.Meter] of it. The two vocabularies are
// part of the program, 1.6 MB, which is why this is a package of its own: only
// who imports it links them. An Encoding reads its vocabulary when it is first
// used, which takes about 30 ms; make one and keep it.
//
// Text is encoded as it is. Names of special tokens, such as <|endoftext|>, are
// text like any other. Bytes that are not UTF-8 are encoded too, each by
// itself, so that every text can be decoded again.
package bpe
