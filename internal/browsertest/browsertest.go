// Package browsertest shows pages to a browser, in tests.
package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// names are those under which systems have a browser that can work without a screen.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Open lets a browser read a page, and returns the document as it is when its scripts have run
// for so long, and what they and the browser have written to the console. The test is skipped where
// there is no browser, and in short runs.
func Open(t *testing.T, url string, scripts time.Duration) (document, console string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := ""
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		t.Skipf("there is no browser here; it would be called %s", strings.Join(names, " or "))
	}
	// Not t.TempDir: processes of the browser may outlive the test and write to it.
	dir, err := os.MkdirTemp("", "clew-browser-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+dir, "--enable-logging=stderr", "--v=0",
		"--window-size=1400,1000", fmt.Sprintf("--virtual-time-budget=%d", scripts.Milliseconds()), "--dump-dom", url)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("the browser does not run here: %v", err)
	}
	var lines strings.Builder
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "CONSOLE") {
			lines.WriteString(line)
		}
	}
	return string(out), lines.String()
}
