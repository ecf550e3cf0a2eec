package token

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// Calibration is what the usage that came back has taught about the estimates that
// one counter makes for one model. The zero value has learnt nothing.
type Calibration struct {
	// Provider and Model are those of the answers, Counter is the name of the counter.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Counter  string `json:"counter"`

	// Calls were learnt from, Refused reported what no counter is that wrong about, and
	// Slices are the stretches of 8 and more messages that were learnt from.
	Calls   int64 `json:"calls"`
	Refused int64 `json:"refused,omitempty"`
	Slices  int64 `json:"slices,omitempty"`

	// First and Last are when the first and last answer that was learnt from was
	// given, in milliseconds since 1970.
	First int64 `json:"first"`
	Last  int64 `json:"last"`

	FactorPPM ppm   `json:"factorPPM"` // what estimates are multiplied by; 0 is 1
	Weight    int64 `json:"weight"`
	GuardPPM  ppm   `json:"guardPPM,omitempty"` // 0 until something was learnt about slices

	// Recent are the last residuals, the newest last, at most 8: by how many thousandths a
	// stretch between two calls was larger than estimated with what was known before.
	Recent []int64 `json:"recent,omitempty"`
}

// ppm are millionths: what is learnt is integers, the same on every machine.
type ppm = int64

const one ppm = 1_000_000

// The bounds of what can be learnt, and how many residuals are kept.
const (
	minFactor = one / 2
	maxFactor = 2 * one
	minGuard  = 1_120_000
	maxGuard  = 2 * one

	recentKept = 8
)

// Factor is what estimates are multiplied by: 1 before anything was learnt, and
// always from 0.5 to 2.
func (c Calibration) Factor() float64 { return float64(c.scale()) / float64(one) }

func (c Calibration) scale() ppm { return cmp.Or(c.FactorPPM, one) }

// Guard is the factor by which the calibrated estimate of 8 and more messages may
// still be too low, from 1.12 to 2; 0 as long as that is not known.
func (c Calibration) Guard() float64 { return float64(c.GuardPPM) / float64(one) }

// Explain says in one line what was learnt, from what and since when.
func (c Calibration) Explain() string {
	if c.Calls == 0 {
		return "not calibrated: no call was learnt from yet"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s by %s: estimates times %.3f, learnt from %d calls", c.Provider, c.Model, c.Counter, c.Factor(), c.Calls)
	if c.GuardPPM != 0 {
		fmt.Fprintf(&b, "; guard %.2f from %d stretches", c.Guard(), c.Slices)
	}
	if c.Refused > 0 {
		fmt.Fprintf(&b, "; %d refused", c.Refused)
	}
	fmt.Fprintf(&b, "; since %s", time.UnixMilli(c.First).UTC().Format(time.DateOnly))
	for i, r := range c.Recent {
		sep := ", "
		if i == 0 {
			sep = "; last errors "
		}
		fmt.Fprintf(&b, "%s%+.1f %%", sep, float64(r)/10)
	}
	return b.String()
}

const calibrationVersion = 1

type versioned struct {
	Version int `json:"version"`
	bare
}

type bare Calibration // without methods

// MarshalJSON writes all that UnmarshalJSON needs to go on learning.
func (c Calibration) MarshalJSON() ([]byte, error) {
	c.FactorPPM = c.scale()
	return json.Marshal(versioned{calibrationVersion, bare(c)})
}

// UnmarshalJSON reads what MarshalJSON wrote. It fails, and leaves c as it was,
// for another version and for numbers that cannot have been learnt.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var j versioned
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("token: not a calibration: %w", err)
	}
	if err := j.check(); err != nil {
		return fmt.Errorf("token: calibration of %s/%s by %q: %w", j.Provider, j.Model, j.Counter, err)
	}
	*c = Calibration(j.bare)
	return nil
}

func (j *versioned) check() error {
	switch {
	case j.Version != calibrationVersion:
		return fmt.Errorf("version %d is unknown, this program reads version %d", j.Version, calibrationVersion)
	case j.Calls < 0 || j.Refused < 0 || j.Slices < 0:
		return errors.New("fewer than no calls")
	case j.FactorPPM < minFactor || j.FactorPPM > maxFactor:
		return fmt.Errorf("factorPPM is %d, which is not from %d to %d", j.FactorPPM, minFactor, maxFactor)
	case j.GuardPPM != 0 && (j.GuardPPM < minGuard || j.GuardPPM > maxGuard):
		return fmt.Errorf("guardPPM is %d, which is not 0 or from %d to %d", j.GuardPPM, minGuard, maxGuard)
	case j.Weight < 0 || j.Weight > maxWeight:
		return fmt.Errorf("weight is %d, which is not from 0 to %d", j.Weight, maxWeight)
	case len(j.Recent) > recentKept:
		return fmt.Errorf("%d recent errors, at most %d are kept", len(j.Recent), recentKept)
	}
	return nil
}

// calibrated returns a counter that multiplies the estimates of another by the factor
// that was learnt, and guards with the guard that was learnt, if any was. It has the
// other's name. It fails when c, which may be the zero value, is about another counter.
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
	split(c.Counter, m, &own)
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
