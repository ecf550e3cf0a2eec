package summary

import (
	"context"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
)

// Profile is the strategy for a kind of task: what a summary keeps and what it shortens. The
// user's words are quoted in every one.
type Profile struct {
	Name string `json:"name"`

	KeepCodeBlocks     bool `json:"keepCodeBlocks,omitempty"`     // code in answers counts as much as other lines
	KeepFileOperations bool `json:"keepFileOperations,omitempty"` // what was changed in files is told, not names alone
	KeepKeyFindings    bool `json:"keepKeyFindings,omitempty"`    // what says why, or that something is so now, counts more
	KeepReferences     bool `json:"keepReferences,omitempty"`     // addresses and numbers of tickets and papers count more

	SummarizeDiscussions bool `json:"summarizeDiscussions,omitempty"` // the agent's sentences count less
	SummarizeDetails     bool `json:"summarizeDetails,omitempty"`     // lines of files and of output count less
}

// The profiles.
var (
	// Coding keeps what was done to files, code and commands.
	Coding = &Profile{Name: "coding", KeepCodeBlocks: true, KeepFileOperations: true, SummarizeDiscussions: true}
	// Research keeps findings and references.
	Research = &Profile{Name: "research", KeepKeyFindings: true, KeepReferences: true, SummarizeDetails: true}
	// Chat keeps what was said.
	Chat = &Profile{Name: "chat", SummarizeDetails: true}
)

// AutoProfile is the name for a guess.
const AutoProfile = "auto"

// ProfileNames returns the names that FindProfile takes.
func ProfileNames() []string { return []string{AutoProfile, Coding.Name, Research.Name, Chat.Name} }

// FindProfile returns a profile by its name; nil, which is a guess, for "auto".
func FindProfile(name string) (*Profile, error) {
	for _, p := range []*Profile{Coding, Research, Chat} {
		if p.Name == name {
			return p, nil
		}
	}
	if name == AutoProfile {
		return nil, nil
	}
	return nil, fmt.Errorf("there is no strategy %q; there are %s", name, strings.Join(ProfileNames(), ", "))
}

// String says what is on: "keep code blocks, file operations; summarize discussions".
func (p *Profile) String() string {
	var parts []string
	add := func(do string, on []bool, what ...string) {
		var list []string
		for i, w := range what {
			if on[i] {
				list = append(list, w)
			}
		}
		if list != nil {
			parts = append(parts, do+" "+strings.Join(list, ", "))
		}
	}
	add("keep", []bool{p.KeepCodeBlocks, p.KeepFileOperations, p.KeepKeyFindings, p.KeepReferences},
		"code blocks", "file operations", "key findings", "references")
	add("summarize", []bool{p.SummarizeDiscussions, p.SummarizeDetails}, "discussions", "details")
	return strings.Join(parts, "; ")
}

// What the switches weigh.
const (
	codeAside   = .4 // code in answers, where it is not kept
	keyFinding  = 5. // a sentence that says why, or that something is so now
	asReference = 3. // an address
)

// shares are what the briefing takes of the budget, and the story of that, in percent.
func (p *Profile) shares() (briefing, story int64) {
	briefing, story = briefingShare, storyShare
	if !p.SummarizeDiscussions {
		briefing, story = briefing+10, story+15
	}
	if p.SummarizeDetails {
		story += 15
	}
	return briefing, story
}

// Chosen is a profile and why it is in force.
type Chosen struct {
	Profile
	Why string `json:"why"`
}

// ProfileOf returns the profile that a summary of the input would have. It fails as
// Deterministic does.
func ProfileOf(ctx context.Context, in Input) (c Chosen, err error) {
	err = Deterministic{}.plan(ctx, in, func(p *planner) { c = p.d.profile })
	return c, err
}

// chooseProfile takes the profile that is asked for, or looks at what the agent did: with
// many words and few calls it talks, with reading and searching and hardly a change it
// researches.
func (d *digest) chooseProfile() Chosen {
	if d.in.Profile != nil {
		return Chosen{*d.in.Profile, "asked for"}
	}
	answers, calls, commands, changes := 0, 0, 0, 0
	for _, m := range d.msgs {
		switch m.Role {
		case message.RoleAssistant:
			answers++
		case message.RoleToolResult:
			calls++
			if k := m.op.Kind; k == ledger.OpShell {
				commands++
			} else if k == ledger.OpWrite || k == ledger.OpEdit || k == ledger.OpPatch {
				changes++
			}
		default:
		}
	}
	changed := len(d.led.Paths(ledger.StateModified, ledger.StateCreated)) > 0
	switch {
	case calls*4 < answers && !changed:
		return Chosen{*Chat, fmt.Sprintf("no changed file, and %d calls of tools in %d answers", calls, answers)}
	case calls > 0 && !changed && changes == 0 && commands*4 < calls:
		return Chosen{*Research, fmt.Sprintf("no changed file, and %d commands among %d calls of tools", commands, calls)}
	case changes+commands > 0:
		return Chosen{*Coding, fmt.Sprintf("%d of %d calls of tools change files or run commands, in %d messages",
			changes+commands, calls, len(d.msgs))}
	case changed:
		return Chosen{*Coding, "files were changed earlier"}
	}
	return Chosen{*Coding, "nothing was done that says otherwise"}
}
