//go:build !linux

package gateway_test

import "time"

var started = time.Now()

// processor stands for the time of the processor where it can't be asked for.
func processor() time.Duration { return time.Since(started) }
