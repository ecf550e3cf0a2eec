package builtin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
)

// What is kept of the output of a command, in bytes: the beginning, and the end, where
// errors tend to stand. This bounds memory only: how much of an output a model is shown is
// decided where the session stores it, which takes an excerpt of all that was kept.
const (
	keepHead = 1 << 20
	keepTail = 7 << 20
)

// commandOutput takes the output of a command. It tells what comes, and keeps a part.
type commandOutput struct {
	tell func(string) // may be nil

	mu   sync.Mutex
	head []byte
	tail []byte // up to twice keepTail: it is moved seldom
	all  int64
	wait []byte // came, and can't be told yet: half a character or escape sequence
}

func (k *commandOutput) Write(b []byte) (int, error) {
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
func (k *commandOutput) text() (s string, cut bool) {
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
func (k *commandOutput) show(b []byte) {
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
func (k *commandOutput) end() {
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
	return half(b)
}

// half returns how many bytes at the end of b are the beginning of a character.
func half(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if end := b[len(b)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
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

// nextLine reads one line, of which it returns at most keep bytes, without what ends
// it. size is the length of the whole. At the end of the file the error is io.EOF.
func nextLine(r *bufio.Reader, keep int) (line []byte, size int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		if room := keep - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && size > 0:
		case err != nil:
			return nil, 0, err
		}
		if bytes.HasSuffix(part, []byte("\n")) {
			size--
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if int64(len(line)) == size && bytes.HasSuffix(line, []byte("\r")) {
			line = line[:size-1]
			size--
		}
		return line, size, nil
	}
}

// binary reports whether the beginning of a file is not that of a text.
func binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// headSize is how much of a file is looked at to tell what it is.
const headSize = 8 << 10

// What can be wrong. Errors of this package are of type *Error and wrap one of
// these, an error of io/fs or that of a context.
var (
	// ErrArguments: the model's arguments are not those that the tool takes.
	ErrArguments = errors.New("the arguments are wrong")
	// ErrRefused: a place that the tools for files keep away from.
	ErrRefused = files.ErrRefused
	// ErrChanged: a path leads elsewhere than before, or the file was changed by
	// another program.
	ErrChanged = files.ErrReplaced
)

// Error says which tool, on what, what went wrong and what to do about it. The words are for the model.
type Error = session.Error

func wrong(what string) error { return &files.Because{Kind: ErrArguments, What: what} }

// said is what a tool says of an error, in place of its own text where it has one, and what to do about it.
var said = []struct {
	of         error
	what, hint string
}{
	{fs.ErrNotExist, "there is no such file or folder", "look for it with find or ls"},
	{fs.ErrPermission, "the system does not allow it", "the user would have to change the permissions"},
	{syscall.ENAMETOOLONG, "the name is longer than the system takes", "take a shorter one"},
	{syscall.ENOTDIR, "a part of the path is a file, not a folder", "look at the folder above with ls"},
	{syscall.ELOOP, "its symbolic links lead round in a circle", "use bash, if it has to be"},
	{syscall.ENOSPC, "the disk is full", "tell the user, who has to make room"},
	{syscall.EROFS, "the file system can only be read", "write elsewhere, or tell the user"},
	{fs.ErrClosed, "the session is closed", ""},
	{files.ErrFolder, "", "name a file in it; ls shows what is there"},
	{errNotFolder, "", "give the folder that it is in"},
	{files.ErrLarge, "", "use bash, with sed or a script"},
	{ErrRefused, "", "use bash, if it has to be"},
	{errNoFolder, "", "leave the slash out, or name a file in a folder"},
	{errFolderName, "", "leave the slash out, or name a file in a folder"},
	{ErrChanged, "", "look at it again, and call again"},
}

// fail makes an *Error of what the system said about a place.
func fail(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	for _, s := range said {
		if errors.Is(err, s.of) {
			if s.what != "" {
				err = &files.Because{Kind: s.of, What: s.what}
			}
			return &Error{Op: op, Subject: subject, Err: err, Hint: s.hint}
		}
	}
	// The words of the system name the path as it was opened: ours is clearer.
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return &Error{Op: op, Subject: subject, Err: err}
}
