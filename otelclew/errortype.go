package otelclew

import (
	"context"
	"errors"

	"github.com/clew-dev/clew"
)

// errorType names the kind of an error, out of few, as error.type wants it.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, clew.ErrConflict):
		return "conflict"
	case errors.As(err, new(*clew.FixedPartError)):
		return "fixed_part_too_large"
	}
	return "_OTHER"
}
