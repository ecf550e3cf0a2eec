package model

import (
	"io"

	"github.com/clew-dev/clew/model/catalogue"
)

// What models take and cost is in package catalogue, which needs no network. These are
// its names.
type (
	// Info says what a model is and what it takes.
	Info = catalogue.Info
	// ThinkingMethod says how a model is asked to reason.
	ThinkingMethod = catalogue.ThinkingMethod
	// Price is what a model costs, in US dollars for a million tokens.
	Price = catalogue.Price
	// Catalogue knows what models take and cost.
	Catalogue = catalogue.Catalogue
	// Listed is an entry of a catalogue.
	Listed = catalogue.Listed
	// Windows learns the true limits of models from what providers refuse.
	Windows = catalogue.Windows
	// Route names one way to a model.
	Route = catalogue.Route
	// Overflow says that a request was too large, with the provider's numbers.
	Overflow = catalogue.Overflow
	// OverflowKind says which limit a request went over.
	OverflowKind = catalogue.OverflowKind
)

// The methods of reasoning.
const (
	ThinkingNever    = catalogue.ThinkingNever
	ThinkingBudget   = catalogue.ThinkingBudget
	ThinkingAdaptive = catalogue.ThinkingAdaptive
	ThinkingEffort   = catalogue.ThinkingEffort
)

// The limits that a request can go over.
const (
	OverflowTokens = catalogue.OverflowTokens
	OverflowBytes  = catalogue.OverflowBytes
	OverflowRate   = catalogue.OverflowRate
)

// BuiltIn returns the catalogue that comes with clew.
func BuiltIn() (*Catalogue, error) { return catalogue.BuiltIn() }

// ReadCatalogue is catalogue.Read.
func ReadCatalogue(r io.Reader) (*Catalogue, error) { return catalogue.Read(r) }

// NewWindows is catalogue.NewWindows.
var NewWindows = catalogue.NewWindows
