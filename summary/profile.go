package summary

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
)

// Profile says what is worth most in a kind of session. The user's words are
// quoted in every one of them; a profile says what comes next.
type Profile struct {
	name string
	// lines weigh lines by their kind.
	lines [lineOutput + 1]float64
	// shares of the budget, in percent, that sections may use at first.
	files, changes, done, decisions, names int64
}

// The profiles.
var (
	// Coding keeps what was done to files, code and commands.
	Coding = &Profile{
		name:  "coding",
		lines: [...]float64{lineProse: 1, lineUser: 1.2, lineCommand: .5, lineCode: .5, lineOutput: .5},
		files: 4, changes: 10, done: 10, decisions: 8, names: 4,
	}
	// Research keeps findings and references.
	Research = &Profile{
		name:  "research",
		lines: [...]float64{lineProse: 1.2, lineUser: 1.2, lineCommand: .3, lineCode: .3, lineOutput: .6},
		files: 3, changes: 6, done: 8, decisions: 14, names: 8,
	}
	// Chat keeps what was said.
	Chat = &Profile{
		name:  "chat",
		lines: [...]float64{lineProse: 1.2, lineUser: 1.5, lineCommand: .3, lineCode: .4, lineOutput: .3},
		files: 3, changes: 6, done: 8, decisions: 12, names: 6,
	}
)

// Name returns the name of the profile, as in settings.
func (p *Profile) Name() string { return p.name }

// FindProfile returns the profile with the name; "" is nil: the session decides.
// The error names those that exist.
func FindProfile(name string) (*Profile, error) {
	if name == "" {
		return nil, nil
	}
	var names []string
	for _, p := range []*Profile{Coding, Research, Chat} {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("no summary profile %q: there are %s", name, strings.Join(names, ", "))
}

// guessProfile looks at what the agent did: with many words and few calls it
// talks, with reading and searching and hardly a change it researches.
func (d *digest) guessProfile() *Profile {
	answers, calls, work, changes := 0, 0, 0, 0
	for _, m := range d.msgs {
		switch m.Role {
		case message.RoleAssistant:
			answers++
		case message.RoleToolResult:
			calls++
			switch m.op.Kind {
			case ledger.OpWrite, ledger.OpEdit, ledger.OpPatch:
				changes++
			case ledger.OpShell:
				work++
			default:
			}
		default:
		}
	}
	changed := len(d.led.Paths(ledger.StateModified, ledger.StateCreated)) > 0
	switch {
	case calls*4 < answers && !changed:
		return Chat
	case calls > 0 && !changed && changes == 0 && work*4 < calls:
		return Research
	}
	return Coding
}
