package summary

import (
	"fmt"
	"strings"
)

// Template says how a document is written: which sections, in which order,
// under which headings. Headings are the same in every language. A heading
// means the same in every template, so Parse needs not be told which one was
// used.
type Template struct {
	name     string
	sections []section
}

// section is a second-level heading and what stands below it. With more than
// one part, each has a third-level heading.
type section struct {
	heading string
	parts   []part
}

type part struct {
	heading string // third level; "" in a section of one part
	kind    kind
}

// kind names a part of a Document.
type kind int

const (
	kindNone kind = iota
	kindGoal
	kindConstraints
	kindDone
	kindInProgress
	kindBlocked
	kindDecisions
	kindNext
	kindContext
	kindNames
	kindModified
	kindCreated
	kindDeleted
	kindRead
	kindShell
	kindQuotes
	kindPins
	kindEarlier
	kindNote
)

// Name returns the name of the template, as in settings and flags.
func (t *Template) Name() string { return t.name }

// The templates. All hold the same parts under other headings.
var (
	// Structured is the default: Goal, Constraints & Preferences, Progress, Key
	// Decisions, Next Steps, Critical Context, Files.
	Structured = &Template{"structured", append([]section{
		single("Goal", kindGoal),
		single("Constraints & Preferences", kindConstraints),
		{"Progress", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
			{"Blocked", kindBlocked},
		}},
		single("Key Decisions", kindDecisions),
		single("Next Steps", kindNext),
		single("Critical Context", kindContext),
		files("Files"),
	}, ending...)}

	// Technical has eight sections: Technical Context, Project Overview, Code
	// Changes, Debugging & Issues, Current Status, Pending Tasks, User
	// Preferences, Key Decisions.
	Technical = &Template{"technical", append([]section{
		single("Technical Context", kindContext),
		single("Project Overview", kindGoal),
		files("Code Changes"),
		single("Debugging & Issues", kindBlocked),
		{"Current Status", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
		}},
		single("Pending Tasks", kindNext),
		single("User Preferences", kindConstraints),
		single("Key Decisions", kindDecisions),
	}, ending...)}

	// Brief has Summary, Key Points and Files.
	Brief = &Template{"brief", append([]section{
		{"Summary", []part{
			{"Goal", kindGoal},
			{"Done", kindDone},
			{"In Progress", kindInProgress},
			{"Blocked", kindBlocked},
			{"Next Steps", kindNext},
		}},
		{"Key Points", []part{
			{"Constraints & Preferences", kindConstraints},
			{"Key Decisions", kindDecisions},
			{"Critical Context", kindContext},
		}},
		files("Files"),
	}, ending...)}

	// Notes has Goal, Constraints & Preferences, Progress, Key Results, Files,
	// Snippets and Open Questions.
	Notes = &Template{"notes", append([]section{
		single("Goal", kindGoal),
		single("Constraints & Preferences", kindConstraints),
		{"Progress", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
		}},
		single("Key Results", kindDecisions),
		files("Files"),
		single("Snippets", kindContext),
		{"Open Questions", []part{
			{"Blocked", kindBlocked},
			{"Next Steps", kindNext},
		}},
	}, ending...)}
)

// ending stands at the end of every template.
var ending = []section{
	single("Names", kindNames),
	single("User Messages", kindQuotes),
	single("Pinned", kindPins),
	single("Earlier Summary", kindEarlier),
	single("Recall", kindNote),
}

func single(heading string, k kind) section { return section{heading, []part{{"", k}}} }

func files(heading string) section {
	return section{heading, []part{
		{"Modified", kindModified},
		{"Created", kindCreated},
		{"Deleted", kindDeleted},
		{"Written by Commands", kindShell},
		{"Read", kindRead},
	}}
}

// Templates returns all templates, the default first.
func Templates() []*Template { return []*Template{Structured, Technical, Brief, Notes} }

// FindTemplate returns the template with the name; "" is the default. The error
// names those that exist.
func FindTemplate(name string) (*Template, error) {
	if name == "" {
		return Structured, nil
	}
	var names []string
	for _, t := range Templates() {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, fmt.Errorf("no summary template %q: there are %s", name, strings.Join(names, ", "))
}

// lookup finds sections by their heading in all templates.
func lookup(heading string) []section {
	var found []section
	for _, t := range Templates() {
		for _, s := range t.sections {
			if s.heading == heading {
				found = append(found, s)
			}
		}
	}
	return found
}
