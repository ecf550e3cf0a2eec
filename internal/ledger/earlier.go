package ledger

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// fromSummary returns what an earlier summary knows: the ledger in its details (member
// "clew", member "ledger"), else pi's file lists there (readFiles, modifiedFiles), else the
// lists in its text.
func fromSummary(summary string, details json.RawMessage, p place) Ledger {
	details = jsonx.One(details)
	var l Ledger
	if own := jsonx.Get(jsonx.Get(details, "clew"), "ledger"); jsonx.IsObject(own) && json.Unmarshal(own, &l) == nil {
		return l
	}
	t := textReader{place: p}
	read, modified := jsonx.Get(details, "readFiles"), jsonx.Get(details, "modifiedFiles")
	if jsonx.IsArray(read) || jsonx.IsArray(modified) {
		t.files(&t.found.Files, StateRead, stringList(read)...)
		t.files(&t.found.Files, StateModified, stringList(modified)...)
		return t.found
	}
	for line := range strings.SplitSeq(summary, "\n") {
		t.line(strings.TrimRight(line, " \t\r"))
	}
	slices.SortStableFunc(t.found.Files, func(a, b File) int {
		return slices.Index(states, a.State) - slices.Index(states, b.State)
	})
	return t.found
}

// stringList returns the strings of an array that say something, nil for anything else.
func stringList(arr []byte) (out []string) {
	if !jsonx.IsArray(arr) {
		return nil
	}
	out = []string{}
	jsonx.Elements(arr, func(v []byte) bool {
		if s, ok := jsonx.String(v); ok && s != "" {
			out = append(out, s)
		}
		return true
	})
	return out
}

// textReader reads what the text of a summary lists: files, in pi's tag blocks, in
// the lists of our documents, and in lines that begin with "Read:" or
// "Modified:"; rules, todos and decisions under the headings of our documents,
// which models are asked to use too. Nothing else in a text is evidence.
type textReader struct {
	place
	found            Ledger
	tag              string // the block of pi that is open
	section, heading string
}

var tagStates = map[string]State{"read-files": StateRead, "modified-files": StateModified}

func (t *textReader) line(line string) {
	tag := strings.Trim(line, "<>")
	switch {
	case t.tag != "":
		if line == "</"+t.tag+">" {
			t.tag = ""
		} else {
			t.files(&t.found.Files, tagStates[t.tag], line)
		}
	case tagStates[tag] != "" && line == "<"+tag+">":
		t.tag = tag
	case strings.HasPrefix(line, "## "):
		t.section, t.heading = line[3:], ""
	case strings.HasPrefix(line, "### "):
		t.heading = line[4:]
	case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
		t.item(line[2:])
	default:
		if m := step().FindStringSubmatch(line); m != nil && t.list() == "todos" {
			t.todo(m[1])
		}
	}
}

var (
	step = text.Pattern(`^[0-9]{1,3}[.)] (\S.*)$`)
	// endHandle matches what our documents put after a line.
	endHandle = text.Pattern(` \[#[^\[\],#\s]*(, replaced)?\]$`)
)

// textLists say what stands under a heading.
var textLists = map[string]string{
	"Constraints & Preferences": "rules", "User Preferences": "rules", "Rules": "rules",
	"Key Decisions": "decisions", "Key Results": "decisions", "Decisions": "decisions",
	"Next Steps": "todos", "Pending Tasks": "todos", "State/Next": "todos",
	"Files": "files", "Code Changes": "files",
}

func (t *textReader) list() string {
	if t.heading == "" {
		return textLists[t.section]
	}
	if l := textLists[t.section+"/"+t.heading]; l != "" {
		return l
	}
	return textLists[t.heading]
}

// fileLists are the headings under which our documents list files of the project.
var fileLists = map[string]State{
	"Modified": StateModified, "Created": StateCreated, "Deleted": StateDeleted, "Read": StateRead,
}

// weakLists are the headings, in lower case, under which they list others.
var weakLists = map[string]State{"created as scratch": StateCreated, "written by commands": StateModified}

func (t *textReader) item(item string) {
	if textLists[t.section] == "files" && t.heading != "" {
		if state := fileLists[t.heading]; state != "" {
			t.files(&t.found.Files, state, listedPaths(item)...)
		} else if state := weakLists[strings.ToLower(t.heading)]; state != "" {
			t.files(&t.found.Weak, state, listedPaths(item)...)
		}
		return
	}
	switch t.list() {
	case "files":
		if name, rest, _ := strings.Cut(item, ": "); name == "Read" || name == "Modified" {
			t.files(&t.found.Files, fileLists[name], strings.Split(rest, ",")...)
		}
	case "rules":
		if s := listed(item); s != "" {
			replaced := strings.HasSuffix(item, ", replaced]") && s != item
			t.found.Rules = append(t.found.Rules, Statement{Text: s, Replaced: replaced})
		}
	case "decisions":
		if s := listed(item); s != "" {
			t.found.Decisions = append(t.found.Decisions, Statement{Text: s, Weight: 1})
		}
	case "todos":
		t.todo(strings.TrimPrefix(item, "[ ] "))
	}
}

// listed returns the text of an item without its handle, "" where it says that there is none.
func listed(item string) string {
	s := clipText(endHandle().ReplaceAllString(item, ""))
	if low := strings.ToLower(s); noneWord()[low] || low == "(none yet)" {
		return ""
	}
	return s
}

// noneWord are the words with which a model says that a list is empty.
var noneWord = text.Words(`none (none) n/a none. nothing 无 なし 없음`)

func (t *textReader) todo(item string) {
	if s := listed(item); s != "" {
		t.found.Todos = append(t.found.Todos, Todo{Text: s, Status: TodoOpen})
	}
}

// listedPaths returns the files of an item: "path — what changed", "dir/{a.go,b.go}", or a
// path in quotes, which may hold anything.
func listedPaths(item string) []string {
	if quoted, err := strconv.QuotedPrefix(item); err == nil && item[0] == '"' {
		path, _ := strconv.Unquote(quoted)
		return []string{path}
	}
	item, _, _ = strings.Cut(item, " — ")
	dir, names, _ := strings.Cut(item, "{")
	names, closed := strings.CutSuffix(names, "}")
	if !closed || !strings.Contains(names, ",") || dir != "" && !strings.HasSuffix(dir, "/") {
		return []string{item}
	}
	out := strings.Split(names, ",")
	for i, name := range out {
		out[i] = dir + strings.TrimSpace(name)
	}
	return out
}

func (t *textReader) files(list *[]File, state State, names ...string) {
	for _, name := range names {
		if n := t.norm(strings.TrimSpace(name), ""); n != "" {
			*list = append(*list, File{Path: n, State: state, Read: state == StateRead})
		}
	}
}
