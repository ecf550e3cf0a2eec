package permission

import (
	"fmt"
	"strings"
)

// Mode says what is allowed where no rule says anything.
type Mode string

// The modes.
const (
	// ModeAsk allows reading in the project and asks for all else. It is the default.
	ModeAsk Mode = "ask"
	// ModeEdits also allows writing in the project, but for the folders .git and .clew:
	// what is written there is run, or changes what is asked.
	ModeEdits Mode = "edits"
	// ModePlan denies all but reading, whatever the rules say.
	ModePlan Mode = "plan"
	// ModeAll allows what no rule denies. Places outside the project are asked as in
	// the other modes. It is for containers.
	ModeAll Mode = "all"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{ModeAsk, ModeEdits, ModePlan, ModeAll} }

// ParseMode returns the mode of a name. "" is ModeAsk.
func ParseMode(name string) (Mode, error) {
	if name == "" {
		return ModeAsk, nil
	}
	var names []string
	for _, m := range Modes() {
		if name == string(m) {
			return m, nil
		}
		names = append(names, string(m))
	}
	return "", fmt.Errorf("there is no permission mode %q; there are %s", name, strings.Join(names, ", "))
}
