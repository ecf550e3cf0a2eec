//go:build !race

package token_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// Counting the text of messages allocates nothing.
func TestCountingDoesNotAllocate(t *testing.T) {
	now := time.UnixMilli(0)
	msgs := []*message.Message{
		message.User("run the tests "+strings.Repeat("0a1b2c3d4e5f6789", 10), now),
		message.Assistant(now, message.ThinkingBlock("which ones?", "sig"), message.TextBlock("文件"), message.ToolCallBlock("call_1", "bash", json.RawMessage("{\n\"command\": \"go test \\u4e2d\\ud83d\\ude00\"}"))),
		message.ToolResult("call_1", "bash", "ok", false, now),
		{Role: message.RoleBashExecution, Command: "ls", Output: "a b"},
		{Role: message.RoleCompactionSummary, Summary: "before"},
	}
	for _, f := range families {
		c := token.Heuristic(f)
		if n := testing.AllocsPerRun(100, func() {
			for _, m := range msgs {
				c.Message(m)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", f, n)
		}
	}
}
