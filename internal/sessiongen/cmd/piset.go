package main

import (
	"fmt"

	"github.com/clew-dev/clew/internal/sessiongen"
)

// piSet is small enough to be kept in the repository and has every feature that
// pi's answers depend on.
func piSet() []job {
	var jobs []job
	add := func(name string, count int, o sessiongen.Options) {
		o.PiSafe = true
		for i := range count {
			n := len(jobs) + 1
			jobs = append(jobs, job{fmt.Sprintf("%02d-%s", n, name), uint64(1000 + 7*n + i), o})
		}
	}
	// Short texts: what matters here is the shape.
	short := sessiongen.Options{UserBytes: 300, AnswerBytes: 200, ResultBytes: 500}
	with := func(change func(o *sessiongen.Options)) sessiongen.Options {
		o := short
		change(&o)
		return o
	}
	add("wild", 7, with(func(o *sessiongen.Options) {
		o.Entries = 70
		o.Odds = sessiongen.Odds{Root: 0.025, DanglingRef: 0.015}
	}))
	add("well-formed", 3, with(func(o *sessiongen.Options) { o.Entries = 60; o.WellFormed = true }))
	add("long-texts", 1, sessiongen.Options{Entries: 60, UserBytes: 4000, AnswerBytes: 4000, ResultBytes: 12000})
	add("compactions", 3, with(func(o *sessiongen.Options) {
		o.Entries = 80
		o.Odds = sessiongen.Odds{Compact: 0.2, Nested: 0.5, EditKept: 0.9, RetainNone: 0.15}
	}))
	add("edits", 2, with(func(o *sessiongen.Options) {
		o.Entries = 70
		o.Odds = sessiongen.Odds{Edit: 0.35, Compact: 0.08}
	}))
	add("branches", 2, with(func(o *sessiongen.Options) {
		o.Entries = 70
		o.Odds = sessiongen.Odds{Branch: 0.25, Root: 0.04, Label: 0.08}
	}))
	add("deep", 1, with(func(o *sessiongen.Options) {
		o.Entries, o.UserBytes, o.AnswerBytes, o.ResultBytes = 500, 60, 40, 80
		o.Odds = sessiongen.Odds{Branch: -1, Root: -1, DanglingRef: -1, SystemFirst: -1, System: -1, Compact: 0.005, Tools: 0.4}
	}))
	add("odd-text", 1, with(func(o *sessiongen.Options) {
		o.Entries = 50
		o.Odds = sessiongen.Odds{OddArguments: 0.6, Surrogate: 0.3, CJK: 0.5, Emoji: 0.5, ExtraFields: 0.3, Image: 0.2}
	}))
	add("v1", 2, with(func(o *sessiongen.Options) { o.Entries, o.Version = 50, 1; o.Odds.Compact = 0.1 }))
	add("v1-well-formed", 2, with(func(o *sessiongen.Options) { o.Entries, o.Version, o.WellFormed = 50, 1, true; o.Odds.Compact = 0.08 }))
	add("v2", 3, with(func(o *sessiongen.Options) { o.Entries, o.Version = 50, 2 }))
	return jobs
}
