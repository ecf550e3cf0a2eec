package ledger

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// The word lists say which sentences are worth keeping. They decide only what is
// taken from the log, never what it says. English, Chinese, Japanese, Korean,
// German, French, Spanish and Russian. "*" stands for any ending.
var (
	// lastingWord marks a sentence that binds all later work.
	lastingWord = either(`always|never|must|mustn't|shall not|from now on|in future|in the future|going forward|
		every time|each time|after each|after every|before each|before every|whenever|under no circumstances|at all times|by default|as a rule|no exception|
		no exceptions|mandatory|required|forbidden|prohibited|not allowed|remember to|remember that|keep in mind|
		is not to be|are not to be|no longer|immer|niemal*|nie|muss|müssen|darf nicht|dürfen nicht|darf kein*|
		ab jetzt|ab sofort|künftig|grundsätzlich|stets|auf keinen fall|zwingend|toujours|jamais|il faut|doit|doivent|
		dorénavant|désormais|obligatoire*|interdit*|systématiquement|siempre|nunca|jamás|debe|debes|deben|hay que|
		a partir de ahora|de ahora en adelante|obligatori*|prohibid*|всегда|никогда|обязательно|должен|должна|должно|
		должны|нельзя|запрещено|впредь|отныне|ни в коем случае`,
		`必须|必需|务必|一定要|禁止|严禁|不得|不允许|不可以|始终|总是|永远|从现在起|今后|以后都|每次|一律|统一|切记|记住|必須|必ず|常に|絶対|今後は|毎回|決して|てはいけない|てはならない|
		しないこと|ないでください|すること|반드시|항상|절대|금지|앞으로는|매번|언제나|해야 합니다|해야 한다|해야 해|하지 마|하지마|하지 말`)
	// ruleStart are the beginnings of a rule that has no lasting word in it, after
	// what makes it polite.
	ruleStart = either(`don't|dont|do not|never|only|avoid|prefer|keep|make sure|ensure|no|stick to|stick with|
		stop|should be|hör auf|arrête*|deja de|перестань|be careful|strictly|not|nur|kein*|vermeide*|achte|ne|évite*|uniquement|sin|evita*|solo|asegúrate|не|только|
		без|избегай*`, `不要|不能|不可|只能|只用|尽量|避免|优先|保持|别|请用`)
	polite = either(`please|and|also|bitte|por favor|s'il te plaît|s'il vous plaît|пожалуйста`, ``)
	// ruleEnd are the endings of such a rule in languages that have the verb last.
	ruleEnd = []string{"しないで", "だけを使", "だけ使", "を避け", "말고", "지 마"}
	// onceWord marks a sentence about the matter at hand.
	onceWord = either(`this|that|it|its|it's|these|those|now|again|here|for now|this time|yet|above|below|just|
		already|i|we|i'm|we're|i've|we've|let's|lets|let us|still|that's|there's|dies*|jetzt|hier|nochmal|gerade|wir|
		ich|das|cela|ça|ce|cet|cette|maintenant|encore|ici|je|nous|esto|eso|esta|este|ahora|aquí|otra vez|это|этот|
		эту|сейчас|теперь|здесь|опять|я|мы`, `这个|那个|这里|这次|现在|刚才|一下|再|吧|我们|这些|那些|これ|それ|ここ|今回|もう一度|이거|그거|이것|지금|여기|다시`)
	// askWord begins a question, an error or a wish that has no mark of it at its end.
	askWord = either(`can you|can we|can i|could you|could we|would you|would it|why|how|what|is it|is there|is this|
		are there|are we|do you|do we|does|did|should we|should i|shall we|failed to|i thought|i think|i guess|
		let's think`, ``)
	// changeWord marks a sentence that takes an earlier one back.
	changeWord = either(`instead|actually|rather|no longer|not anymore|changed my mind|on second thought|forget|
		scratch that|revert|undo|drop|after all|switch to|switch back|go back to|never mind|nevermind|don't|do not|
		not|doch|stattdessen|nicht mehr|finalement|plutôt|ne plus|en realidad|mejor|ya no|на самом деле|вместо|
		больше не`, `改成|改用|改为|不用了|不再|算了|换成|还是|やっぱり|ではなく|の代わりに|대신|말고`)
	// supposeWord marks one that only says what might be.
	supposeWord = either(`maybe|might|perhaps|probably|possibly|could be|could have|may be|not sure|let me|i wonder|
		i guess|i suppose|vielleicht|womöglich|wahrscheinlich|peut-être|probablement|quizá|quizás|tal vez|
		probablemente|возможно|наверное|может быть|вероятно`, `也许|可能|或许|大概|说不定|让我|かもしれ|多分|たぶん|おそらく|아마|어쩌면`)
	// backWord marks one that may take an earlier decision back.
	backWord = either(`instead|actually|revert|reverted|reverting|no longer|turned out|turns out|not anymore|
		changed my mind|on second thought|scratch that|stattdessen|doch nicht|nicht mehr|finalement|ne plus|
		en realidad|ya no|на самом деле|больше не`, `改成|改用|改为|换成|不再|其实|实际上|撤销|回滚|やっぱり|ではなく|元に戻|대신|사실은|되돌`)
	// decisionWord marks a sentence of the agent that says who chose, or the cause that was found.
	decisionWord = either(`we decided|i decided|we've decided|i've decided|we chose|i chose|we've chosen|i've chosen|we opted|i opted|we went with|
		i went with|we go with|we're going with|i'm going with|we agreed|we settled on|locked in|we'll use|we'll keep|we'll go with|we keep|
		root cause is|root cause was|the root cause|culprit is|culprit was|the cause is|the cause was|uns entschieden|
		wir nehmen|wir bleiben bei|grundursache|avons décidé|avons choisi|on garde|cause racine|cause profonde|hemos decidido|decidimos|elegimos|
		nos quedamos con|causa raíz|решили|решено|выбрали|причина в`,
		`决定|改用|采用|根因|根本原因|方案是|決め|ことにした|採用|結論|결정|채택|하기로`)
	// settleWord marks a sentence in which the user settles something, answerWord begins an answer.
	settleWord = either(`let's keep|lets keep|let's use|lets use|let's go with|lets go with|let's go for|lets go for|let's stick|go with|stick with|
		no need|don't need|is fine|are fine|is settled|for now|i'd prefer|i prefer|seems sensible|we decided|we agreed|wir nehmen|wir bleiben bei|
		nicht nötig|brauchen wir nicht|fürs erste|on garde|on prend|pas besoin|pour l'instant|nos quedamos con|no hace falta|por ahora|не нужно|пока|
		оставим|остановимся на`,
		`就用|先不|不需要|不用|暂时|决定|采用|とりあえず|にしよう|必要ない|일단|필요 없|하기로`)
	// onwardWord stands in what lets the agent go on, yetWord in what holds until the user says more. noWord begins
	// an answer that declines.
	onwardWord = either(`go ahead|go on|proceed|continue|mach weiter|continue*|adelante|продолжай*`, `继续|続けて|계속`)
	// assentWord lets the agent go on with what it proposed, whatever stands with it of little words.
	assentWord = either(`okay|please|thanks|thank you|great|nice|cool|good|perfect|lgtm|fine|sure|yeah|yes|go ahead|proceed|continue|keep going|
		go on|looks|that|this|those|them|both|option|first|second|again|retry|next|with|then|just|right|correct|awesome|bitte|danke|weiter|genau|passt|
		gerne|mach weiter|merci|d'accord|continue*|parfait|vas-y|vale|gracias|perfecto|adelante|sigue|claro|спасибо|хорошо|давай*|продолжай*|отлично|дальше`,
		`好的|好|可以|继续|行|嗯|谢谢|没问题|请|吧|はい|お願いします|続けて|ください|ありがとう|네|좋아요|계속|해주세요|감사합니다|고마워`)
	yetWord    = either(`yet|noch nicht|pas encore|todavía no|пока не`, `まだ|아직`)
	noWord     = text.Words(`no nope nah nein non нет don't`)
	answerWord = either(`yes|yeah|yep|yup|no|nope|nah|ja|nein|oui|non|sí|да|нет`, ``)
	// forbidWord begins what is not to be done. wantWord marks what the user wants, wishWord what
	// is wanted of all later work.
	forbidWord = either(`don't|dont|do not|let's not|lets not|please don't|please do not`, ``)
	wantWord   = either(`i want|i don't want|i need|i'd like|i would like|i prefer|i'd prefer|we want|we need to|we don't need|should|shouldn't|
		i mean|i meant|soll|sollte*|devrait|debería|должен|должна`, ``)
	wishWord = either(`you don't have to|you do not have to|you don't need to|you do not need to|i only want|i only wanted|i would only want|
		what i said was|minimal change*|du musst nicht|tu n'as pas besoin|no hace falta que`, `别再|やめてください`)
	// guessWord stands in a sentence that is not sure of what it says.
	guessWord = text.Words(`think guess maybe perhaps probably suppose wonder wondering if`)
	// tells are the words before "always" and "never" in what is told, asks those in what a
	// pasted text orders.
	tells = text.Words(`it they that this which i he she have has had is was are were`)
	asks  = text.Words(`you must should please and but also`)
	// pronouns are the words before "should" that name nothing.
	pronouns = text.Words(`i you we he she it they this that these those what which who how where when why there here
		and but`)
	// thisStart begin a sentence about what is at hand, isWord are the verbs of what is told.
	thisStart    = text.Words(`this these both diese dieser dieses ce cet cette ces este esta estos estas этот эта эти`)
	isWord       = text.Words(`is are was were isn't aren't wasn't did didn't does has had it's`)
	supposeStart = text.Words(`wait hmm hm hmmm consider`)
	// halfStart and halfEnd are the first and last words of what is only part of a sentence.
	halfStart   = text.Words(`which of or than into by`)
	halfEnd     = text.Words(`and or but the a an to of with for from in that which because und oder et ou y o`)
	commonWords = text.Words(text.CommonWords + `changes`)
)

