package mcp

import (
	"runtime"
	"slices"
	"strings"
)

// inherited are the variables that a program gets, for without them programs do not run,
// or not as their users expect. Keys are not among them: a server gets one when its env
// names it.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"TEMP", "TMP", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "USERNAME", "USERPROFILE",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)",
}

// needed returns what a program gets of an environment.
func needed(environ []string) []string {
	equal := func(a, b string) bool { return a == b }
	if runtime.GOOS == "windows" {
		equal = strings.EqualFold
	}
	out := []string{}
	for _, v := range environ {
		name, _, ok := strings.Cut(v, "=")
		if ok && slices.ContainsFunc(inherited, func(n string) bool {
			if prefix, family := strings.CutSuffix(n, "*"); family {
				return len(name) >= len(prefix) && equal(name[:len(prefix)], prefix)
			}
			return equal(n, name)
		}) {
			out = append(out, v)
		}
	}
	return out
}
