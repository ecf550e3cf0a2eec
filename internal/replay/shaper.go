package replay

// A shaper says what a policy does to a context before a call.
type shaper struct {
	name, about string
	// of is the policy that it belongs to, whose recall scales the tax of
	// forgetting; "" for those that are always shown.
	of    string
	model bool // a rewrite calls a model
	tax   bool // what a rewrite forgot has to be read again
	shape func(c *shaped, opt *CostOptions) (rewrote bool)
}

// appendPolicy never rewrites: what the others are compared with.
const appendPolicy = "append"

// shapers are the policies whose costs are compared, the one that never rewrites
// first. All rewrite at the same size of the context, unless rewriting at every turn
// is what they are about.
func shapers() []shaper {
	return []shaper{
		{name: appendPolicy, about: "never rewrites", shape: func(*shaped, *CostOptions) bool { return false }},
		{name: "clew", about: "summary made without a model", of: "clew", tax: true, shape: compactTo(tailTokens)},
		{name: "clew+offload", about: "large results shortened first; a summary when that frees too little", of: "clew", tax: true, shape: offloadFirst},
		{name: "clew-default", about: "the same, down to half of the window and no further: what the engine does unless told otherwise", of: "clew", tax: true, shape: ladder},
		{name: "pi", about: "a tail of 20,000 tokens", of: "pi", tax: true, shape: compactTo(func(c *shaped, opt *CostOptions) int { return c.tail(min(20_000, opt.Window/2)) })},
		{name: "synapse", about: "results of the older half left out first; a summary before the newest 5 messages when that frees too little", of: "synapse", tax: true, shape: synapse},
		{name: "turns", about: "the newest 6 turns stay, within half of the window", of: "turns", tax: true, shape: compactTo(newestTurns)},
		{name: "model", about: "summary made by a model", model: true, tax: true, shape: compactTo(tailTokens)},
		{name: "extract", about: "a script's extract", of: "extract", tax: true, shape: compactTo(tailTokens)},
		{name: "truncate", about: "a longer tail", of: "truncate", tax: true, shape: truncateTo},
		{name: "mask-rolling", about: "all results but the newest 10 left out, at every call", of: "mask", shape: maskRolling},
		{name: "mask-batch", about: "results left out 20,000 tokens at a time, above half of the window", of: "mask", shape: maskBatch},
	}
}

// shaped is a context in the making.
type shaped struct {
	blocks  []block
	total   int
	parts   [NumKinds]int
	rewrite int // number of the last rewrite
}

func (c *shaped) add(b block) {
	c.blocks = append(c.blocks, b)
	c.total += b.tokens
	for k, n := range b.parts {
		c.parts[k] += n
	}
}

// tail returns how many blocks, from the end, stay when so many tokens may: none
// begins with a result, and the newest message with its results always stays.
func (c *shaped) tail(tokens int) (from int) {
	from = len(c.blocks)
	sum := 0
	for from > 1 {
		sum += c.blocks[from-1].tokens
		if sum > tokens {
			break
		}
		from--
	}
	for from < len(c.blocks) && c.blocks[from].result {
		from++
	}
	if from == len(c.blocks) {
		for from--; from > 1 && c.blocks[from].result; {
			from--
		}
	}
	return max(from, 1)
}

func tailTokens(c *shaped, opt *CostOptions) int { return c.tail(opt.Tail) }

// newestTurns keeps six turns, or what half of the window holds.
func newestTurns(c *shaped, opt *CostOptions) int {
	turns := 0
	for i := len(c.blocks) - 1; i > 0; i-- {
		if c.blocks[i].turn {
			if turns++; turns == 6 {
				return max(i, c.tail(opt.Window/2-opt.Summary))
			}
		}
	}
	return c.tail(opt.Window/2 - opt.Summary)
}

// summarize puts a summary in the place of what is before from, unless the summary
// is no smaller.
func (c *shaped) summarize(from, tokens int) bool {
	dropped := 0
	for _, b := range c.blocks[1:from] {
		dropped += b.tokens
	}
	if dropped <= tokens {
		return false
	}
	c.rewrite++
	sum := block{id: blockID{srcSummary, c.rewrite}, tokens: tokens}
	sum.parts[KindSummary] = tokens
	kept := append([]block{c.blocks[0], sum}, c.blocks[from:]...)
	c.set(kept)
	return true
}

