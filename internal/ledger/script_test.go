package ledger

import (
	"testing"
)

func TestScriptCalls(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`tools.exec_command({cmd: "ls -l", workdir: '/w'})`, "exec_command ls -l in /w"},
		{"const c = `git log`; await tools.exec_command({cmd: c})", "exec_command git log"},
		{`tools.exec_command({cmd})`, "exec_command "},
		{`let cmd = "id"; tools.exec_command({cmd, timeout_ms: 010})`, "exec_command id"},
		{`tools.exec_command({"cmd": "a\u0041\x42\n"})`, "exec_command aAB\n"},
		{`"tools.exec_command({cmd: 'no'})"`, ""},
		{`// tools.exec_command({cmd: 'no'})`, ""},
		{"tools.exec_command({cmd: `a ${b}`})", "exec_command "},
		{`tools.exec_command({cmd: f(x)})`, "exec_command "},
		{`tools.exec_command({cmd: "open`, "exec_command "},
		{`tools.`, ""},
		{`console.log(1)`, ""},
	} {
		got := ""
		for _, call := range scriptCalls(c.in, "e") {
			got += call.tool + " " + call.command
			if call.dir != "" {
				got += " in " + call.dir
			}
		}
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// Whatever a model writes into a call, reading it ends and panics nowhere.
func FuzzCalls(f *testing.F) {
	for _, s := range []string{
		"tools.exec_command({cmd: \"ls\"})", "const x = `a`; tools.apply_patch(x)", `tools.a([{b:["c",1,null,true]}])`, "tools.x({a:{a:{a:{", "tools.exec({input: 'tools.exec(1)'})",
		"--- FAIL: T (0s)\nFAIL\tp\t1s\nFAILED a.py::b", "- [ ] a\n- [x] b",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, script, out string) {
		for _, c := range scriptCalls(script, "e") {
			if c.entry != "e" {
				t.Fatalf("a call of no entry: %+v", c)
			}
		}
		if n := failedTests(out); len(n) > maxFailed {
			t.Fatalf("%d tests failed", len(n))
		}
		for _, b := range checkboxes(out, "e") {
			if b.Text == "" {
				t.Fatal("a todo without text")
			}
		}
		l := readLine(script, parseScript(newParser(), script), newPlace("/w"), "")
		_ = l.covers(newSelection("pytest", []string{out}, ""))
		_ = l.runs(l, out)
		_ = Binding(out)
		_ = Finished(out)
	})
}
