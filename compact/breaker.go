package compact

import (
	"fmt"

	"github.com/clew-dev/clew/session"
)

// The breaker stops passes that gain nothing from being tried again and again.
const (
	breakerPasses = 2  // so many in a row
	breakerGain   = 5  // that each freed less than this share of the context, in percent
	breakerGrowth = 10 // stop further ones until it has grown by this share
)

// breaker returns why no pass is to be tried now, or "". It is read from the
// passes on the path, so it survives a restart. A pass that the user asks for is
// never stopped, nor one without which the context would not fit; and one that
// helps closes it again.
func breaker(path []*session.Entry, now int64) string {
	useless, after := 0, int64(0)
	for i := len(path) - 1; i >= 0 && useless < breakerPasses; i-- {
		info, ok := path[i].Pass()
		if !ok || ThinkingPass(path[i]) {
			continue
		}
		r := recordOf(path[i])
		if Reason(info.Reason) != Threshold || (r.Before.Tokens-r.After.Tokens)*100 >= r.Before.Tokens*breakerGain {
			return "" // one without a reading too
		}
		if useless == 0 {
			after = r.After.Tokens
		}
		useless++
	}
	if useless < breakerPasses || now*100 >= after*(100+breakerGrowth) {
		return ""
	}
	return fmt.Sprintf("the last %d passes freed less than %d %% each; the next is tried when the context has grown by %d %%, or when it is asked for",
		useless, breakerGain, breakerGrowth)
}
