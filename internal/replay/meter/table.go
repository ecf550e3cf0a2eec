package meter

import (
	"fmt"
	"math"
	"strings"
)

// Table returns the measures as a Markdown table. All are medians of absolute
// errors but those that say otherwise; n is the number of samples of Growth and
// of Slices. "low" is by how much the estimate was too low in one of 20 cases;
// "under" the share that was too low with the guard, "over" the median of the
// guarded errors.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| | calls | raw | fixed | anchored | p95 | growth | learned | low | tools | n | slices | under | over | n |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		e := &r.Errors
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %d | %s | %s | %s | %d |\n", r.Name, e.Calls,
			percent(e.Raw.Median()), percent(e.Fixed.Median()), percent(e.Anchored.Median()), percent(e.Anchored.Quantile(.95)),
			percent(e.Growth.Median()), percent(e.Learned.Median()), percent(e.Learned.Low(.95)), percent(e.Tools.Median()), len(e.Growth),
			percent(e.Slices.Median()), percent(e.Guarded.Under()), percent(e.Guarded.Bias()), len(e.Slices))
	}
	return b.String()
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	if math.Abs(x) < .01 {
		return fmt.Sprintf("%.2f %%", 100*x)
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}
