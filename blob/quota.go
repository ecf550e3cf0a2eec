package blob

import (
	"fmt"
	"math"
	"time"
)

func checkQuota(quota int64) error {
	if quota < 0 {
		return fmt.Errorf("a quota of %d bytes could hold nothing; it must be positive, or 0 for no limit", quota)
	}
	return nil
}

// limits returns how many bytes more fit into a quota, and how large a content
// it could hold at most.
func limits(quota, used int64) (room, most int64) {
	if quota == 0 {
		return math.MaxInt64, math.MaxInt64
	}
	return max(quota-used, 0), quota
}

func now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
