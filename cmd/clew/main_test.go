package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
)

func TestMain(m *testing.M) {
	// The settings of who runs the tests are not theirs. Scripts set a folder of their own.
	if os.Getenv("XDG_CONFIG_HOME") == "" {
		_ = os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.TempDir(), "clew-tests-have-no-settings"))
	}
	testscript.Main(m, programs)
}

// programs are what scripts can run.
var programs = map[string]func(){"clew": main}

// TestScripts runs testdata/script: what each command prints, its exit code,
// and what it leaves on the disk. Beside the usual commands there are
//
//	code N program args...   the program ends with exit code N
//	snap                     remembers every file below the working folder
//	unchanged [file...]      every file is as at snap, but for those named,
//	                         which may be new or changed
//	lock file                this process opens the session for writing
//	unlock                   and closes it again
//	reads file regexp        every command that reads fails with exit code 1, says
//	                         nothing on the output and what matches on the other
//	writes file regexp       likewise for every command that writes
//	session file turns [v]   writes a session of format version v (default 3), see
//	                         scriptSession
//	append file other        adds what is in the other file
//	answers answer...        starts a server of models, see scriptAnswers
//	rpc file flags...        drives clew chat --rpc, see scriptRPC
//	value NAME file          sets a variable to what is in a file
//	expand file              replaces \\xNN and the like in a file, for bytes that
//	                         a script can't hold
func TestScripts(t *testing.T) {
	if raceEnabled && testing.Short() {
		t.Skip("hundreds of programs, each started anew; they run without the race detector")
	}
	testscript.Run(t, scriptParams())
}

// scriptParams is how scripts are run.
func scriptParams() testscript.Params {
	return testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "", // rewrites what cmp compares with
		Setup: func(env *testscript.Env) error {
			env.Setenv("CLEW_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("TZ", "UTC")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("COLUMNS", "100")
			env.Setenv("NO_COLOR", "")
			env.Values[snapKey{}] = map[string]string{}
			env.Values[lockKey{}] = new(*jsonl.File)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %s", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "snap": scriptSnap, "unchanged": scriptUnchanged,
			"reads": scriptReads, "writes": scriptWrites, "lock": scriptLock, "unlock": scriptUnlock, "expand": scriptExpand,
			"session": scriptSession, "append": scriptAppend, "answers": scriptAnswers, "rpc": scriptRPC, "value": scriptValue,
		},
	}
}

// scriptValue sets a variable to what is in a file.
func scriptValue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: value NAME file")
	}
	ts.Setenv(args[0], ts.ReadFile(args[1]))
}

func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// scriptReads and scriptWrites hold commands to the same words for the same file.
func scriptReads(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, args, [][]string{{"tree"}, {"tree", "--json"}, {"context"}, {"context", "--wire", "pi"}, {"verify"}, {"name"}, {"clone", "--out", "out.jsonl"}, {"recall", "--search", "x"}})
}

func scriptWrites(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, args, [][]string{{"undo"}, {"compact"}, {"compact", "--out", "out.jsonl"}, {"compact", "--dry-run"}, {"rm", "--yes"}})
}

func refuse(ts *testscript.TestScript, neg bool, args []string, commands [][]string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: reads|writes file regexp")
	}
	for _, command := range commands {
		scriptCode(ts, false, append(append([]string{"1", "clew"}, command...), args[0]))
		if out := ts.ReadFile("stdout"); out != "" {
			ts.Fatalf("clew %s prints %q", command[0], out)
		}
		complaint := ts.ReadFile("stderr")
		if ok, err := regexp.MatchString(args[1], complaint); err != nil || !ok || strings.Count(complaint, "\n") != 1 {
			ts.Fatalf("clew %s says %q (%v)", command[0], complaint, err)
		}
	}
}

type (
	snapKey struct{}
	lockKey struct{}
)

// files returns a hash for each file below the working folder of a script.
func files(ts *testscript.TestScript) map[string]string {
	root := ts.MkAbs(".")
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(name)] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	ts.Check(err)
	return found
}

