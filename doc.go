// Package clew keeps the thread of a long agent conversation: it holds the
// conversation as a tree in an append-only log and keeps what the model sees
// inside the model's window.
package clew
