package replay

import (
	"regexp"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/session"
)

var callWithOutcome = regexp.MustCompile(`^(?:read|edit|bash)\(.*\) -> (?:\d+ lines|failed: .*)$`)

// TestControls: the controls keep to their budget, and hold nothing but whole lines: what
// the user said, then lines as they stood; the story also says how calls ended. Of the
// user's words the last one may be cut.
func TestControls(t *testing.T) {
	seeds := 3
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		items := session.Project(longSession(t, 20+seed, 90).Path).Items[1:] // without the prompt
		cut := len(items) * 3 / 4
		user, world, agent := map[string]bool{}, map[string]bool{}, map[string]bool{}
		said := ""
		for _, it := range items[:cut] {
			m, where := neutral(it.Message)
			if where != placeIn {
				continue
			}
			for _, s := range rawLines(&m) {
				switch m.Kind {
				case measure.User:
					user[s] = true
					said += s + "\n"
				case measure.Agent:
					agent[s] = true
				default:
					world[s] = true
				}
			}
		}
		for _, c := range []struct {
			name    string
			replace func(Prefix) string
		}{{"lines", lines}, {"story", story}} {
			for _, budget := range []int64{1, 20, 300, 4000} {
				text := c.replace(Prefix{Dropped: items[:cut], Kept: items[cut:], Cwd: "/work/app", Budget: budget})
				if n := measure.Units(text); int64(n) > budget*measure.CharsPerToken || budget >= 300 && int64(n) < budget*2 {
					t.Errorf("seed %d: %s takes %d characters of %d", seed, c.name, n, budget*measure.CharsPerToken)
				}
				words, cutOff, outcomes := 0, 0, 0
				for line := range strings.Lines(text) {
					line = strings.TrimSuffix(line, "\n")
					switch {
					case user[line]:
						words += len(line)
					case agent[line], c.name == "lines" && world[line]:
					case c.name == "story" && callWithOutcome.MatchString(line):
						outcomes++
					case strings.Contains(said, line) && cutOff == 0:
						cutOff++
						words += len(line)
					default:
						t.Errorf("seed %d: %s has %q, which is no line", seed, c.name, line)
					}
				}
				if budget < 300 {
					continue
				}
				if share := float64(words) / float64(len(text)); share == 0 || share > controlUser+.02 {
					t.Errorf("seed %d: of %s %.2f are the user's words", seed, c.name, share)
				}
				if c.name == "story" && outcomes == 0 && budget == 4000 {
					t.Errorf("seed %d: the story tells of no call", seed)
				}
			}
		}
	}
}
