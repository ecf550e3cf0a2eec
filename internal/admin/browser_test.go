package admin_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A browser finds nothing to complain of on any page: no script of a conversation runs, and
// nothing is refused by the policy. Skipped where there is no Chromium.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium to look at the page with")
	}
	_, srv := watched(t, 40)
	_, home, _ := get(t, srv.URL+"/")
	talk := regexp.MustCompile(`/session/[0-9a-f]{16}`).FindString(home)
	_, found, _ := get(t, srv.URL+talk+"?q=flumox")
	entry := regexp.MustCompile(`/session/[0-9a-f]+/entry/[0-9a-f]+`).FindString(found)
	dir, err := os.MkdirTemp("", "clew-browser-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, path := range []string{"/", talk, talk + "?q=part3", entry, talk + "/log"} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--user-data-dir="+dir, "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000", "--dump-dom", srv.URL+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		stop()
		if err != nil {
			t.Skipf("the browser does not run here: %v", err)
		}
		for line := range strings.Lines(stderr.String()) {
			if strings.Contains(line, "CONSOLE") {
				t.Errorf("%s: %s", path, line)
			}
		}
		if strings.Contains(string(out), "<title>pwned") || !strings.Contains(string(out), "</html>") {
			t.Errorf("%s: %.300s", path, out)
		}
	}
}
