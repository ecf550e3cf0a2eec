package ledger

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// action is what a tool does.
type action int

const (
	actNone  action = iota
	actRead         // reads one file
	actWrite        // writes a whole file
	actEdit         // changes part of a file
	actShell        // runs a command line
	actPatch        // applies a patch in the apply_patch format
	actFind         // looks something up
	actTodo         // replaces the todo list
	actSub          // str_replace_editor: the member "command" says what
)

// vocabulary maps tool names, in lower case, to what they do. It covers pi
// (read, write, edit, bash, grep, find, ls), Claude Code (Read, MultiEdit,
// NotebookEdit, Glob, TodoWrite), Codex (shell, exec_command, apply_patch,
// update_plan) and the editors of a few others.
var vocabulary = map[string]action{
	"read": actRead, "read_file": actRead, "view_file": actRead, "notebookread": actRead, "view_image": actRead,
	"write": actWrite, "write_file": actWrite, "create_file": actWrite,
	"edit": actEdit, "multiedit": actEdit, "notebookedit": actEdit, "edit_file": actEdit, "replace": actEdit,
	"bash": actShell, "shell": actShell, "exec_command": actShell, "local_shell": actShell, "container.exec": actShell,
	"run_shell_command": actShell, "execute_bash": actShell, "shell_command": actShell,
	"apply_patch": actPatch,
	"grep":        actFind, "find": actFind, "ls": actFind, "glob": actFind, "search": actFind, "list_directory": actFind,
	"search_file_content": actFind, "list_dir": actFind, "grep_files": actFind, "webfetch": actFind, "websearch": actFind,
	"todowrite": actTodo, "todo_write": actTodo, "update_plan": actTodo, "todo": actTodo, "write_todos": actTodo,
	"str_replace_editor": actSub, "str_replace_based_edit_tool": actSub,
}

// pathMembers are the arguments that name the file, the usual ones first.
var pathMembers = []string{"path", "file_path", "notebook_path", "absolute_path", "filename", "file"}

// call is a tool call that waits for its result.
type call struct {
	tool    string
	act     action
	path    string // as written
	command string
	dir     string // where a command runs, "" when not said
	args    json.RawMessage
	entry   string
}

// parseCall reads what a call asks for.
func parseCall(name string, args json.RawMessage, entry string) call {
	c := call{tool: name, act: vocabulary[strings.ToLower(name)], args: args, entry: entry}
	switch c.act {
	case actRead, actWrite, actEdit:
		c.path = pathOf(args)
	case actSub:
		c.path = pathOf(args)
		switch member(args, "command") {
		case "view":
			c.act = actRead
		case "create":
			c.act = actWrite
		case "str_replace", "insert", "undo_edit":
			c.act = actEdit
		default:
			c.act = actNone
		}
	case actShell:
		c.command, c.dir = commandOf(args)
		if strings.Contains(c.command, patchBegin) && strings.Contains(c.command, "apply_patch") {
			c.act = actPatch
		}
	case actPatch:
		c.command = patchOf(args)
	default:
	}
	return c
}

func member(args json.RawMessage, name string) string {
	s, _ := jsonx.String(jsonx.Get(args, name))
	return s
}

func pathOf(args json.RawMessage) string {
	for _, m := range pathMembers {
		if p := member(args, m); p != "" {
			return p
		}
	}
	return ""
}

// commandOf reads a command line. A list of words is joined; of a shell that is
// given a script, the script is what runs.
func commandOf(args json.RawMessage) (command, dir string) {
	for _, m := range []string{"workdir", "cwd", "working_directory", "dir_path"} {
		if dir = member(args, m); dir != "" {
			break
		}
	}
	for _, m := range []string{"command", "cmd", "script"} {
		v := jsonx.Get(args, m)
		if s, ok := jsonx.String(v); ok {
			return s, dir
		}
		if !jsonx.IsArray(v) {
			continue
		}
		var words []string
		jsonx.Elements(v, func(e []byte) bool {
			s, _ := jsonx.String(e)
			words = append(words, s)
			return true
		})
		if len(words) == 3 && strings.HasSuffix(words[0], "sh") && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return words[2], dir
		}
		for i, w := range words {
			if w == "" || strings.ContainsAny(w, " \t\n'\"$`\\|&;<>*?(){}") {
				words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
			}
		}
		return strings.Join(words, " "), dir
	}
	return "", dir
}

func patchOf(args json.RawMessage) string {
	for _, m := range []string{"input", "patch", "diff"} {
		if p := member(args, m); p != "" {
			return p
		}
	}
	return ""
}
