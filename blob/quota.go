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

// most is how large a content could be at most under a quota.
func most(quota int64) int64 {
	if quota == 0 {
		return math.MaxInt64
	}
	return quota
}

// always fits.
func always(int64) (bool, error) { return true, nil }

func now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
