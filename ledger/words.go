package ledger

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// The word lists say which sentences are worth keeping. They decide only what is
// taken from the log, never what it says. English, Chinese, Japanese, Korean,
// German, French, Spanish and Russian.
var (
	// lastingWord marks a sentence that binds all later work.
	lastingWord = either(`always|never|must(?:n't)?|shall not|from now on|in (?:the )?future|going forward|every time|each time|whenever|
		under no circumstances|at all times|by default|as a rule|no exceptions?|mandatory|required|forbidden|prohibited|not allowed|
		remember (?:to|that)|keep in mind|(?:is|are) not to be|no longer|
		immer|niemals?|nie|muss|müssen|darf nicht|dürfen nicht|darf kein\w*|ab (?:jetzt|sofort)|künftig|grundsätzlich|stets|auf keinen fall|zwingend|
		toujours|jamais|il faut|doit|doivent|dorénavant|désormais|obligatoire\w*|interdit\w*|systématiquement|
		siempre|nunca|jamás|debes?|deben|hay que|a partir de ahora|de ahora en adelante|obligatori[oa]|prohibid[oa]|
		всегда|никогда|обязательно|долж(?:ен|на|но|ны)|нельзя|запрещено|впредь|отныне|ни в коем случае`,
		`必须|必需|务必|一定要|禁止|严禁|不得|不允许|不可以|始终|总是|永远|从现在起|今后|以后都|每次|一律|统一|切记|記住|记住|必須|
		必ず|常に|絶対|今後は|毎回|決して|てはいけない|てはならない|しないこと|ないでください|すること|
		반드시|항상|절대|금지|앞으로는?|매번|언제나|해야 ?(?:한다|합니다|해)|하지 ?(?:마|말)`)

	// bindingWord marks one that may.
	bindingWord = either(`don'?t|do not|only|instead(?: of)?|rather than|without|avoid|prefer(?:ably)?|should(?:n't)?|keep|make sure|ensure|
		stick (?:to|with)|not|no|at (?:most|least)|be careful|strictly|unless|until|
		nur|keine?[nmrs]?|statt|anstatt|anstelle|vermeide\w*|ohne|bevorzug\w*|nicht|achte|höchstens|mindestens|soll(?:te|en|test)?|
		seulement|uniquement|sans|évite[rz]?|plutôt|préfère\w*|pas|assure-toi|assurez-vous|au (?:plus|moins)|aucune?|
		solo|sólo|solamente|sin|evita[r]?|en (?:lugar|vez) de|prefiero|no|asegúrate|como (?:máximo|mínimo)|ningún|ninguna|
		только|вместо|без|избегай\w*|не|предпочт\w*|убедись|следи|максимум|минимум`,
		`不要|不能|不可|只能|只用|只要|请用|改用|尽量|避免|优先|保持|不准|别|
		だけ|ではなく|避け|使って|使用して|優先|のみ|
		만 사용|말고|대신|피하|우선|사용하지|유지`)

	// ruleStart is how a rule begins that has no lasting word in it.
	ruleStart = regexp.MustCompile(`(?i)^(?:please,? |and |also,? |bitte |por favor,? |s'il (?:te|vous) plaît,? |пожалуйста,? )*(?:don'?t|do not|never|only|avoid|prefer|keep|make sure|ensure|no |stick|be careful|strictly|` +
		`nur |keine?\w* |vermeide|kein |achte|ne |n'|évite|uniquement |sin |evita|solo |no |asegúrate|не |только |без |избегай)|` +
		`^(?:请|請)?(?:不要|不能|不可|只能|只用|尽量|避免|优先|保持|别|请用)|(?:しないで|だけ(?:を)?使|を避け|말고|지 마)`)

	// onceWord marks a sentence about the matter at hand.
	onceWord = either(`this|that|it|its|it's|these|those|now|again|here|for now|this time|yet|above|below|just|already|I|we|i'm|we're|i've|we've|let'?s|let us|still|
		dies\w*|jetzt|hier|nochmal|gerade|wir|ich|das|cela|ça|ce|cet|cette|maintenant|encore|ici|je|nous|esto|eso|esta|este|ahora|aquí|otra vez|это|этот|эту|сейчас|теперь|здесь|опять|я|мы`,
		`这个|那个|这里|这次|现在|刚才|一下|再|吧|我们|这些|那些|これ|それ|ここ|今回|もう一度|이거|그거|이것|지금|여기|다시`)

	// changeWord marks a sentence that takes an earlier one back.
	changeWord = either(`instead|actually|rather|no longer|not anymore|changed my mind|on second thought|forget|scratch that|revert|undo|drop|
		after all|switch (?:back )?to|go back to|never ?mind|don'?t|do not|not|doch|stattdessen|nicht mehr|finalement|plutôt|ne plus|en realidad|mejor|ya no|
		на самом деле|вместо|больше не`,
		`改成|改用|改为|不用了|不再|算了|换成|还是|やっぱり|ではなく|の代わりに|대신|말고`)

	// decisionWord marks a sentence that says how something was settled.
	decisionWord = either(`decid(?:ed|e|ing)|decisions?|instead of|rather than|chose|choos(?:e|ing)|opt(?:ed|ing)? (?:for|to)|went with|go(?:ing)? with|root cause|agreed|
		better to|makes sense|on purpose|by design|trade-?off|we'?ll (?:use|keep)|I'?ll (?:use|keep)|the (?:fix|solution|right (?:fix|place|approach|way)) (?:is|was)|
		entschieden|entscheid\w*|stattdessen|grundursache|décidé\w*|choisi\w*|au lieu de|cause (?:racine|profonde)|decidi\w*|eleg\w*|en lugar de|causa raíz|
		реш(?:ил|или|ено)|выбра(?:л|ли)|вместо|причина`,
		`决定|改用|采用|选择|根因|根本原因|而不是|方案是|決め|ことにした|採用|結論|결정|선택|채택`)

	// reasonWord marks a sentence that says why.
	reasonWord = either(`because|so that|turns out|the (?:problem|issue|reason|culprit|trick|key) (?:is|was|here)|therefore|caused by|due to|
		weil|damit|deshalb|liegt daran|parce que|afin que|donc|le problème|porque|para que|el problema|потому что|чтобы|поэтому|проблема в`,
		`因为|原因是|所以|由于|问题在于|なぜなら|原因は|ため|때문|원인`)
)

