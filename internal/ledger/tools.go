package ledger

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// action is what a tool does.
type action int

const (
	actNone     action = iota
	actRead            // reads one file
	actReadMany        // reads the files of a list
	actWrite           // writes a whole file
	actEdit            // changes part of a file
	actDelete          // deletes a file
	actMove            // gives a file another path
	actShell           // runs a command line
	actPatch           // applies a patch in the apply_patch format
	actFind            // looks something up
	actTodo            // replaces the todo list
	actTodoNew         // adds a todo
	actTodoSet         // changes one todo
	actOpen            // opens a file, which later edits are about
	actSub             // an editor or list whose member "command" says what
	actScript          // a script that calls other tools
)

// vocabulary maps tool names, in lower case, to what they do. It covers the
// tools of pi, Claude Code, Codex, Gemini CLI, OpenHands, SWE-agent,
// mini-SWE-agent and opencode, and names that other agents use for the same.
var vocabulary = index(map[action]string{
	actRead: `read read_file view_file notebookread view_image open_file fs_read view cat_file get_file_contents
		readfile file_read`,
	actReadMany: `read_many_files read_files`,
	actWrite: `write write_file create_file create write_to_file save_file file_write overwrite_file writefile
		new_file`,
	actEdit: `edit multiedit multi_edit notebookedit edit_file replace edit_notebook replace_in_file
		search_replace str_replace apply_diff insert insert_content insert_edit_into_file
		replace_string_in_file multi_replace_string_in_file smart_edit update_file edit_notebook_file
		editfile file_edit insert_at_line replace_lines`,
	actDelete: `delete_file remove_file deletefile delete_path`,
	actMove:   `rename_file move_file renamefile movefile`,
	actShell: `bash shell exec_command local_shell container.exec run_shell_command execute_bash shell_command
		run_command execute_command run_terminal_cmd run_in_terminal terminal unified_exec run_bash
		local_shell_call powershell cmd run_terminal_command execute_shell`,
	actPatch: `apply_patch applypatch patch`,
	actFind: `grep find ls glob search list_directory search_file_content list_dir grep_files webfetch websearch
		web_fetch web_search google_web_search list grep_search file_search codebase_search find_file search_dir
		search_file search_files list_files semantic_search think recall`,
	actTodo:    `todowrite todo_write update_plan todo write_todos manage_todo_list todo_list update_todo_list set_todos`,
	actTodoNew: `taskcreate todo_add add_todo`,
	actTodoSet: `taskupdate todo_update update_todo`,
	actOpen:    `open goto`,
	actSub:     `str_replace_editor str_replace_based_edit_tool file_editor fs_write text_editor task_tracker`,
	actScript:  `exec`,
})

// The commands of editors: those that are a member of the arguments, and SWE-agent's, which
// are a command line.
var (
	subcommand = index(map[action]string{
		actRead: `view read`, actWrite: `create write`, actEdit: `str_replace insert undo_edit append`, actTodo: `plan`,
	})
	editorWord = index(map[action]string{
		actRead: `open goto scroll_up scroll_down`, actWrite: `create`, actEdit: `edit insert append`,
		actSub: `str_replace_editor`,
	})
)

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
func actionOf(name string) action {
	name = strings.ToLower(name)
	if act, ok := vocabulary()[name]; ok {
		return act
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if _, tool, ok := strings.Cut(rest, "__"); ok {
			return vocabulary()[tool]
		}
	}
	return vocabulary()[name[strings.LastIndexAny(name, ".:/")+1:]]
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
)

// call is a tool call that waits for its result.
type call struct {
	tool    string
	act     action
	files   []fileChange // as written; of a write without a state
	command string
	dir     string // where a command runs, "" when not said
	args    json.RawMessage
	entry   string
	inner   []call // script: the calls it makes
}

// callStates says what calls do to the file they name.
var callStates = map[action]State{actRead: StateRead, actOpen: StateRead, actEdit: StateModified, actDelete: StateDeleted}

func parseCall(name string, args json.RawMessage, entry string) call {
	c := call{tool: name, act: actionOf(name), args: args, entry: entry}
	if c.act == actSub {
		c.act = subcommand()[jsonx.StringAt(args, "command")]
	}
	switch c.act {
	case actRead, actWrite, actEdit, actDelete, actOpen:
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
	case actPatch:
		c.command = firstMember(args, patchMembers)
	case actScript:
		c.inner = scriptCalls(firstMember(args, scriptMembers), entry)
	default:
	}
	if c.act == actShell || c.act == actScript && c.inner == nil {
		c.act = actShell
		if c.command, c.dir = commandOf(args); strings.Contains(c.command, patchBegin) && strings.Contains(c.command, "apply_patch") {
			c.act = actPatch
		}
	}
	if c.act == actPatch {
		c.files = patchChanges(c.command)
	}
	return c
}

func firstMember(args json.RawMessage, names []string) string {
	for _, m := range names {
		if s := jsonx.StringAt(args, m); s != "" {
			return s
		}
	}
	return ""
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
