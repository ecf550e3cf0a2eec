package builtin

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

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