func scriptSnap(ts *testscript.TestScript, _ bool, _ []string) {
	into := ts.Value(snapKey{}).(map[string]string)
	clear(into)
	maps.Copy(into, files(ts))
}

func scriptUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	was, is := ts.Value(snapKey{}).(map[string]string), files(ts)
	if neg || len(was) == 0 {
		ts.Fatalf("usage: snap, then unchanged [file...]")
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name] != was[name] && !slices.Contains(args, name) {
			ts.Fatalf("%s was changed or removed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[name]; !ok && !slices.Contains(args, name) {
			ts.Fatalf("%s is new", name)
		}
	}
}

func scriptLock(ts *testscript.TestScript, _ bool, args []string) {
	f, err := jsonl.Open(context.Background(), ts.MkAbs(args[0]), jsonl.Options{Program: "somebody"})
	ts.Check(err)
	ts.Defer(func() { _ = f.Close() })
	*ts.Value(lockKey{}).(**jsonl.File) = f
}

func scriptUnlock(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check((*ts.Value(lockKey{}).(**jsonl.File)).Close())
}

func scriptExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(ts.ReadFile(name), `"`, `\"`), "\n", `\n`) + `"`)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// TestHelp holds every command to what the project promises: a description, a
// group and an example that names only commands and flags that there are.
func TestHelp(t *testing.T) {
	root := newRoot()
	for _, cmd := range append(root.Commands(), root) {
		if cmd.Short == "" || cmd.Example == "" || cmd != root && cmd.GroupID == "" && cmd.Name() != "help" {
			t.Errorf("%s: short %q, example %q, group %q", cmd.CommandPath(), cmd.Short, cmd.Example, cmd.GroupID)
		}
		if cmd != root {
			out, _ := run(t, exitDone, cmd.Name(), "--help")
			for line := range strings.Lines(out) {
				if n := textWidth(strings.TrimRight(line, "\n")); n > 79 {
					t.Errorf("%s --help has a line of %d columns: %s", cmd.Name(), n, line)
				}
			}
		}
		for line := range strings.Lines(cmd.Example) {
			words := strings.Fields(line)
			at := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "clew") })
			if at < 0 || at+1 >= len(words) {
				continue
			}
			checkExample(t, root, words[at+1:])
		}
	}
}

