package token

import (
	"fmt"
	"math"

	"github.com/clew-dev/clew/message"
)

// calibrated returns a counter that corrects the estimates of another by what was
// learnt about it: they are multiplied by the factor, and a [Meter] of it guards
// with the guard that was learnt, if any was. It has the other counter's name.
//
// It fails when c was learnt about another counter; c may be the zero value. A
// counter must not be calibrated twice.
func calibrated(counter Counter, c Calibration) (Counter, error) {
	if _, twice := counter.(*corrected); twice {
		return nil, fmt.Errorf("token: counter %q is calibrated already; give the counter that it corrects", counter.Name())
	}
	if c.Calls == 0 {
		return counter, nil
	}
	if c.Counter != counter.Name() {
		return nil, fmt.Errorf("token: the calibration of %s/%s was learnt with counter %q and says nothing about %q; use one learnt with it", c.Provider, c.Model, c.Counter, counter.Name())
	}
	return &corrected{counter, c.scale(), c.Guard()}, nil
}

// corrected multiplies what a counter says.
type corrected struct {
	Counter
	factor  ppm
	learned float64 // the guard, 0 when nothing was learnt about it
}

func (c *corrected) Message(m *message.Message) int64 { return scaled(c.Counter.Message(m), c.factor) }

func (c *corrected) Text(s string) int64 { return scaled(c.Counter.Text(s), c.factor) }

func (c *corrected) guard() float64 {
	if c.learned > 0 {
		return c.learned
	}
	return guardOf(c.Counter)
}

// split scales what the counter splits so that the parts add up to Message.
func (c *corrected) split(m *message.Message, into *Categories) {
	var own Categories
	if s, ok := c.Counter.(splitter); ok {
		s.split(m, &own)
	} else {
		own[categoryOf(m)] = max(0, c.Counter.Message(m))
	}
	var sum, before int64
	for i, n := range own {
		sum = addSat(sum, n)
		upTo := scaled(sum, c.factor)
		into[i] = addSat(into[i], upTo-before)
		before = upTo
	}
}

// scaled returns n times the factor, rounded to the nearest.
func scaled(n int64, factor ppm) int64 {
	whole, rest := max(n, 0)/one, max(n, 0)%one
	if whole > math.MaxInt64/factor {
		return math.MaxInt64
	}
	return addSat(whole*factor, (rest*factor+one/2)/one)
}

// guardOf returns by how much a counter's estimates may be too low, as far as it knows.
func guardOf(c Counter) float64 {
	if g, ok := c.(guarded); ok {
		return g.guard()
	}
	return defaultGuard
}
