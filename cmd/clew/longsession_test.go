package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clew-dev/clew/internal/jsonx"
)

// scriptSession writes a session of some turns: in each the user asks for something,
// the agent reads a file of about 4,000 characters, edits another, runs a test
// and reports. Ids are a letter and the number of the turn: u3, r3, x3, ...
//
//	session file turns [version]
func scriptSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: session file turns [version]")
	}
	turns, err := strconv.Atoi(args[1])
	ts.Check(err)
	version := 3
	if len(args) > 2 {
		version, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), longSession(turns, version), 0o600))
}

// scriptAppend adds what is in another file; LEAF in it stands for the id of the
// last record.
func scriptAppend(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append file other")
	}
	was := ts.ReadFile(args[0])
	last := was[strings.LastIndex(strings.TrimSuffix(was, "\n"), "\n")+1:]
	leaf, _ := jsonx.String(jsonx.Get([]byte(last), "id"))
	data := was + strings.ReplaceAll(ts.ReadFile(args[1]), "LEAF", leaf)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data), 0o600))
}

// longSession returns the bytes that scriptSession writes.
func longSession(turns, version int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":%d,"id":"5e5510000000beef","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/src/app"}`+"\n", version)
	parent := "null"
	n := 0
	put := func(id string, message map[string]any) {
		n++
		message["timestamp"] = 1767261600000 + n*1000
		data, _ := json.Marshal(message)
		identity := fmt.Sprintf(`"id":%q,"parentId":%s,`, id, parent)
		if version == 1 {
			identity = ""
		}
		fmt.Fprintf(&b, `{"type":"message",%s"timestamp":"2026-01-01T10:%02d:%02d.000Z","message":%s}`+"\n", identity, n/60%60, n%60, data)
		parent = strconv.Quote(id)
	}
	assistant := func(id string, blocks ...map[string]any) {
		put(id, map[string]any{
			"role": "assistant", "provider": "anthropic", "model": "claude-opus-4-5", "stopReason": "stop", "content": blocks,
		})
	}
	text := func(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
	call := func(id, name string, arguments map[string]any) map[string]any {
		return map[string]any{"type": "toolCall", "id": id, "name": name, "arguments": arguments}
	}
	result := func(id, callID, name, output string) {
		put(id, map[string]any{"role": "toolResult", "toolCallId": callID, "toolName": name, "isError": false, "content": []any{text(output)}})
	}
	for i := 1; i <= turns; i++ {
		s := strconv.Itoa(i)
		put("u"+s, map[string]any{"role": "user", "content": "Please make step " + s + " of the import faster, and keep the order of the rows."})
		assistant("r"+s, text("I look at the file of step "+s+"."), call("c"+s+"a", "read", map[string]any{"path": "step" + s + ".go"}))
		result("x"+s, "c"+s+"a", "read", "package step"+s+"\n"+strings.Repeat(fmt.Sprintf("func part%d(rows []row) int { return len(rows) * %d }\n", i, i*7919), 76))
		assistant("e"+s, call("c"+s+"b", "edit", map[string]any{"path": "step" + s + ".go", "oldText": "rows []row", "newText": "rows []*row"}),
			call("c"+s+"c", "bash", map[string]any{"command": "go test ./step" + s}))
		result("f"+s, "c"+s+"b", "edit", "edited step"+s+".go")
		result("g"+s, "c"+s+"c", "bash", "ok  \tapp/step"+s+"\t0.2s")
		assistant("a"+s, text("Step "+s+" passes rows by reference now, and its test passes."))
	}
	return []byte(b.String())
}
