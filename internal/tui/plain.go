package tui

import (
	"context"
	"errors"
)

func runPlain(ctx context.Context, c Config) error { return errors.New("todo") }
