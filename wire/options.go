package wire

// Target is the model that a list is for.
type Target struct {
	// Provider and Model are as messages name them ("anthropic",
	// "claude-opus-4-5"). Thinking and other things that only its maker can read
	// are sent to the same provider and model; with an empty Provider or Model
	// they are left out.
	Provider string
	Model    string

	// TakesImages says that the model reads images. Default: they become a
	// line of text that says what was there.
	TakesImages bool
}

// Options change what Normalize does. The zero value is for requests to a model.
type Options struct {
	// CloseOpenCalls gives every call without a result one that says it was
	// interrupted, those of the last answer too. It is for files of other
	// programs, for display and for summaries. Without it Normalize refuses a
	// list whose last answer has calls that wait for their results.
	CloseOpenCalls bool

	// Cache makes the check of a request that begins like an earlier one cost only what
	// is new. Default: everything is checked anew. What is sent is the same.
	Cache *Cache
}
