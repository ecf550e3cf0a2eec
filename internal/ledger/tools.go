package ledger

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// OpKind says what a tool call does.
type OpKind string

// The kinds of operations; "" is a call that touches no one file.
const (
	OpRead  OpKind = "read"
	OpWrite OpKind = "write" // the whole file
	OpEdit  OpKind = "edit"  // part of it
	OpPatch OpKind = "patch" // several files
	OpShell OpKind = "shell" // a command line
	OpFind  OpKind = "find"  // a search, a listing, a page of the web
)

// The kinds that Operation does not tell.
const (
	actReadMany, actDelete, actMove OpKind = "read many", "delete", "move"
	actTodo, actTodoNew, actTodoSet OpKind = "todos", "new todo", "set todo"
	actOpen                         OpKind = "open"   // later edits are about the file
	actSub                          OpKind = "sub"    // the member "command" says what
	actScript                       OpKind = "script" // calls other tools
	actPoll                         OpKind = "poll"   // asks what became of a command that was left running
)

// vocabulary maps tool names, in lower case, to what they do. It covers the
// tools of pi, Claude Code, Codex, Gemini CLI, OpenHands, SWE-agent,
// mini-SWE-agent and opencode, and names that other agents use for the same.
var vocabulary = index(map[OpKind]string{
	OpRead: `read read_file view_file notebookread view_image open_file fs_read view cat_file get_file_contents
		readfile file_read`,
	actReadMany: `read_many_files read_files`,
	OpWrite: `write write_file create_file create write_to_file save_file file_write overwrite_file writefile
		new_file`,
	OpEdit: `edit multiedit multi_edit notebookedit edit_file replace edit_notebook replace_in_file
		search_replace str_replace apply_diff insert insert_content insert_edit_into_file
		replace_string_in_file multi_replace_string_in_file smart_edit update_file edit_notebook_file
		editfile file_edit insert_at_line replace_lines undo_edit append`,
	actDelete: `delete_file remove_file deletefile delete_path`,
	actMove:   `rename_file move_file renamefile movefile`,
	OpShell: `bash shell exec_command local_shell container.exec run_shell_command execute_bash shell_command
		run_command execute_command run_terminal_cmd run_in_terminal terminal unified_exec run_bash
		local_shell_call powershell cmd run_terminal_command execute_shell`,
	OpPatch: `apply_patch applypatch patch`,
	OpFind: `grep find ls glob search list_directory search_file_content list_dir grep_files webfetch websearch
		web_fetch web_search google_web_search list grep_search file_search codebase_search find_file search_dir
		search_file search_files list_files semantic_search think recall`,
	actTodo: `todowrite todo_write update_plan todo write_todos manage_todo_list todo_list update_todo_list set_todos
		plan`,
	actTodoNew: `taskcreate todo_add add_todo`,
	actTodoSet: `taskupdate todo_update update_todo`,
	actOpen:    `open goto scroll_up scroll_down`,
	actSub:     `str_replace_editor str_replace_based_edit_tool file_editor fs_write text_editor task_tracker`,
	actScript:  `exec`,
	actPoll:    `write_stdin bashoutput bash_output taskoutput read_bash kill_shell killshell taskstop stop_bash`,
})

// index returns what is listed under which value, by its name; as with text.Words, the map
// is made when it is asked for first.
func index[V comparable](lists map[V]string) func() map[string]V {
	return sync.OnceValue(func() map[string]V {
		m := map[string]V{}
		for v, list := range lists {
			for name := range strings.FieldsSeq(list) {
				m[name] = v
			}
		}
		return m
	})
}

// actionOf returns what a tool does by its name. A server's or a namespace's
// name before that of the tool is passed over.
func actionOf(name string) OpKind {
	name = strings.ToLower(name)
	if act, ok := vocabulary()[name]; ok {
		return act
	}
	from := strings.LastIndexAny(name, ".:/") + 1
	if k := strings.LastIndex(name, "__"); k >= 0 {
		from = max(from, k+len("__"))
	}
	return vocabulary()[name[from:]]
}

// The members of arguments, the usual ones first.
var (
	pathMembers = strings.Fields(`path file_path notebook_path absolute_path filePath filename file target_file file_name
		relative_workspace_path filepath AbsolutePath TargetFile notebookPath`)
	fromMembers    = strings.Fields(`source from old_path oldPath source_path path`)
	toMembers      = strings.Fields(`destination to new_path newPath destination_path target`)
	dirMembers     = strings.Fields(`workdir cwd working_directory dir_path directory`)
	commandMembers = strings.Fields(`command cmd script commands CommandLine action`)
	patchMembers   = strings.Fields(`input patch diff patchText patch_text`)
	scriptMembers  = strings.Fields(`input code script`)
	partMembers    = strings.Fields(`offset limit view_range start_line end_line pages line_start line_end startLine endLine
		start_line_one_indexed end_line_one_indexed StartLine EndLine`)
)

// call is a tool call that waits for its result.
type call struct {
	tool    string
	act     OpKind
	files   []fileChange // as written; of a write without a state
	command string
	dir     string // where a command runs, "" when not said
	args    json.RawMessage
	entry   string
	inner   []call // script: the calls it makes
	polls   string // poll: the id of the command; of a command: its own, once it was polled
}

