package hook

import (
	"os"
	"runtime"
	"strings"
)

// needed are the variables without which programs do not run, or not as their users
// expect.
var needed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR",
	"TEMP", "TMP", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "USERNAME", "USERPROFILE",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)",
}

// environment is what the program gets.
func (c *Config) environment() []string {
	all := c.environ
	if all == nil {
		all = os.Environ()
	}
	var out []string
	for _, v := range all {
		name, _, ok := strings.Cut(v, "=")
		if ok && name != "" && (named(needed, name) || named(c.Env, name)) {
			out = append(out, v)
		}
	}
	return append(out, "CLEW_HOOK_EVENT="+c.Event, "CLEW_HOOK_PROTOCOL=1")
}

func named(list []string, name string) bool {
	equal := func(a, b string) bool { return a == b }
	if runtime.GOOS == "windows" {
		equal = strings.EqualFold
	}
	for _, n := range list {
		if prefix, ok := strings.CutSuffix(n, "*"); ok {
			if len(name) >= len(prefix) && equal(name[:len(prefix)], prefix) {
				return true
			}
		} else if equal(n, name) {
			return true
		}
	}
	return false
}
