package summary

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// The word lists say which sentences are worth a section. They decide only what
// is taken from the log, never what it says.
var (
	// doneWord marks a statement that something is finished.
	doneWord = text.Pattern(`(?i)\b(?:done|fixed|implemented|added|created|removed|updated|renamed|moved|refactored|replaced|committed|pushed|merged|released|completed?|finished|resolved|works|working|pass(?:es|ed|ing)?|clean|green|migrated|extracted|wrote|written)\b|完成|已修复|已添加|修复了|通过|搞定|完了|修正しました|追加しました|완료`)

	// passWord marks a statement that something passes, butWord one that says it of a
	// part only, or not at all.
	passWord = text.Pattern(`(?i)\b(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|works|working|fixed|resolved|green)\b|通过|修复|成功|修正|通りました|통과|성공`)
	butWord  = text.Pattern(`(?i)\b(?:not|but|still|yet|except|until|unless|should|would|might|may|fail(?:s|ed|ing)?|\w+n['’]t)\b|不|但|未|失败|ない|しかし|失敗|않|아직|실패|하지만`)

	// planWord marks a sentence about what comes next.
	planWord = text.Pattern(`(?i)\b(?:next|then|remaining|still (?:need|have|to)|left to|todo|to-do|follow-?up|I'?ll|I will|let me|we (?:need|should|still)|need(?:s)? to|now (?:I|let|we|update|add|fix|run|create)|plan|going to|want me to|should I|shall I|pending)\b|接下来|下一步|还需要|待办|然后|次に|残り|다음`)

	planIntro = text.Pattern(`(?i)\b(?:next steps?|remaining|todo|to do|plan|steps|what'?s left|still to do|follow-?ups?)\b[^.]*:?\**\s*$|(?:接下来|下一步|待办|计划)[^。]*[:：]?\s*$`)
)

// stopWords say nothing about what a sentence is about.
var stopWords = text.Words(`the and for that this with from are was were but you your can will has have had
		its all any our out one into then than when what which where who how why just also some more most other
		there here they them their these those very really please should would could must never always only
		instead make sure dont don not use using used let lets now okay yes want need about after before like
		does did doing been being because still even each same such both over under again thing things way
		actually rather longer change changed back
		new old get gets got see set put off may might per via too yet off own his her him she once few much many
		well made makes need needs until upon while without within across above below between down cannot since
		every another around already`)

// leadsOver reports whether a statement only announces what comes after it.
func leadsOver(s string) bool {
	s = strings.TrimRight(s, "*_` ")
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}
