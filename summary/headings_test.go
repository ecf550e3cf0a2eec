package summary_test

import (
	"strings"
	"testing"

	"github.com/clew-dev/clew/summary"
)

// The headings of each template, in their order, and how the items under them begin.
func TestHeadings(t *testing.T) {
	line := func(s string) []summary.Line { return []summary.Line{{Text: s}} }
	d := summary.Document{
		Goal: line("goal"), Constraints: line("rule"), Done: line("done"), InProgress: line("doing"), Blocked: line("blocked"),
		Decisions: line("decision"), Next: line("next"), Context: line("context"),
		Files: summary.Files{Modified: summary.FileList{Paths: []string{"a.go"}}, Read: summary.FileList{Paths: []string{"b.go"}}},
	}
	for template, want := range map[*summary.Template]string{
		summary.Structured: `## Goal
- goal
## Constraints & Preferences
- rule
## Progress
### Done
- [x] done
### In Progress
- [ ] doing
### Blocked
- blocked
## Key Decisions
- decision
## Next Steps
1. next
## Critical Context
- context
## Files
### Modified
- a.go
### Read
- b.go`,
		summary.Technical: `## Technical Context
- context
## Project Overview
- goal
## Code Changes
### Modified
- a.go
### Read
- b.go
## Debugging & Issues
- blocked
## Current Status
### Done
- [x] done
### In Progress
- [ ] doing
## Pending Tasks
1. next
## User Preferences
- rule
## Key Decisions
- decision`,
		summary.Brief: `## Summary
### Goal
- goal
### Done
- [x] done
### In Progress
- [ ] doing
### Blocked
- blocked
### Next Steps
1. next
## Key Points
### Constraints & Preferences
- rule
### Key Decisions
- decision
### Critical Context
- context
## Files
### Modified
- a.go
### Read
- b.go`,
		summary.Notes: `## Goal
- goal
## Constraints & Preferences
- rule
## Progress
### Done
- [x] done
### In Progress
- [ ] doing
## Key Results
- decision
## Files
### Modified
- a.go
### Read
- b.go
## Snippets
- context
## Open Questions
### Blocked
- blocked
### Next Steps
1. next`,
	} {
		if got := strings.ReplaceAll(template.Render(d), "\n\n", "\n"); got != want {
			t.Errorf("template %s:\n%s", template.Name(), got)
		}
	}
}
