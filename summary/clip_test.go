package summary

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// A cut leaves only names that were there.
func TestCutsLeaveNamesWhole(t *testing.T) {
	t.Parallel()
	words := strings.Fields("the packages/coding-agent/src/core/export-html.ts of parseEntryAgain() https://example.org/issues/12345/comments 用户登录 MAX_OUTPUT_TOKENS --no-verify-at-all 1507f8b2c1e4d5 (interactive/interactive-mode.ts:12) v1.22.333")
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 61))
		var s strings.Builder
		for range 3 + r.IntN(20) {
			s.WriteString(words[r.IntN(len(words))] + []string{" ", ", ", "/", "."}[r.IntN(4)])
		}
		whole := map[string]bool{}
		for id := range text.Identifiers(s.String()) {
			whole[id.Text] = true
		}
		n := 5 + r.IntN(150)
		cut := clipName(s.String(), n)
		if utf8.RuneCountInString(cut) > n {
			t.Fatalf("%q cut to %d is %q", s.String(), n, cut)
		}
		for id := range text.Identifiers(cut) {
			if !whole[id.Text] {
				t.Fatalf("%q cut to %d is %q, where %q is new", s.String(), n, cut, id.Text)
			}
		}
	}
}

// A name may have other characters in it than letters: none of them is a place to cut.
func TestCutsLeavePathsWhole(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/home/me/com~apple~CloudDocs", "/home/me/team@example", "/home/me/docs+notes"} {
		line := "$ cd " + path
		for n := 2; n < len(line); n++ {
			if cut := clipName(line, n); cut != line && strings.Contains(cut, "/home") {
				t.Errorf("%q cut to %d is %q", line, n, cut)
			}
		}
	}
}
