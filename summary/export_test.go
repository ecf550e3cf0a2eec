package summary

// ProfileOf returns the profile that a summary of an input would have.
func ProfileOf(in Input) *Profile {
	cache := NewCache()
	cache.begin()
	return newDigest(&in, cache).profile
}
