// Package oracle compares package bpe with another implementation of the same
// encodings. It is a module of its own, so that what it needs is not needed by
// the module that it tests.
package oracle
