package ledger

import "github.com/clew-dev/clew/message"

// Tool says what a tool does, whatever agent it belongs to.
type Tool string

// The tools that are known; "" is any other.
const (
	ToolRead  Tool = "read"  // reads one file
	ToolWrite Tool = "write" // writes a whole file
	ToolEdit  Tool = "edit"  // changes part of a file
	ToolPatch Tool = "patch" // changes several files
	ToolShell Tool = "shell" // runs a command line
	ToolFind  Tool = "find"  // looks something up
	ToolTodo  Tool = "todo"  // replaces the todo list
)

// Call is a tool call as the ledger reads it.
type Call struct {
	Tool Tool
	// Path is the file of a read, write or edit as it was written; see Options.Normal.
	Path string
	// Command is the command line of a shell call, the patch of a patch call.
	Command string
	// Dir is where a command runs, "" when the call does not say.
	Dir string
}

// Describe reads a tool call. The zero Call is one of an unknown tool.
func Describe(b message.Block) Call {
	c := parseCall(b.Name, b.Arguments, "")
	return Call{Tool: c.act.tool(), Path: c.path, Command: c.command, Dir: c.dir}
}

func (a action) tool() Tool {
	switch a {
	case actRead:
		return ToolRead
	case actWrite:
		return ToolWrite
	case actEdit:
		return ToolEdit
	case actPatch:
		return ToolPatch
	case actShell:
		return ToolShell
	case actFind:
		return ToolFind
	case actTodo:
		return ToolTodo
	default:
		return ""
	}
}

// Normal returns the one spelling of a path that a ledger read with these
// options uses for it, or "" for what is no path.
func (o Options) Normal(path string) string { return newPlace(o.Cwd).norm(path, "") }