// TestDocsCommands: the README and the pages of docs name commands, flags and references that
// there are.
func TestDocsCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	root, n := newRoot(), 0
	root.InitDefaultHelpCmd()
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	command := regexp.MustCompile("(?m)^    clew (.*)$|`clew ([a-z][^`]*)`")
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shown := block.ReplaceAllStringFunc(string(text), func(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") })
		for _, m := range command.FindAllStringSubmatch(shown, -1) {
			words, _, _ := strings.Cut(m[1]+m[2], " #")
			words = strings.TrimSuffix(words, " --help")
			fields := strings.Fields(words)
			checkExample(t, root, fields)
			if fields[0] == "help" && !strings.Contains(words, "COMMAND") {
				run(t, exitDone, fields...)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("only %d commands found", n)
	}
}

// TestHelpPrintsReferences: help prints a reference whole, or what it says of one thing with the
// sections that it links to.
func TestHelpPrintsReferences(t *testing.T) {
	for _, name := range topics {
		if out, _ := run(t, exitDone, "help", name); !strings.HasPrefix(out, "# ") || strings.Contains(out, "](#") {
			t.Errorf("help %s: %.200s", name, out)
		}
	}
	for _, c := range []struct{ args, has, hasNot string }{
		{"json compact", "\n## A plan\n", "\n## undo\n"},
		{"json unpin", "\n## pin, unpin\n", "\n## purge\n"},
		{"json explain", "\n## explain --presets\n", "\n## summarize\n"},
		{"hooks session_compact", "\n### A pass\n", "\n### An edit\n"},
		{"rpc send", "\n### send\n", "\n### wait\n"},
	} {
		out, _ := run(t, exitDone, append([]string{"help"}, strings.Fields(c.args)...)...)
		if !strings.Contains(out, c.has) || strings.Contains(out, c.hasNot) {
			t.Errorf("help %s: %s", c.args, out)
		}
	}
	if _, errOut := run(t, exitUsage, "help", "json", "nonsense"); !strings.Contains(errOut, "it has: version; ") {
		t.Errorf("got %s", errOut)
	}
}

// TestOneCommandIsMade: a command line that begins with a command makes no other one.
func TestOneCommandIsMade(t *testing.T) {
	for _, c := range commands {
		if made := newRoot(c.name, "--help").Commands(); len(made) != 1 || made[0].Name() != c.name {
			t.Errorf("%s makes %d commands, the first is %s", c.name, len(made), made[0].Name())
		}
	}
	for _, first := range []string{"help", "nonsense", "--color", "__complete"} {
		if n := len(newRoot(first, "version").Commands()); n != len(commands) {
			t.Errorf("%s makes %d of %d commands", first, n, len(commands))
		}
	}
}

// TestSeedsCommands: the commands of docs/seeds.md print what stands below them, and each
// preset has one and is told of in the help.
func TestSeedsCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other, some of them for seconds")
	}
	page, err := os.ReadFile("../../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	out, commands, inside := "", "", false // inside a block that shows what is printed
	for line := range strings.SplitSeq(string(page), "\n") {
		switch command, ok := strings.CutPrefix(line, "$ clew "); {
		case ok:
			inside = true
			out, _ = run(t, exitDone, strings.Fields(command)...)
			commands += command + "\n"
		case line == "```":
			inside = false
		case inside && !strings.Contains("\n"+out, "\n"+line+"\n"):
			t.Errorf("no line %q below the command before it, but\n%s", line, out)
		}
	}
	help, _ := run(t, exitDone, "compact", "--help")
	for _, name := range compact.PresetNames() {
		if name != compact.PresetClew && !strings.Contains(commands, "--preset "+name+" ") {
			t.Errorf("preset %s has no command in docs/seeds.md", name)
		}
		if !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("the help says nothing of preset %s", name)
		}
	}
}

// TestHelpNamesFormats: what help lists by hand is complete.
func TestHelpNamesFormats(t *testing.T) {
	for command, formats := range map[string][]transcript.Format{"import": transcript.Formats(), "export": writableFormats()} {
		help, _ := run(t, exitDone, command, "--help")
		for _, f := range formats {
			if !regexp.MustCompile(`[ \n]` + string(f) + `[,. \n]`).MatchString(help) {
				t.Errorf("%s --help does not name %s", command, f)
			}
		}
	}
}

func checkExample(t *testing.T, root *cobra.Command, words []string) {
	t.Helper()
	found, _, err := root.Find(words)
	if err != nil || found == root {
		t.Errorf("the example %q names no command", words)
		return
	}
	for _, w := range words {
		name, ok := strings.CutPrefix(w, "--")
		if name, _, _ = strings.Cut(name, "="); ok && name != "" && found.Flag(name) == nil && found.InheritedFlags().Lookup(name) == nil {
			t.Errorf("the example %q has the flag %s, which %s does not know", words, w, found.Name())
		}
	}
}

// TestMainWritesWhereTold shows that the entry for tests uses the streams it is given.
func TestMainWritesWhereTold(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := Main([]string{"version"}, strings.NewReader(""), &out, &errOut); code != exitDone || out.Len() == 0 || errOut.Len() != 0 {
		t.Errorf("version: %d, %q, %q", code, &out, &errOut)
	}
	out.Reset()
	if code := Main([]string{"nonsense"}, strings.NewReader(""), &out, &errOut); code != exitUsage || out.Len() != 0 || errOut.Len() == 0 {
		t.Errorf("nonsense: %d, %q, %q", code, &out, &errOut)
	}
}