// subject returns the words that say what a sentence is about.
func subject(s string) map[string]bool { return text.Subject(s, commonWords()) }

// wordList finds words and phrases that stand alone, and words of scripts without
// spaces.
type wordList struct {
	source  [2]string // what it is made of when it is first used
	once    sync.Once
	phrases map[string][][]string // by the first word; under "" those whose first word is only a beginning
	wide    []string
}

// either lists words, and words of scripts without spaces, each with | between them.
func either(words, wide string) *wordList { return &wordList{source: [2]string{words, wide}} }

func (l *wordList) parse() {
	l.phrases = map[string][][]string{}
	for phrase := range strings.SplitSeq(l.source[0], "|") {
		if words := strings.Fields(phrase); len(words) > 0 {
			first := words[0]
			if strings.HasSuffix(first, "*") {
				first = ""
			}
			l.phrases[first] = append(l.phrases[first], words)
		}
	}
	l.wide = strings.FieldsFunc(l.source[1], func(r rune) bool { return r == '|' || r == '\n' || r == '\t' })
}

// sentenceWords returns the words of a sentence in lower case.
func sentenceWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(s, "’", "'")), func(r rune) bool {
		return r != '\'' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
}

// Assents reports whether a short message does no more than let the agent go on.
func Assents(s string) bool {
	words := sentenceWords(s)
	for i := 0; i < len(words); {
		n := assentWord.at(words, i)
		if n == 0 {
			rest := words[i]
			for _, w := range assentWord.wide {
				rest = strings.ReplaceAll(rest, w, "")
			}
			if len(rest) > 3 {
				return false
			}
		}
		i += max(n, 1)
	}
	return true
}

