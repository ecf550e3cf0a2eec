// Package bpe counts tokens exactly as OpenAI's encodings o200k_base and
// cl100k_base do, without a network and in time that grows no faster than
// n log n with the text, whatever the text is.
//
//	enc := bpe.For("gpt-5")
//	n := enc.Count("how many tokens is this?")
//
// An Encoding reads its vocabulary when it is first used, which takes about 30 ms; make
// one and keep it. Names of special tokens, such as <|endoftext|>, are text like any
// other. Bytes that are not UTF-8 are counted, too.
package bpe
