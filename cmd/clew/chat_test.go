package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// scriptAnswers starts a server of models, and sets MODEL_URL to its address, MODEL_KEY to
// its key. Each argument is an answer: text:WORDS, call:TOOL:ARGUMENTS, status:CODE, overflow,
// hang.
func scriptAnswers(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: answers answer...")
	}
	var replies []modeltest.Reply
	for i, arg := range args {
		what, rest, _ := strings.Cut(arg, ":")
		switch what {
		case "text":
			replies = append(replies, modeltest.Text(rest))
		case "call":
			name, arguments, _ := strings.Cut(rest, ":")
			if !json.Valid([]byte(arguments)) {
				ts.Fatalf("%s: no JSON", arguments)
			}
			replies = append(replies, modeltest.Answer(message.TextBlock("I look."), modeltest.Call("call_"+strconv.Itoa(i), name, arguments)))
		case "status":
			code, err := strconv.Atoi(rest)
			ts.Check(err)
			replies = append(replies, modeltest.Status(code, `{"error":{"type":"invalid_request_error","message":"no such thing"}}`))
		case "overflow":
			replies = append(replies, modeltest.Overflow(210_000, 200_000))
		case "hang":
			replies = append(replies, modeltest.Text("never").With(modeltest.Faults{Delay: time.Hour}))
		case "retry":
			replies = append(replies, modeltest.Fail(model.KindOverloaded))
		default:
			ts.Fatalf("there is no answer %q", arg)
		}
	}
	srv := modeltest.Start(modeltest.Config{}, replies...)
	ts.Defer(func() {
		bad := srv.Violations()
		srv.Close()
		if len(bad) > 0 {
			ts.Fatalf("requests that are not valid: %v", bad)
		}
	})
	ts.Setenv("MODEL_URL", srv.URL)
	ts.Setenv("MODEL_KEY", modeltest.Key)
}

// scriptRPC runs clew chat --rpc with arguments, sends it the lines of a file, each when the
// one before is answered, and prints what it writes.
func scriptRPC(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: rpc file flags...")
	}
	clew, err := exec.LookPath("clew")
	ts.Check(err)
	cmd := exec.Command(clew, append([]string{"chat", "--rpc"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "CLEW_DATA_DIR="+ts.Getenv("CLEW_DATA_DIR"), "XDG_CONFIG_HOME="+ts.Getenv("XDG_CONFIG_HOME"), "MODEL_KEY="+ts.Getenv("MODEL_KEY"))
	cmd.Stderr = ts.Stderr()
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	end := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	until := func(what string) {
		for lines.Scan() {
			fmt.Fprintln(ts.Stdout(), lines.Text())
			if strings.HasPrefix(lines.Text(), what) {
				return
			}
		}
	}
	until(`{"hello":`)
	for request := range strings.Lines(ts.ReadFile(args[0])) {
		_, err := io.WriteString(in, request)
		ts.Check(err)
		until(`{"id":`)
	}
	ts.Check(in.Close())
	until("nothing")
	if err := cmd.Wait(); err != nil {
		fmt.Fprintln(ts.Stdout(), err)
	}
}

// TestD93TheAnswerIsNoSummary: a pass after the last answer has no part in what is printed,
// whether the model that answers writes the summary, as the flag or the preset says, or rules do.
func TestD93TheAnswerIsNoSummary(t *testing.T) {
	for by, model := range map[string]bool{"--summarizer=none": false, "--summarizer=same": true, "--preset=clew": false, "--preset=pi": true} {
		if testing.Short() && strings.HasPrefix(by, "--preset") {
			continue
		}
		final := "The final answer. " + strings.Repeat("The lock is taken in the reader and given back in the writer. ", 250)
		srv := modeltest.Start(modeltest.Config{}, modeltest.Text(final))
		defer srv.Close()
		if model {
			srv.Add(modeltest.Text("## Goal\n- understand the lock\n\n## Next Steps\n1. go on\n"))
		}
		t.Setenv("MODEL_KEY", modeltest.Key)
		t.Setenv("CLEW_DATA_DIR", t.TempDir())
		flags := []string{
			"chat", "-p", "--cwd", t.TempDir(), "--window", "16k", by,
			"--model", "anthropic/claude-sonnet-4-5", "--base-url", srv.URL, "--key-env", "MODEL_KEY",
		}
		in := "Read this. " + strings.Repeat("The reader waits for the writer, and the writer for the reader. ", 400)
		var out, errOut bytes.Buffer
		if code := Main(flags, strings.NewReader(in), &out, &errOut); code != exitDone || out.String() != strings.TrimSpace(final)+"\n" && out.String() != final+"\n" || errOut.Len() > 0 {
			t.Errorf("%s: %d, %.200q, %q", by, code, &out, &errOut)
		}
		if srv.Left() != 0 {
			t.Errorf("%s: the model was not asked for a summary", by)
		}
		// It was compacted, and goes on.
		files, err := filepath.Glob(filepath.Join(os.Getenv("CLEW_DATA_DIR"), "sessions", "*", "*.jsonl"))
		if err != nil || len(files) != 1 || !strings.Contains(mustRead(t, files[0]), `"type":"compaction"`) {
			t.Errorf("%s: %q %v", by, files, err)
		}
		srv.Add(modeltest.Text("Yes."), modeltest.Text("Yes."))
		out.Reset()
		if code := Main(append(flags, "-c", "and then?"), strings.NewReader(""), &out, &errOut); code != exitDone || out.String() != "Yes.\n" {
			t.Errorf("%s: %d, %q, %q", by, code, &out, &errOut)
		}
	}
}
