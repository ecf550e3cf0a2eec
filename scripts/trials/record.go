package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// record writes the last request of a program's loop as it came, but for what it says.
func (t *trial) record(l *loop) error {
	var last *heard
	for _, h := range l.heard {
		if h.status == http.StatusOK && len(h.body) > 0 && l.works(h.body) {
			last = h
		}
	}
	if last == nil {
		return fmt.Errorf("%s has sent nothing to record", l.agent.name)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\nHost: 127.0.0.1\n", last.req.URL.RequestURI())
	for _, name := range []string{"Content-Type", "Content-Encoding", "Accept", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta"} {
		for _, v := range last.req.Header[name] {
			v, _, _ = strings.Cut(v, " (") // the system behind a User-Agent
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	body := scrub(last.body, t.dir)
	fmt.Fprintf(&b, "Content-Length: %d\n\n%s", len(body), body)
	return os.WriteFile(filepath.Join(t.records, l.agent.name+".http"), b.Bytes(), 0o600)
}

// maxProse is how much is left of a text, in bytes.
const maxProse = 300

var (
	hexDigits = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32,}`)
	proseless = regexp.MustCompile(`^(\{\\"|[^ ]{0,80}$)`) // JSON in a text, names and ids
)

// scrub replaces what a body says: texts become words without a meaning, ids become zeros, and
// the folder of the trial another one. Keys, their order, numbers, spaces, escapes and
// characters beyond ASCII stay.
func scrub(body []byte, dir string) []byte {
	var out []byte
	for i := 0; i < len(body); {
		if body[i] != '"' {
			out = append(out, body[i])
			i++
			continue
		}
		end := i + 1
		for body[end] != '"' {
			if body[end] == '\\' {
				end++
			}
			end++
		}
		said := string(body[i+1 : end])
		if rest := bytes.TrimLeft(body[end+1:], " \n\r\t"); len(rest) == 0 || rest[0] != ':' {
			said = strings.ReplaceAll(said, dir, "/home/user")
			if proseless.MatchString(said) && !strings.Contains(said, `\n`) {
				said = hexDigits.ReplaceAllStringFunc(said, func(id string) string { return regexp.MustCompile(`[^-]`).ReplaceAllString(id, "0") })
			} else {
				said = babble(said)
			}
		}
		out = append(append(append(out, '"'), said...), '"')
		i = end + 1
	}
	return out
}

// escape is an escape of JSON; those of two halves of a character stay together.
var escape = regexp.MustCompile(`^\\(u[dD][89abAB]..\\u....|u....|.)`)

const filler = "loremipsumdolorsitametconsecteturadipiscingelit"

// babble replaces letters and digits of a text that is written as JSON, up to maxProse.
func babble(said string) string {
	var out strings.Builder
	for i := 0; i < len(said) && out.Len() < maxProse; {
		n := 1
		switch c := said[i]; {
		case c == '\\':
			n = len(escape.FindString(said[i:]))
		case c >= utf8.RuneSelf:
			_, n = utf8.DecodeRuneInString(said[i:])
		case c >= '0' && c <= '9':
			out.WriteByte('1')
			i++
			continue
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			out.WriteByte(filler[i%len(filler)] - 'a' + c&^31 + 1)
			i++
			continue
		}
		out.WriteString(said[i : i+n])
		i += n
	}
	return out.String()
}
