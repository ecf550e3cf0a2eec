package admin_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/browsertest"
)

// A browser finds nothing to complain of on any page: no script of a conversation runs, and
// nothing is refused by the policy. Skipped where there is no Chromium.
func TestBrowser(t *testing.T) {
	_, srv := watched(t, 40)
	_, home, _ := get(t, srv.URL+"/")
	talk := regexp.MustCompile(`/session/[0-9a-f]{16}`).FindString(home)
	_, found, _ := get(t, srv.URL+talk+"?q=flumox")
	entry := regexp.MustCompile(`/session/[0-9a-f]+/entry/[0-9a-f]+`).FindString(found)
	for _, path := range []string{"/", talk, talk + "?q=part3", entry, talk + "/log"} {
		doc, console := browsertest.Open(t, srv.URL+path, 4*time.Second)
		if console != "" {
			t.Errorf("%s: %s", path, console)
		}
		if strings.Contains(doc, "<title>pwned") || !strings.Contains(doc, "</html>") {
			t.Errorf("%s: %.300s", path, doc)
		}
	}
}
