package summary

import (
	"regexp"
	"strings"
)

// The word lists say which sentences are worth a section. They decide only what
// is taken from the log, never what it says.
var (
	// constraintWord marks a sentence of the user that binds later work.
	constraintWord = regexp.MustCompile(`(?i)\b(?:must(?:n't)?|never|don'?t|do not|always|only|instead|make sure|ensure|prefer(?:ably)?|avoid|should(?:n't)?(?: not)?|no longer|without|keep|stick to|stop|at (?:most|least)|rather than|require[sd]?|not allowed|be careful)\b|必须|不要|不能|不可|只能|只用|只要|一定|请用|务必|禁止|别|改用|改成|してはいけない|しないで|必ず|だけ|ではなく|반드시|하지 ?마|만 사용`)

	// changeWord marks a sentence that takes an earlier one back.
	changeWord = regexp.MustCompile(`(?i)\b(?:instead|actually|rather|no longer|not anymore|changed my mind|on second thought|forget|scratch that|revert|undo|drop|after all|switch (?:back )?to|go back to|never ?mind|don'?t|do not|not)\b|改成|改用|改为|不用了|不再|算了|换成|还是|やっぱり|ではなく|대신`)

	// decisionWord marks a sentence that says how something was settled.
	decisionWord = regexp.MustCompile(`(?i)\b(?:decid(?:ed|e|ing)|decisions?|instead of|rather than|chose|choos(?:e|ing)|opt(?:ed|ing)? (?:for|to)|went with|go(?:ing)? with|root cause|agreed|better to|makes sense|on purpose|by design|trade-?off|we'?ll (?:use|keep)|I'?ll (?:use|keep)|the (?:fix|solution|right (?:fix|place|approach|way)) (?:is|was))\b|决定|改用|采用|选择|根因|而不是|ことにした|결정`)

	// reasonWord marks a sentence that says why.
	reasonWord = regexp.MustCompile(`(?i)\b(?:because|so that|turns out|the (?:problem|issue|reason|culprit|trick|key) (?:is|was|here)|therefore)\b|因为|原因是|所以|なぜなら|때문`)

	// doneWord marks a statement that something is finished.
	doneWord = regexp.MustCompile(`(?i)\b(?:done|fixed|implemented|added|created|removed|updated|renamed|moved|refactored|replaced|committed|pushed|merged|released|completed?|finished|resolved|works|working|pass(?:es|ed|ing)?|clean|green|migrated|extracted|wrote|written)\b|完成|已修复|已添加|修复了|通过|搞定|完了|修正しました|追加しました|완료`)

	// planWord marks a sentence about what comes next.
	planWord = regexp.MustCompile(`(?i)\b(?:next|then|remaining|still (?:need|have|to)|left to|todo|to-do|follow-?up|I'?ll|I will|let me|we (?:need|should|still)|need(?:s)? to|now (?:I|let|we|update|add|fix|run|create)|plan|going to|want me to|should I|shall I|pending)\b|接下来|下一步|还需要|待办|然后|次に|残り|다음`)

	planIntro = regexp.MustCompile(`(?i)\b(?:next steps?|remaining|todo|to do|plan|steps|what'?s left|still to do|follow-?ups?)\b[^.]*:?\**\s*$|(?:接下来|下一步|待办|计划)[^。]*[:：]?\s*$`)
)

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

// leadsOver reports whether a statement only announces what comes after it.
func leadsOver(s string) bool {
	s = strings.TrimRight(s, "*_` ")
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}