// either makes a pattern of words that stand alone and of words of scripts
// without spaces.
func either(words, wide string) *regexp.Regexp {
	join := func(s string) string {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return strings.Join(lines, "")
	}
	// \b knows ASCII letters only, so the ends of a word are looked at in another way.
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])(?:` + join(words) + `)(?:[^\pL\pN_]|$)|` + join(wide))
}

// stopWords say nothing about what a sentence is about.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`the and for that this with from are was were but you your can will has have had
		its all any our out one into then than when what which where who how why just also some more most other
		there here they them their these those very really please should would could must never always only
		instead make sure dont don not use using used let lets now okay yes want need about after before like
		does did doing been being because still even each same such both over under again thing things way
		actually rather longer change changed back`) {
		m[w] = true
	}
	return m
}()

// subject returns the words that say what a sentence is about, in lower case;
// of scripts without spaces, pairs of characters.
func subject(s string) map[string]bool {
	m := map[string]bool{}
	var word []rune
	var prev rune
	flush := func() {
		if w := strings.ToLower(string(word)); len(word) >= 3 && !stopWords[w] {
			m[w] = true
		}
		word = word[:0]
	}
	for _, r := range s {
		switch {
		case text.Wide(r):
			flush()
			if text.Wide(prev) {
				m[string([]rune{prev, r})] = true
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			word = append(word, r)
		default:
			flush()
		}
		prev = r
	}
	flush()
	return m
}

// sameSubject reports whether two sets of words are clearly about one thing: two
// thirds of the smaller set, and at least three words, are in both.
func sameSubject(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both >= 3 && 3*both >= 2*len(a)
}
