package meter

import (
	"unicode"

	"github.com/clew-dev/clew/message"
)

// letters counts the letters of a text by what they are.
type letters struct{ all, wide int64 }

func (l *letters) add(m *message.Message) {
	for i := range m.Content {
		b := &m.Content[i]
		l.text(b.Text)
		l.text(string(b.Arguments))
	}
}

func (l *letters) text(s string) {
	for _, r := range s {
		switch {
		case r < 0x80:
			if 'a' <= r|0x20 && r|0x20 <= 'z' {
				l.all++
			}
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			l.all++
			l.wide++
		case unicode.IsLetter(r):
			l.all++
		}
	}
}

// cjk reports that at least a tenth is Chinese, Japanese or Korean.
func (l *letters) cjk() bool { return l.wide > 0 && l.wide*10 >= l.all }
