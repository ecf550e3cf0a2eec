package redact

import "strings"

// secretNames are the parts of names whose values are secret. The first take any
// value, the others one that looks drawn by lot.
var (
	passwordNames = []string{"password", "passwd", "passphrase"}
	secretNames   = []string{
		"secret", "token", "apikey", "api_key", "api-key", "access_key", "accesskey", "access-key", "private_key", "privatekey",
		"credential", "auth_key", "authkey", "encryption_key", "signing_key", "session_key", "webhook_key", "pwd", "pat", "authorization",
	}
)

// assigned returns the value that is given at s[i], which is "=" or ":", to
// something whose name says that it is secret.
func assigned(s string, i int) (from, to int) {
	end := i
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '"' || s[end-1] == '\'' || s[end-1] == '\\') && i-end < 3 {
		end--
	}
	begin := end
	for begin > 0 && end-begin < 80 && (wordByte[s[begin-1]] && s[begin-1] != '/' && s[begin-1] != '+') {
		begin--
	}
	if end-begin < 3 {
		return 0, 0
	}
	name := strings.ToLower(s[begin:end])
	anything := contains(name, passwordNames)
	if !anything && !contains(name, secretNames) {
		return 0, 0
	}
	from = i + 1
	for from < len(s) && (s[from] == ' ' || s[from] == '\t' || s[from] == '=') && from-i < 4 {
		from++
	}
	quote := byte(0)
	if from < len(s) && s[from] == '\\' {
		from++
	}
	if from < len(s) && (s[from] == '"' || s[from] == '\'' || s[from] == '`') {
		quote = s[from]
		from++
	}
	to = from
	for to < len(s) && (s[to] > ' ' || s[to] == ' ' && quote != 0 && anything) && s[to] < 0x7f && to-from < 2000 {
		c := s[to]
		if quote != 0 && (c == quote || c == '\\') || quote == 0 && strings.IndexByte("\"'`,;&<>|)]}\\", c) >= 0 {
			break
		}
		to++
	}
	if quote == 0 { // a full stop at the end is that of a sentence
		to = from + len(strings.TrimRight(s[from:to], ".:!?"))
	}
	value := s[from:to]
	switch {
	case placeholder(value), to < len(s) && s[to] == '(' || strings.ContainsAny(value, "({$"):
		return 0, 0
	case anything:
		// Code has types and variables in this place; a literal stands in quotes or
		// in a line of settings.
		if quote != 0 && len(value) >= 4 || s[i] == '=' && upper(s[begin:end]) && len(value) >= 4 || random(value, 8) {
			return from, to
		}
	case random(value, 16) && !strings.Contains(value, "/") && strings.Count(value, ".") < 3:
		return from, to
	}
	return 0, 0
}

func contains(name string, parts []string) bool {
	for _, p := range parts {
		if p == "pat" || p == "pwd" {
			if strings.HasSuffix(name, "_"+p) || name == p {
				return true
			}
		} else if strings.Contains(name, p) {
			return true
		}
	}
	return false
}

// upper reports whether a name is that of an environment variable.
func upper(s string) bool { return s == strings.ToUpper(s) }

// placeholder reports whether a value only stands for a secret.
func placeholder(v string) bool {
	if len(v) < 3 || v[0] == '<' || v[0] == '$' || v[0] == '%' || v[0] == '{' || v[0] == '[' {
		return true
	}
	low := strings.ToLower(v)
	for _, p := range []string{"...", "xxx", "***", "your", "example", "placeholder", "changeme", "redacted", "dummy", "…"} {
		if strings.Contains(low, p) {
			return true
		}
	}
	return low == "password" || low == "secret" || low == "none" || low == "null" || low == "nil" || low == "true" || low == "false" || low == "undefined" || low == "string"
}