func (c *shaped) set(blocks []block) {
	c.blocks, c.total, c.parts = make([]block, 0, len(blocks)+64), 0, [NumKinds]int{}
	for _, b := range blocks {
		c.add(b)
	}
}

func compactTo(cut func(c *shaped, opt *CostOptions) int) func(*shaped, *CostOptions) bool {
	return func(c *shaped, opt *CostOptions) bool {
		return c.total > opt.Window && c.summarize(cut(c, opt), opt.Summary)
	}
}

func truncateTo(c *shaped, opt *CostOptions) bool {
	return c.total > opt.Window && c.summarize(c.tail(opt.Tail+opt.Summary), 0)
}

// What is left of results that are taken out.
const (
	offloadMin  = 400 // tokens: smaller ones stay
	offloadLeft = 334 // a thousand characters
	maskLeft    = 10
)

// shorten takes the text of a result out. It reports the tokens that this freed.
func (c *shaped) shorten(i, form, left int) int {
	b := &c.blocks[i]
	if !b.result || b.id.form != formWhole || b.tokens <= left {
		return 0
	}
	freed := b.tokens - left
	b.id.form, b.tokens = form, left
	b.parts[KindResults] = left
	c.parts[KindResults] -= freed
	c.total -= freed
	return freed
}

// offloadFirst takes the largest results first, outside the tail, until half of the
// window is free; else it summarizes.
func offloadFirst(c *shaped, opt *CostOptions) bool { return offload(c, opt, opt.Tail) }

// ladder is the same with as long a tail as half of the window holds.
func ladder(c *shaped, opt *CostOptions) bool {
	return offload(c, opt, max(opt.Window/2-opt.Overhead-opt.Summary, opt.Tail))
}

func offload(c *shaped, opt *CostOptions, keep int) bool {
	if c.total <= opt.Window {
		return false
	}
	before := c.blocks
	c.blocks = append([]block(nil), before...)
	tail, target := c.tail(keep), opt.Window/2
	for c.total > target {
		best := -1
		for i := 1; i < tail; i++ {
			if b := &c.blocks[i]; b.result && b.id.form == formWhole && b.tokens > offloadMin && (best < 0 || b.tokens > c.blocks[best].tokens) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		c.shorten(best, formOffloaded, offloadLeft)
	}
	if c.total <= target {
		c.rewrite++
		return true
	}
	c.set(before)
	return c.summarize(c.tail(keep), opt.Summary)
}

// synapse leaves out the results of the first half of the messages; it summarizes
// when that frees less than 15,000 tokens.
func synapse(c *shaped, opt *CostOptions) bool {
	if c.total <= opt.Window {
		return false
	}
	before := append([]block(nil), c.blocks...)
	freed := 0
	for i := 1; i < len(c.blocks)/2; i++ {
		if c.blocks[i].tokens > 50/3 {
			freed += c.shorten(i, formMasked, maskLeft)
		}
	}
	if freed >= 15_000 && c.total <= opt.Window {
		c.rewrite++
		return true
	}
	c.set(before)
	from := max(len(c.blocks)-5, 1)
	for from > 1 && c.blocks[from].result {
		from--
	}
	return c.summarize(from, opt.Summary)
}

func maskRolling(c *shaped, _ *CostOptions) bool {
	const keep = 10
	results, changed := 0, false
	for i := len(c.blocks) - 1; i > 0; i-- {
		if c.blocks[i].result {
			if results++; results > keep {
				if c.blocks[i].id.form != formWhole {
					break // so are all before it
				}
				changed = c.shorten(i, formMasked, maskLeft) > 0 || changed
			}
		}
	}
	if changed {
		c.rewrite++
	}
	return changed
}

func maskBatch(c *shaped, opt *CostOptions) bool {
	const batch = 20_000
	if c.total <= opt.Window/2 {
		return false
	}
	tail, could := c.tail(opt.Tail), 0
	for i := 1; i < tail; i++ {
		if b := &c.blocks[i]; b.result && b.id.form == formWhole && b.tokens > maskLeft {
			could += b.tokens - maskLeft
		}
	}
	if could < batch {
		return false
	}
	for i := 1; i < tail; i++ {
		c.shorten(i, formMasked, maskLeft)
	}
	c.rewrite++
	return true
}
