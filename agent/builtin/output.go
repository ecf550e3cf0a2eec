package builtin

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// What is kept of the output of a command, in bytes: the beginning, and the end, where
// errors tend to stand.
const (
	keepHead = 1 << 20
	keepTail = 7 << 20
)

// keeper takes the output of a command. It tells what comes, and keeps a part.
type keeper struct {
	tell func(string) // may be nil

	mu   sync.Mutex
	head []byte
	tail []byte // up to twice keepTail: it is moved seldom
	all  int64
	wait []byte // came, and can't be told yet: half a character or escape sequence
}

func (k *keeper) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(b)
	k.all += int64(n)
	k.show(b)
	room := min(keepHead-len(k.head), n)
	k.head = append(k.head, b[:room]...)
	b = b[room:]
	k.tail = append(k.tail, b[max(0, len(b)-keepTail):]...)
	if len(k.tail) > 2*keepTail {
		k.tail = append(k.tail[:0], k.tail[len(k.tail)-keepTail:]...)
	}
	return n, nil
}

// text returns what was kept, as it is read by people, and whether some of it was
// left out.
func (k *keeper) text() (s string, cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tail := k.tail[max(0, len(k.tail)-keepTail):]
	left := k.all - int64(len(k.head)) - int64(len(tail))
	if left == 0 {
		return readable(string(k.head) + string(tail)), false
	}
	// Cut at lines where there are some near: what is between the pieces is missing.
	head := k.head
	if i := bytes.LastIndexByte(head, '\n'); i >= len(head)-4096 {
		left += int64(len(head) - i - 1)
		head = head[:i+1]
	}
	if i := bytes.IndexByte(tail[:4096], '\n'); i >= 0 {
		left += int64(i + 1)
		tail = tail[i+1:]
	}
	return readable(string(head)) + fmt.Sprintf("\n[%d bytes of output are left out here]\n", left) + readable(string(tail)), true
}

// show tells a piece of the output. What is not complete waits for the next.
func (k *keeper) show(b []byte) {
	if k.tell == nil {
		return
	}
	k.wait = append(k.wait, b...)
	whole := len(k.wait) - unfinished(k.wait)
	if s := line(k.wait[:whole]); s != "" {
		k.tell(s)
	}
	k.wait = append(k.wait[:0], k.wait[whole:]...)
}

// end tells what was waiting.
func (k *keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := line(k.wait); s != "" && k.tell != nil {
		k.tell(s)
	}
	k.wait = nil
}

// line is readable for a piece: what was written over stays, on a line of its own.
func line(b []byte) string {
	s := strings.ReplaceAll(string(b), "\r\n", "\n")
	return strip(strings.ReplaceAll(s, "\r", "\n"))
}

// maxSequence is how much of an escape sequence is waited for.
const maxSequence = 4096

// unfinished returns how many bytes at the end of b are the beginning of something.
func unfinished(b []byte) int {
	if i := bytes.LastIndexByte(b, '\x1b'); i >= 0 && len(b)-i < maxSequence {
		if !sequence().Match(b[i:]) {
			return len(b) - i
		}
	}
	if bytes.HasSuffix(b, []byte("\r")) {
		return 1
	}
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			break
		}
	}
	return 0
}

// sequence matches an escape sequence of terminals: those of ECMA-48 with its strings,
// and what selects character sets.
var sequence = text.Pattern(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\\x60-~])`)

// overstruck matches a character that a printer would have printed another one over.
var overstruck = text.Pattern(`[^\n\x08]\x08`)

// readable is an output without what only a terminal understands: of a line that was
// written over and over, the last text.
func readable(s string) string {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = strings.ReplaceAll(sequence().ReplaceAllString(s, ""), "\x1b", "")
	}
	if strings.IndexByte(s, '\b') >= 0 {
		s = overstruck().ReplaceAllString(s, "")
	}
	return strings.TrimRight(strip(text.Plain(s)), "\n")
}

// strip takes out escape sequences and control characters, and makes it UTF-8.
func strip(s string) string {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = sequence().ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
