package summary

// The weights of the choice of excerpts. They were fitted on real sessions by
// what the agents used next; the result changes little with any one of them.
const (
	// The weight of a use falls by half over halfLife of the conversation, at
	// least over minHalfLife messages.
	halfLife    = 0.35
	minHalfLife = 20.0

	// Uses of an identifier count less the more there are: to the power of usesPower.
	usesPower   = 0.7
	worldUse    = 0.3  // a use that is not the agent's, against one that is
	neverByUs   = 0.4  // an identifier that the agent never wrote
	onlyOnce    = 0.7  // one that occurs in a single message
	asNumber    = 0.3  // a number, a hash, a UUID: seldom typed again
	asFlag      = 0.5  // a flag, a reference
	asURL       = 0.8  // a URL
	keptAnyway  = 0.1  // one that stands in what is kept
	namedBefore = 0.12 // each time the document names it already

	// What a line is worth, whatever kind it is of; see profiles for the kinds.
	chosenBefore = 0.7  // it stands in an earlier summary: it had its time
	fewWords     = 0.2  // fewer than two plain words
	inFocus      = 2.0  // worth of a word it shares with the instructions
	sameSource   = 0.95 // each line of the same source that is there already
	announces    = 0.5  // it ends with a colon, or announces the next call

	// The cost of a line is its length to the power of lengthPower, and more for
	// being a line at all, both in tokens.
	lengthPower = 0.85
	perLine     = 10.0

	// Of a line of code or output only a part may be taken, with so many plain words
	// around what it is taken for, unless it is shorter than wholeLine bytes.
	partWords = 3
	wholeLine = 50

	// A line that is worth less than this share of the best is left out though it
	// would fit.
	worthless = 0.0001
)
