package rpc

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is the most that a line may have, in bytes, its end apart.
const MaxLine = 64 << 20

var (
	errLong = errors.New("the line is longer than 64 MiB")
	errTorn = errors.New("the last line has no end")
)

// lineReader reads lines that end in LF.
type lineReader struct {
	r    *bufio.Reader
	most int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), MaxLine}
}

// next returns a line without its end. A line that is too long is passed over: errLong. The
// end is io.EOF, or errTorn where something came after the last LF.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		if !long {
			line = append(line, piece...)
		}
		if len(line) > l.most+1 {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line) > 0 || long):
			return nil, errTorn
		case err != nil:
			return nil, err
		case long:
			return nil, errLong
		}
		return line[:len(line)-1], nil
	}
}
