package summary_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// Very long lines, encoded data and text without a sentence are no trouble: the
// budget holds, and what is said beside them is there.
func TestHugeMessages(t *testing.T) {
	t.Parallel()
	size := 256 << 10
	if testing.Short() {
		size = 16 << 10
	}
	r := rand.New(rand.NewPCG(1, 71))
	data := make([]byte, size)
	for i := range data {
		data[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[r.IntN(64)]
	}
	line := strings.Repeat("a word and another one, without any end ", size/40)
	brackets := strings.Repeat("[{(\"", size/4)
	for name, huge := range map[string]string{
		"base64": string(data), "one line": line, "brackets": brackets, "chinese": strings.Repeat("很长的一行", size/15), "colons": strings.Repeat("token:='", size/8),
		"ticks": strings.Repeat("`", size), "newlines": strings.Repeat("\n", size), "dashes": strings.Repeat("-----BEGIN ", size/11),
	} {
		conv := testchat.New()
		conv.User("Fix parseEntry in store/log.go. Never push.")
		conv.User(huge)
		conv.Say(huge)
		conv.Bash("cat "+huge[:1000], huge)
		conv.Call("write", testchat.Args("path", "store/log.go", "content", huge), huge)
		conv.Say("I fixed parseEntry in store/log.go because readSession needs it.")
		conv.User("go on")
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: 2000, ClipLast: true})
		if out.Tokens > 2000 || !strings.Contains(out.Text, "Never push.") || !strings.Contains(out.Text, "because readSession needs it") {
			t.Errorf("%s: %d tokens:\n%.3000s", name, out.Tokens, out.Text)
		}
	}
}
