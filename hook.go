package clew

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Hook is anything with one or more of the hook methods: those of SessionStart,
// EditContext, EditToolResult, BeforeCompact, AfterCompact, CompactFailed,
// BeforeBranch, AfterBranch, BeforeFork and SessionEnd. Each is called where it
// applies, in the order of Config.Hooks, one at a time, while the operation waits.
// What a hook is given are copies: changing them changes nothing. What a hook
// changes by its answer is written into the log.
//
// A hook that returns an error or panics counts as one that gave no answer; what
// happened is in the Warnings of the result, as a *HookError. The same goes for an
// answer that can't be taken.
//
// A hook that has a method Name() string is called by that name in errors and in
// the log. Package hook runs programs as hooks.
type Hook any

// Named is implemented by hooks that have a name.
type Named interface {
	Name() string
}

func isHook(h Hook) bool {
	switch h.(type) {
	case SessionStart, EditContext, EditToolResult, BeforeCompact, AfterCompact, CompactFailed,
		BeforeBranch, AfterBranch, BeforeFork, SessionEnd:
		return true
	}
	return false
}

// hookName is the name of a hook, "" for one without.
func hookName(h Hook) string {
	if n, ok := h.(Named); ok {
		return n.Name()
	}
	return ""
}

// call calls a hook and turns what goes wrong into a warning.
func call(point string, hook int, h Hook, warnings *[]error, fn func() error) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			err, isErr := v.(error)
			if !isErr {
				err = fmt.Errorf("%v", v)
			}
			*warnings = append(*warnings, &HookError{Point: point, Hook: hook, Name: hookName(h), Err: err, Panic: true})
		}
	}()
	if err := fn(); err != nil {
		*warnings = append(*warnings, &HookError{Point: point, Hook: hook, Name: hookName(h), Err: err})
		return false
	}
	return true
}

// refused is the warning about an answer that can't be taken.
func refused(point string, hook int, h Hook, err error) error {
	return &HookError{Point: point, Hook: hook, Name: hookName(h), Err: fmt.Errorf("its answer was not taken: %w", err)}
}

// ContextItem is a message of the context, with the entry it comes from.
type ContextItem struct {
	Entry   string
	Message *message.Message
}

// copies returns the messages of items, which share nothing with them.
func copies(items []session.Item) []*message.Message {
	out := make([]*message.Message, 0, len(items))
	for _, it := range copiedItems(items) {
		out = append(out, it.Message)
	}
	return out
}

func copiedItems(items []session.Item) []ContextItem {
	out := make([]ContextItem, 0, len(items))
	for _, it := range items {
		c, err := message.Parse(slices.Clone(it.Message.JSON()))
		if err != nil { // a message with no role that was built by a program
			continue
		}
		out = append(out, ContextItem{it.Entry.ID, c})
	}
	return out
}

func clonedEntries(path []*session.Entry) []*session.Entry {
	out := make([]*session.Entry, len(path))
	for i, e := range path {
		out[i] = e.Clone()
	}
	return out
}

// eachHook calls fn for every hook that has the method.
func eachHook[H any](hooks []Hook, fn func(i int, h Hook, hook H) (more bool)) {
	for i, h := range hooks {
		if hook, ok := h.(H); ok && !fn(i, h, hook) {
			return
		}
	}
}
