package wire

// UnderRace says that the tests run under the race detector.
const UnderRace = underRace