// callStates says what calls do to the file they name.
var callStates = map[OpKind]State{OpRead: StateRead, actOpen: StateRead, OpEdit: StateModified, actDelete: StateDeleted}

func parseCall(name string, args json.RawMessage, entry string) call {
	c := call{tool: name, act: actionOf(name), args: args, entry: entry}
	if c.act == actSub {
		c.act = vocabulary()[jsonx.StringAt(args, "command")]
	}
	switch c.act {
	case OpRead, OpWrite, OpEdit, actDelete, actOpen:
		c.files = []fileChange{{path: strings.TrimPrefix(firstMember(args, pathMembers), "file://"), state: callStates[c.act]}}
	case actReadMany:
		for _, m := range []string{"paths", "files", "include"} {
			for _, p := range stringList(jsonx.Get(c.args, m)) {
				if !strings.ContainsAny(p, "*?{[") {
					c.files = append(c.files, fileChange{path: p, state: StateRead})
				}
			}
		}
	case actMove:
		c.files = []fileChange{{path: firstMember(args, fromMembers), to: firstMember(args, toMembers), state: StateDeleted}}
	case OpPatch:
		c.command = firstMember(args, patchMembers)
	case actScript:
		c.inner = scriptCalls(firstMember(args, scriptMembers), entry)
	case actPoll:
		c.polls = Polls(name, args)
	default:
	}
	if c.act == OpShell || c.act == actScript && c.inner == nil {
		c.act = OpShell
		c.command, c.dir = commandOf(args)
		if strings.Contains(c.command, "*** Begin Patch") && strings.Contains(c.command, "apply_patch") {
			c.act = OpPatch
		}
	}
	if c.act == OpPatch {
		c.files = patchChanges(c.command)
	}
	return c
}

// Polls returns the id of the command that a call asks about, which was left running; "" if it is another call.
func Polls(name string, args json.RawMessage) (id string) {
	switch actionOf(name) {
	case actScript:
		if calls := scriptCalls(firstMember(args, scriptMembers), ""); len(calls) > 0 {
			return calls[len(calls)-1].polls
		}
		return ""
	case actPoll:
	default:
		return ""
	}
	jsonx.Members(args, func(name, value []byte) bool {
		switch string(name) {
		case "session_id", "bash_id", "task_id", "shell_id", "sessionId", "shellId":
			id = strings.Trim(string(value), `"`)
		}
		return id == ""
	})
	return id
}

// firstMember returns the member that stands first in the names and says something.
func firstMember(args json.RawMessage, names []string) (first string) {
	best := len(names)
	jsonx.Members(args, func(name, value []byte) bool {
		if k := slices.Index(names, string(name)); k >= 0 && k <= best {
			if s, ok := jsonx.String(value); ok && s != "" {
				best, first = k, s
			}
		}
		return best > 0
	})
	return first
}

func commandOf(args json.RawMessage) (command, dir string) {
	dir = firstMember(args, dirMembers)
	for _, m := range commandMembers {
		v := jsonx.Get(args, m)
		if jsonx.IsObject(v) { // Codex's local_shell: what to do is an object
			return commandOf(v)
		}
		if s, ok := jsonx.String(v); ok {
			return s, dir
		}
		if words := stringList(v); words != nil {
			return joinCommand(words), dir
		}
	}
	return "", dir
}

var shellFlags = text.Pattern(`^-\w*c$`)

// joinCommand makes a command line of words. Of a shell that is given a script,
// the script is what runs.
func joinCommand(words []string) string {
	if len(words) == 3 && strings.HasSuffix(words[0], "sh") && shellFlags().MatchString(words[1]) {
		return words[2]
	}
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"$`\\|&;<>*?(){}") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Op is what a tool call asks for.
type Op struct {
	Kind    OpKind
	Path    string // read, write, edit: as in File
	Partial bool   // a read asks for a part of the file
	Command string // shell: the command line; patch: the patch
	Script  bool   // the call stands in a script
}

// Operation reads a tool call by its name and arguments, in the vocabularies
// that Read knows. Of a script's calls the first that does something stands for it.
func Operation(name string, arguments json.RawMessage, opt Options) Op {
	for _, op := range Operations(name, arguments, opt) {
		if op.Kind != "" {
			return op
		}
	}
	return Op{}
}

// Operations reads a tool call as Operation does; of a script that calls other
// tools, each of its calls.
func Operations(name string, arguments json.RawMessage, opt Options) []Op {
	c := parseCall(name, arguments, "")
	script := c.act == actScript
	if !script {
		c.inner = []call{c}
	}
	var out []Op
	for _, c := range c.inner {
		if c.act == actScript {
			continue
		}
		op := Op{Kind: c.act, Command: c.command, Script: script}
		switch c.act {
		case OpRead, OpWrite, OpEdit:
			op.Path = newPlace(opt.Cwd).norm(c.files[0].path, "")
			op.Partial = c.act == OpRead && slices.ContainsFunc(partMembers, func(m string) bool {
				return !jsonx.IsNull(jsonx.Get(c.args, m))
			})
		case OpPatch, OpShell, OpFind:
		default:
			op.Kind = ""
		}
		out = append(out, op)
	}
	return out
}
