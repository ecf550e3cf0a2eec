package sessiongen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Feature is something a test wants to have been in its sessions.
type Feature string

// The features that are counted.
const (
	TwoCompactions    Feature = "2+ compactions on one path"
	ParallelCalls     Feature = "parallel calls"
	ShuffledResults   Feature = "shuffled results"
	MissingResults    Feature = "missing results"
	OrphanResults     Feature = "results without a call"
	EditsOnKept       Feature = "edits on kept entries"
	EditsOnFixed      Feature = "edits on entries that have no editable content"
	Omissions         Feature = "omissions"
	Replacements      Feature = "replacements"
	Branches          Feature = "branches"
	SeveralRoots      Feature = "several roots"
	Images            Feature = "images"
	CJK               Feature = "CJK"
	Emoji             Feature = "emoji"
	LoneSurrogates    Feature = "lone surrogates"
	LabelFirstKept    Feature = "label as first kept"
	RetainNone        Feature = "retain-none compaction"
	DanglingFirstKept Feature = "dangling first kept"
	NestedCompaction  Feature = "nested compaction in kept range"
	CustomMessages    Feature = "custom_message"
	BashRuns          Feature = "bashExecution"
	BashExcluded      Feature = "bashExecution excluded"
	SystemSections    Feature = "system sections"
	SystemTools       Feature = "system tools"
	UsageRecords      Feature = "usage entries"
	BranchSummaries   Feature = "branch summaries"
	FailedAnswers     Feature = "aborted or error answers"
	SignedThinking    Feature = "signed thinking"
	OddArguments      Feature = "odd arguments"
	Labels            Feature = "labels"
	DanglingRefs      Feature = "dangling references"
	UnknownRecords    Feature = "unknown records or fields"
	MalformedRecords  Feature = "fields of the wrong kind"
	DuplicateIDs      Feature = "duplicate ids"
	Cycles            Feature = "cycles"
	HugeTexts         Feature = "huge texts"
)

// Stats count what is in one session or, after [Stats.Merge], in many.
type Stats struct {
	Sessions int
	Entries  int
	Bytes    int
	Types    map[string]int  // entries by type; messages as "message/role"
	Count    map[Feature]int // occurrences
	With     map[Feature]int // sessions with at least one
}

func newStats() Stats {
	return Stats{Types: map[string]int{}, Count: map[Feature]int{}, With: map[Feature]int{}}
}

// Merge adds what o counted.
func (s *Stats) Merge(o Stats) {
	if s.Types == nil {
		*s = newStats()
	}
	s.Sessions += o.Sessions
	s.Entries += o.Entries
	s.Bytes += o.Bytes
	for k, v := range o.Types {
		s.Types[k] += v
	}
	for k, v := range o.Count {
		s.Count[k] += v
	}
	for k, v := range o.With {
		s.With[k] += v
	}
}

// Share returns which part of the sessions have f, from 0 to 1.
func (s *Stats) Share(f Feature) float64 {
	if s.Sessions == 0 {
		return 0
	}
	return float64(s.With[f]) / float64(s.Sessions)
}

// Shares returns a table of the share of sessions with each feature, the most common first.
func (s *Stats) Shares() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions, %d entries, %d bytes\n", s.Sessions, s.Entries, s.Bytes)
	features := slices.SortedFunc(maps.Keys(s.With), func(x, y Feature) int {
		if d := s.With[y] - s.With[x]; d != 0 {
			return d
		}
		return strings.Compare(string(x), string(y))
	})
	for _, f := range features {
		fmt.Fprintf(&b, "  %-46s %5.1f %%  (%d)\n", f, 100*s.Share(f), s.Count[f])
	}
	return b.String()
}

// Below names every feature whose share is under its minimum, with both numbers.
// A test that needs certain cases to be present fails on a non-empty answer.
func (s *Stats) Below(minimum map[Feature]float64) []string {
	var short []string
	for _, f := range slices.Sorted(maps.Keys(minimum)) {
		if got := s.Share(f); got < minimum[f] {
			short = append(short, fmt.Sprintf("%s: %.1f %% of %d sessions, want at least %.1f %%", f, 100*got, s.Sessions, 100*minimum[f]))
		}
	}
	return short
}

// mark counts one occurrence of f in the session being made.
func (g *gen) mark(f Feature) {
	g.stats.Count[f]++
	g.stats.With[f] = 1
}
