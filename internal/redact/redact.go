// Package redact takes secrets out of text: keys, tokens, passwords.
//
//	redact.Text("export API_KEY=9f8e7d6c5b4a39281706") // "export API_KEY=[redacted:credential]"
//
// It goes by the forms that issuers give their keys and by the names that people
// give to what is secret. It is a net with holes: a secret that looks like any
// other word passes. Everything else in the text stays as it is, byte for byte.
package redact

import (
	"strings"
)

// Kind says what was taken out.
type Kind string

// The kinds, as they stand in the mark.
const (
	PrivateKey Kind = "private-key" // a PEM block
	Key        Kind = "key"         // a key or token in the form of its issuer
	Token      Kind = "token"       // a JSON web token, what follows "Bearer"
	Password   Kind = "password"    // in a URL
	Credential Kind = "credential"  // the value of something with a telling name
)

// Mark returns what stands where a secret was.
func Mark(k Kind) string { return "[redacted:" + string(k) + "]" }

// Text returns s with the secrets in it replaced by marks. Without any it is s.
func Text(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; !begins[c] {
			i++
			continue
		} else if wordByte[c] && c != '-' { // most words are too short for a key
			if n := wordEnd(s, i); n-i < 16 && n-i != len("basic") && n-i != len("bearer") {
				i = n
				continue
			}
		}
		from, to, kind := at(s, i)
		if kind == "" {
			i = to
			continue
		}
		b.WriteString(s[done:from])
		b.WriteString(Mark(kind))
		done, i = to, to
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// at looks for a secret that begins at s[i]. Without one, kind is "" and to is
// where to look next.
func at(s string, i int) (from, to int, kind Kind) {
	c := s[i]
	switch {
	case c == '-' && strings.HasPrefix(s[i:], "-----BEGIN "):
		if n := pemAt(s[i:]); n > 0 {
			return i, i + n, PrivateKey
		}
	case c == ':' && strings.HasPrefix(s[i:], "://"):
		if from, to := userinfo(s, i+3); to > from {
			return from, to, Password
		}
	case c == '=' || c == ':':
		if from, to := assigned(s, i); to > from {
			return from, to, Credential
		}
	case wordStart(s, i):
		n := wordEnd(s, i)
		// A full stop or a dash at the end is not the key's.
		if end := i + len(strings.TrimRight(s[i:n], ".-+")); end > i {
			if k := issued(s[i:end]); k != "" {
				return i, end, k
			}
		}
		if (n-i == 6 && strings.EqualFold(s[i:n], "bearer") || n-i == 5 && strings.EqualFold(s[i:n], "basic")) && n < len(s) && s[n] == ' ' {
			end := wordEnd(s, n+1)
			if w := strings.TrimRight(s[n+1:end], ".-+"); random(w, 16) {
				return n + 1, n + 1 + len(w), Token
			}
		}
		return 0, n, ""
	}
	return 0, i + 1, ""
}

// wordByte holds the characters that keys are made of.
var wordByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.' || c == '+' || c == '/'
	}
	return t
}()

// begins holds the characters at which a secret may be found.
var begins = func() (t [256]bool) {
	for c := range 256 {
		t[c] = wordByte[c] && c != '/' || c == ':' || c == '='
	}
	return t
}()

func wordStart(s string, i int) bool { return wordByte[s[i]] && s[i] != '/' && s[i] != '-' }

// wordEnd returns where the run of key characters that starts at i ends. A slash
// ends it: keys have none at their beginning, paths have.
func wordEnd(s string, i int) int {
	for i < len(s) && wordByte[s[i]] && s[i] != '/' {
		i++
	}
	return i
}

// prefixes are how issuers begin their keys, and how long a key is at least.
var prefixes = []struct {
	begin string
	least int
}{
	{"sk-ant-", 24},
	{"sk-proj-", 24},
	{"sk-or-", 24},
	{"sk-", 24},
	{"sk_live_", 16},
	{"rk_live_", 16},
	{"sk_test_", 16},
	{"pk_live_", 16},
	{"whsec_", 16},
	{"ghp_", 20},
	{"gho_", 20},
	{"ghu_", 20},
	{"ghs_", 20},
	{"ghr_", 20},
	{"github_pat_", 24},
	{"glpat-", 16},
	{"gldt-", 16},
	{"xoxa-", 16},
	{"xoxb-", 16},
	{"xoxp-", 16},
	{"xoxr-", 16},
	{"xoxs-", 16},
	{"xapp-", 16},
	{"AKIA", 20},
	{"ASIA", 20},
	{"AIza", 35},
	{"ya29.", 24},
	{"npm_", 24},
	{"hf_", 24},
	{"pypi-", 32},
	{"dop_v1_", 32},
	{"SG.", 32},
	{"shpat_", 24},
	{"lin_api_", 24},
	{"ntn_", 24},
	{"r8_", 24},
	{"gsk_", 24},
	{"xai-", 24},
	{"tvly-", 20},
	{"pplx-", 24},
	{"sbp_", 24},
	{"dckr_pat_", 20},
	{"ATATT", 32},
	{"EAAC", 40},
	{"AGE-SECRET-KEY-", 40},
	{"nvapi-", 24},
	{"figd_", 24},
}

// firstOf says which characters prefixes begin with.
var firstOf = func() (t [256]bool) {
	for _, p := range prefixes {
		t[p.begin[0]] = true
	}
	return t
}()

// issued reports whether a word is a key in the form of its issuer.
func issued(w string) Kind {
	if len(w) < 16 {
		return ""
	}
	if w[0] == 'e' && strings.HasPrefix(w, "eyJ") && strings.Count(w, ".") >= 2 && len(w) > 40 {
		return Token
	}
	if !firstOf[w[0]] {
		return ""
	}
	for _, p := range prefixes {
		if strings.HasPrefix(w, p.begin) && len(w) >= p.least && random(w[len(p.begin):], p.least-len(p.begin)) {
			return Key
		}
	}
	return ""
}

// random reports whether a word of at least n characters looks drawn by lot: it
// has letters and digits, and several different ones.
func random(w string, n int) bool {
	if len(w) < n {
		return false
	}
	letters, digits := 0, 0
	var seen [256]bool
	different := 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
		if !seen[w[i]] {
			seen[w[i]] = true
			different++
		}
	}
	return digits >= 2 && letters >= 2 && different >= 7
}

// pemAt returns the length of the block of a private key that s begins with. One
// that does not end reaches as far as its lines look like one.
func pemAt(s string) int {
	head, _, _ := strings.Cut(s[:min(len(s), 100)], "\n")
	if !strings.Contains(head, "PRIVATE KEY") {
		return 0
	}
	if k := strings.Index(s[:min(len(s), 1<<15)], "-----END "); k >= 0 {
		if end := strings.Index(s[k+9:min(len(s), k+109)], "-----"); end >= 0 {
			return k + 9 + end + 5
		}
	}
	n := len(head)
	for n < len(s) && (wordByte[s[n]] || s[n] == '\n' || s[n] == '\r' || s[n] == '=' || s[n] == '\\') {
		n++
	}
	return n
}

// userinfo returns the password in the authority of a URL that begins at i.
func userinfo(s string, i int) (from, to int) {
	colon := -1
	for k := i; k < len(s) && k < i+300; k++ {
		switch c := s[k]; {
		case c == ':' && colon < 0:
			colon = k
		case c == '@':
			if colon >= i && k > colon+1 && !placeholder(s[colon+1:k]) {
				return colon + 1, k
			}
			return 0, 0
		case c <= ' ' || c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`':
			return 0, 0
		}
	}
	return 0, 0
}
