package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/browsertest"
	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/page"
)

// In a real browser nothing is wider than the screen of a laptop or a phone, and
// nothing but the page itself is asked for. Skipped where there is no Chromium.
func TestPageInABrowser(t *testing.T) {
	html := write(t, report(t, hostile), page.Notes{Unread: []replay.Note{{Path: strings.Repeat("long/", 60), Why: hostile}}})
	for _, width := range []int{390, 1280} {
		var mu sync.Mutex
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			switch r.URL.Path {
			case "/page":
				_, _ = io.WriteString(w, html) // the browser asks again or the test fails
			case "/frame":
				fmt.Fprintf(w, `<!DOCTYPE html><title>-</title><iframe src="/page" style="border:0;width:%dpx;height:900px" onload="
					var d = this.contentDocument.documentElement;
					document.title = 'wide ' + d.scrollWidth + ' of ' + d.clientWidth + ' lines ' + d.querySelectorAll('polyline').length + ' drawn ' + (d.querySelector('svg').getBoundingClientRect().width > 100)"></iframe>`, width)
			default:
				http.NotFound(w, r)
			}
		}))
		out, _ := browsertest.Open(t, server.URL+"/frame", 5*time.Second)
		server.Close()
		m := regexp.MustCompile(`<title>wide (\d+) of (\d+) lines (\d+) drawn (\w+)</title>`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("the page did not load: %.300s", out)
		}
		if m[1] != m[2] {
			t.Errorf("at %d pixels the page is %s wide in a place of %s", width, m[1], m[2])
		}
		if m[3] == "0" || m[4] != "true" {
			t.Errorf("at %d pixels: %s lines, drawn: %s", width, m[3], m[4])
		}
		for _, path := range asked {
			if path != "/frame" && path != "/page" && path != "/favicon.ico" {
				t.Errorf("the page asked for %s", path)
			}
		}
	}
}
