package modeltest

import "github.com/clew-dev/clew/message"

// bytesPerToken is what everything counts here.
const bytesPerToken = 4

func outputTokens(blocks []message.Block) int64 {
	var n int64
	for i := range blocks {
		n += int64(len(blocks[i].Text)+len(blocks[i].Arguments)+len(blocks[i].Name))/bytesPerToken + 1
	}
	return n
}

// pieces cuts a text as streams do, at whole characters.
func pieces(s string) (out []string) {
	const size = 9
	start, n := 0, 0
	for i := range s {
		if n == size {
			out = append(out, s[start:i])
			start, n = i, 0
		}
		n++
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}
