package token

// millis are thousandths of a token. Sums of weights are kept in them, so that
// counting is integer arithmetic and the same on every machine.
type millis = uint64

const perToken = 1000

// weights are what the characters of a text cost for one family of models, in thousandths
// of a token. TestFit fitted ascii, call and result to how much the prompt grew between
// calls of recorded agent sessions: the weight of the first digit of a number also stands
// for what surrounds numbers in logs and code.
//
// The weights of other scripts come from counting samples with public tokenizers: o200k
// for gpt, the older cl100k, which knows these scripts less well, for claude, and a value
// between o200k and what makers of open models state for universal
// (https://api-docs.deepseek.com/quick_start/token_usage).
type weights struct {
	ascii [asciiKinds]uint16

	latin, greek, cyrillic, hebrew, arabic, combining uint16 // two bytes in UTF-8
	indic, kana, han, hangul, symbol, rare            uint16 // three bytes
	fourByte                                          uint16 // emoji, rare Han, historic scripts

	base64, hex uint32 // a character of a long run of random data
	hidden      uint32 // a base64 character of encrypted thinking
	message     uint32 // a message other than a result
	call        uint32 // a call of a tool beside its name and arguments: syntax and id
	result      uint32 // the result of a tool beside its text
	tools       uint32 // offering any tools at all

	guard float64 // by how much an estimate for 8 or more messages may be too low
}

// What an ASCII character is to the one before it: the indices of weights.ascii.
const (
	inWord       = iota // small letter after a letter or a character that is not ASCII
	wordStart           // small letter otherwise
	inCapitals          // capital after a capital
	hump                // capital after another letter: camelCase
	capitalStart        // capital otherwise
	inNumber            // digit after a digit
	numberStart         // digit otherwise
	inBlanks            // blank or tab after one
	blankStart          // blank or tab otherwise
	newline             // newline and other control characters
	sameSign            // sign after the same one
	inSigns             // sign after another one
	signStart           // sign otherwise
	asciiKinds
)

func kindOf(before, c byte) int {
	small := 'a' <= c && c <= 'z'
	switch {
	case letter(c):
		switch {
		case small && (letter(before) || before >= 0x80):
			return inWord
		case small:
			return wordStart
		case 'A' <= before && before <= 'Z':
			return inCapitals
		case letter(before) || before >= 0x80:
			return hump
		}
		return capitalStart
	case digit(c):
		if digit(before) {
			return inNumber
		}
		return numberStart
	case c == ' ' || c == '\t':
		if before == ' ' || before == '\t' {
			return inBlanks
		}
		return blankStart
	case c < ' ' || c == 0x7F:
		return newline
	case c == before:
		return sameSign
	case ' ' < before && before < 0x7F && !letter(before) && !digit(before):
		return inSigns
	}
	return signStart
}

// messageTokens is what a message costs beside its contents: the marks around it,
// three tokens, and its role, one
// (https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken).
const messageTokens = 4 * perToken

// weightsOf returns the weights of a family; an unknown one is universal.
func weightsOf(f family) weights {
	switch f {
	case claude, claude47:
		w := weights{
			ascii: [asciiKinds]uint16{101, 567, 61, 882, 1451, 69, 1862, 139, 119, 1239, 15, 361, 865},
			latin: 800, greek: 950, cyrillic: 500, hebrew: 1100, arabic: 850, combining: 1000,
			indic: 1050, kana: 1100, han: 1150, hangul: 1000, symbol: 580, rare: 1200,
			fourByte: 2600,
			base64:   800, hex: 680, hidden: 210, message: messageTokens, call: 49_385, result: 23_530,
			// The prompt that explains tool use to the model, for any number of tools:
			// https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview#pricing
			tools: 346_000,
			guard: 1.2,
		}
		if f == claude47 {
			// The tokenizer of 4.7 cuts Latin letters into more pieces and leaves other
			// scripts and random data as they were
			// (https://sol.ava.dev/writings/2026-04-17-opus-4-7-tokenizer.html, by way of
			// the provider's count_tokens).
			w.ascii = [asciiKinds]uint16{123, 889, 328, 1751, 2119, 84, 1752, 114, 148, 1164, 20, 248, 1216}
			w.call, w.result = 65_444, 12_063
			w.guard = 1.35
		}
		return w
	case gpt:
		return weights{
			ascii: [asciiKinds]uint16{70, 604, 106, 462, 992, 150, 1713, 102, 176, 588, 54, 162, 746},
			latin: 1000, greek: 430, cyrillic: 330, hebrew: 560, arabic: 360, combining: 700,
			indic: 450, kana: 800, han: 880, hangul: 650, symbol: 500, rare: 1000,
			fourByte: 1700,
			base64:   690, hex: 580, hidden: 210, message: messageTokens, call: 10_330, result: 11_985,
			guard: 1.25,
		}
	default:
	}
	return weights{
		ascii: [asciiKinds]uint16{59, 516, 206, 1152, 591, 220, 1860, 31, 348, 886, 54, 308, 686},
		latin: 690, greek: 690, cyrillic: 450, hebrew: 750, arabic: 500, combining: 800,
		indic: 700, kana: 700, han: 700, hangul: 800, symbol: 690, rare: 1200,
		fourByte: 2000,
		base64:   750, hex: 620, hidden: 210, message: messageTokens, call: 26_063, result: 25_399,
		guard: 1.3,
	}
}

// exactRate returns what a token of OpenAI's encodings weighs for a family, and what
// a call and a result weigh beside their texts. TestFit fits them, too.
func exactRate(f family) (rate millis, call, result uint32) {
	switch f {
	case claude:
		return 1141, 46_424, 27_875
	case claude47:
		return 1527, 64_702, 12_618
	case gpt:
		return perToken, 8_170, 10_474
	default:
		return 1005, 24_065, 24_868
	}
}

// tail is the weight of a UTF-8 continuation byte. The first byte of a character
// weighs the rest of the character's weight, so that text cut anywhere, and
// bytes that are not UTF-8 at all, still cost something.
const tail = 150

func (w *weights) table() *[1 << 16]uint16 {
	t := new([1 << 16]uint16)
	for i := range t {
		before, c := byte(i>>8), byte(i)
		if c < 0x80 {
			t[i] = w.ascii[kindOf(before, c)]
		} else {
			t[i] = w.beyondASCII(c)
		}
	}
	return t
}

func (w *weights) beyondASCII(c byte) uint16 {
	switch {
	case c < 0xC0:
		return tail
	case c < 0xC2, c > 0xF4:
		return perToken // never in UTF-8: will be sent as U+FFFD
	case c < 0xE0:
		return w.script(c) - tail
	case c < 0xF0:
		return w.script(c) - 2*tail
	}
	return w.fourByte - 3*tail
}

func (w *weights) script(c byte) uint16 {
	for _, s := range []struct {
		below  byte
		weight uint16
	}{
		{0xCC, w.latin},
		{0xCE, w.combining},
		{0xD0, w.greek},
		{0xD4, w.cyrillic},
		{0xD8, w.hebrew}, // and Armenian
		{0xDC, w.arabic},
		{0xE0, w.rare},
		{0xE1, w.indic}, // Devanagari to Sinhala, Thai, Lao
		{0xE2, w.rare},
		{0xE3, w.symbol}, // punctuation, arrows, box drawing, mathematics
		{0xE4, w.kana},   // and CJK punctuation
		{0xEA, w.han},
		{0xEE, w.hangul},
	} {
		if c < s.below {
			return s.weight
		}
	}
	return w.rare
}
