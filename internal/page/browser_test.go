package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/browsertest"
	"github.com/clew-dev/clew/internal/page"
)

// browse serves pages and a page around them, whose script looks into them and sets
// its own title, and returns that title and the paths that the browser asked for.
// Skipped where there is no Chromium.
func browse(t *testing.T, wrapper string, pages func(server string) map[string]string) (title string, asked []string) {
	t.Helper()
	var mu sync.Mutex
	var served map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Path)
		doc, ok := served[r.URL.Path]
		if r.URL.Path == "/" {
			doc, ok = wrapper, true
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, doc) // the browser asks again or the test fails
	}))
	defer server.Close()
	made := pages(server.URL)
	mu.Lock()
	served = made
	mu.Unlock()
	out, _ := browsertest.Open(t, server.URL+"/", 20*time.Second)
	m := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("the pages did not load: %.500s", out)
	}
	mu.Lock()
	defer mu.Unlock()
	return m[1], asked
}

// In a real browser nothing of a hostile session runs, nothing is fetched, and nothing
// is wider than the screen of a laptop or a phone.
func TestPi116HostileSessionInABrowser(t *testing.T) {
	var frames strings.Builder
	for _, width := range []int{390, 1280} {
		for i := range hostile {
			fmt.Fprintf(&frames, `<iframe src="/%d" style="border:0;width:%dpx;height:900px"></iframe>`+"\n", i, width)
		}
	}
	wrapper := `<!DOCTYPE html><link rel="icon" href="data:,">` + frames.String() + `<script>
		onload = function () {
			var bad = [], n = 0;
			document.querySelectorAll("iframe").forEach(function (f) {
				var d = f.contentDocument;
				d.querySelectorAll("details").forEach(function (x) { x.open = true; });
				d.querySelectorAll("body *").forEach(function (e) {
					["mouseover", "focus", "click", "error", "load", "toggle"].forEach(function (k) {
						if (k !== "click" || e.tagName !== "A") e.dispatchEvent(new f.contentWindow.Event(k));
					});
				});
				var where = f.getAttribute("src") + " at " + f.clientWidth + ": ";
				if (d.title === "pwned" || document.title === "pwned") bad.push(where + "a script ran");
				if (!d.documentElement.classList.contains("js")) bad.push(where + "our own script did not run");
				if (d.documentElement.scrollWidth > f.clientWidth) bad.push(where + d.documentElement.scrollWidth + " wide");
				d.querySelectorAll("img").forEach(function (i) { if (i.src.indexOf("data:image/") !== 0) bad.push(where + "an image"); });
				n++;
			});
			document.title = n + " pages; " + bad.join("; ");
		};
	</script>`
	title, asked := browse(t, wrapper, func(server string) map[string]string {
		pages := map[string]string{}
		for i, s := range hostile {
			s = strings.ReplaceAll(s, "http://127.0.0.1:1", server+"/asked")
			pages["/"+strconv.Itoa(i)] = write(t, open(t, hostileSession(t, s)), "bs", page.Options{})
		}
		return pages
	})
	if title != fmt.Sprintf("%d pages; ", 2*len(hostile)) {
		t.Error(title)
	}
	for _, path := range asked {
		if _, err := strconv.Atoi(path[1:]); err != nil && path != "/" {
			t.Errorf("a page asked for %s", path)
		}
	}
}

// The script shows the path that the address names, with the edits of that path.
func TestBranchesInABrowser(t *testing.T) {
	wrapper := `<!DOCTYPE html><link rel="icon" href="data:,"><iframe src="/page"></iframe><script>
		var said = [], w;
		function look(name) {
			var d = w.document, ids = function (q) {
				return Array.from(d.querySelectorAll(q)).filter(function (e) { return e.getClientRects().length > 0 || !e.hidden && q !== ".from"; })
					.map(function (e) { return (e.dataset.e || e.id.replace("entry-", "")) + (e.classList.contains("out") ? "-" : ""); }).join(",");
			};
			said.push(name + " [" + ids("main [data-i]") + "] edits [" + ids(".instead") + "] " + (d.querySelector("#where a") ? "elsewhere" : "here"));
		}
		function go(hash, then) { w.addEventListener("hashchange", function f() { w.removeEventListener("hashchange", f); look(hash); then(); }); w.location.hash = hash; }
		onload = function () {
			w = document.querySelector("iframe").contentWindow;
			look("first");
			go("#entry-u2", function () { go("#entry-u1", function () { go("#", function () { go("#entry-e1", function () { document.title = said.join("; "); }); }); }); });
		};
	</script>`
	title, _ := browse(t, wrapper, func(string) map[string]string {
		return map[string]string{"/page": write(t, open(t, lines(twoBranches)), "", page.Options{})}
	})
	want := "first [u1-,a1-,r1-,u3,k1] edits [5] here; #entry-u2 [u1,a1,r1,u2] edits [3] elsewhere; " +
		"#entry-u1 [u1,a1,r1,u2] edits [3] elsewhere; # [u1-,a1-,r1-,u3,k1] edits [5] here; #entry-e1 [u1-,a1-,r1-,u3,k1] edits [5] here"
	if title != want {
		t.Errorf("got  %s\nwant %s", title, want)
	}
}