// count returns how often the list occurs in a sentence with the words, at most most.
func (l *wordList) count(s string, words []string, most int) int {
	l.once.Do(l.parse)
	n := 0
	for i := 0; i < len(words) && n < most; i++ {
		n += min(l.at(words, i), 1)
	}
	if hasWide(s) {
		for i := 0; i < len(l.wide) && n < most; i++ {
			n += min(strings.Count(s, l.wide[i]), 1)
		}
	}
	return n
}

func (l *wordList) in(s string, words []string) bool { return l.count(s, words, 1) > 0 }

// at returns how many words of the list stand at words[i], 0 for none.
func (l *wordList) at(words []string, i int) int {
	l.once.Do(l.parse)
	for _, first := range []string{words[i], ""} {
		for _, p := range l.phrases[first] {
			if len(words)-i >= len(p) && slices.EqualFunc(p, words[i:i+len(p)], sameWord) {
				return len(p)
			}
		}
	}
	return 0
}

func sameWord(listed, word string) bool {
	stem, open := strings.CutSuffix(listed, "*")
	return word == stem || open && strings.HasPrefix(word, stem)
}

// hasWide reports whether a text may have characters of scripts without spaces.
func hasWide(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x1000 })
}

// sameSubject reports whether two sets of words are clearly about one thing: a share of the
// smaller set, in percent, and at least three words are in both.
func sameSubject(a, b map[string]bool, share int) bool {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both >= 3 && 100*both >= share*min(len(a), len(b))
}
