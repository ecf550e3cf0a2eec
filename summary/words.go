package summary

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// announces reports whether a sentence only says what the agent does next.
func announces(s string) bool {
	return s != "" && strings.IndexByte("onfgpli\xe8\xe6", s[0]|0x20) >= 0 && announce().MatchString(s)
}

var announce = text.Pattern(`(?i)^(?:ok(?:ay)?[,.]? |now, |first,? |good[,.!]? |great[,.!]? |perfect[,.!]? )*(?:let me|let['’]s|i['’]ll|i['’]m going to|i will|i need to|i can see|now i|now (?:let|replace|update|add|fix|run|create|remove|rewrite|check|write|verify|look|test)|让我|我来)\b`)

var (
	// supposes matches a sentence that says what may be, not what is.
	supposes = text.NewWording(`maybe|perhaps|might|may be|probably|possibly|could be|wait|hmm|not sure|i think|i wonder|seems? (?:like|to)|suspect`,
		`也许|可能|好像|かもしれ|아마`)

	// givesReason matches an announcement that says why as well.
	givesReason = text.NewWording(`because|to avoid|instead of|rather than`, `因为|由于|ため|때문`)

	// causeWord matches a sentence that says why.
	causeWord = text.NewWording(`because|root cause|the (?:issue|problem|bug|reason|cause|culprit)|caused by|due to|since|so that|turns out|that'?s why|which means|instead of|rather than|to avoid|decided|chose`,
		`因为|原因|由于|所以|ため|原因は|때문`)
)

// unreadable reports whether a line is data rather than words: encoded, minified
// or drawn.
func unreadable(s string) bool {
	letters, others, run := 0, 0, 0
	for _, r := range s {
		switch {
		case letterOrDigit(r):
			letters++
		case r != ' ':
			others++
		}
		if r == ' ' || r > 0x2e80 {
			run = 0
		} else if run++; run > 120 {
			return true
		}
	}
	return letters < 8 || others > 2*letters
}

// forbidden reports whether a line holds a tag that wrappers of summaries and
// prompts are made of.
func forbidden(s string) bool {
	return strings.IndexByte(s, '<') >= 0 && wrapperTag().MatchString(s)
}

var wrapperTag = text.Pattern(`(?i)</?(?:summary|conversation|previous-summary|system-reminder|system|user|assistant|instructions?|context|read-files|modified-files)\b[^<>]{0,100}>`)

// phrases are the document's own words in one language. Headings are the same in
// all, so that a document can be read back.
type phrases struct {
	// What stands before a request in the Goal section: the first, the current one,
	// and the last one here when the user has asked for more since.
	first, current, latest string
	asked                  string // before a request of the user
	before                 string // stands for the request where the range begins inside a turn
	changed                string // before the files that the last turn changed
	command                string // before the last command
	failed                 string // behind a command that failed
	commit                 string // before a commit
	passes                 string // behind a command line in backquotes
	since                  string // behind that, where files were changed later
	fails                  string
	refused                string // behind the name of a tool that failed
	note                   string // the last section of every document with handles
}

// languages, the default first.
var languages = []phrases{{
	first: "First request: ", current: "Current request: ", latest: "Latest request here: ",
	asked: "Asked: ", before: "What was going on", changed: "Changed: ", command: "Last command: ", failed: " (failed)", commit: "Commit ",
	passes: " passes", since: " (files changed since)", fails: " fails", refused: " failed",
	note: "[#id] names an entry of the session log. What is not here can be read back by it.",
}, {
	first: "最初的请求：", current: "当前请求：", latest: "此处最后的请求：",
	asked: "要求：", before: "此前进行中的工作", changed: "修改了：", command: "最后的命令：", failed: "（失败）", commit: "提交 ",
	passes: " 通过", since: "（此后文件有改动）", fails: " 失败", refused: " 失败",
	note: "[#id] 指会话日志中的一条记录。此处没有的内容可以凭它读回。",
}, {
	first: "最初の依頼：", current: "現在の依頼：", latest: "ここでの最後の依頼：",
	asked: "依頼：", before: "それまでの作業", changed: "変更：", command: "最後のコマンド：", failed: "（失敗）", commit: "コミット ",
	passes: " は成功", since: "（その後ファイルに変更あり）", fails: " は失敗", refused: " は失敗",
	note: "[#id] はセッションログの項目を指す。ここにないものはそれで読み戻せる。",
}, {
	first: "첫 요청: ", current: "현재 요청: ", latest: "여기서의 마지막 요청: ",
	asked: "요청: ", before: "진행 중이던 작업", changed: "변경: ", command: "마지막 명령: ", failed: " (실패)", commit: "커밋 ",
	passes: " 통과", since: " (이후 파일 변경됨)", fails: " 실패", refused: " 실패",
	note: "[#id]는 세션 로그의 항목을 가리킨다. 여기 없는 것은 그것으로 다시 읽을 수 있다.",
}, {
	first: "Erste Bitte: ", current: "Jetzige Bitte: ", latest: "Letzte Bitte hier: ",
	asked: "Gebeten: ", before: "Was im Gange war", changed: "Geändert: ", command: "Letzter Befehl: ", failed: " (fehlgeschlagen)", commit: "Commit ",
	passes: " läuft durch", since: " (seither Dateien geändert)", fails: " schlägt fehl", refused: " ist fehlgeschlagen",
	note: "[#id] nennt einen Eintrag des Protokolls. Was hier fehlt, lässt sich damit nachlesen.",
}, {
	first: "Première demande : ", current: "Demande actuelle : ", latest: "Dernière demande ici : ",
	asked: "Demandé : ", before: "Ce qui était en cours", changed: "Modifié : ", command: "Dernière commande : ", failed: " (échec)", commit: "Commit ",
	passes: " réussit", since: " (fichiers modifiés depuis)", fails: " échoue", refused: " a échoué",
	note: "[#id] désigne une entrée du journal. Ce qui manque ici peut être relu par elle.",
}, {
	first: "Primera petición: ", current: "Petición actual: ", latest: "Última petición aquí: ",
	asked: "Pedido: ", before: "Lo que estaba en curso", changed: "Cambiado: ", command: "Última orden: ", failed: " (fallida)", commit: "Commit ",
	passes: " pasa", since: " (archivos cambiados desde entonces)", fails: " falla", refused: " falló",
	note: "[#id] nombra una entrada del registro. Lo que falta aquí puede releerse con ella.",
}, {
	first: "Первая просьба: ", current: "Текущая просьба: ", latest: "Последняя просьба здесь: ",
	asked: "Просьба: ", before: "Что уже делалось", changed: "Изменено: ", command: "Последняя команда: ", failed: " (ошибка)", commit: "Коммит ",
	passes: " проходит", since: " (после этого файлы менялись)", fails: " не проходит", refused: " не удалось",
	note: "[#id] называет запись журнала. Чего здесь нет, можно прочесть по ней.",
}}

// The languages by their place in the list.
const (
	english = iota
	chinese
	japanese
	korean
	german
	french
	spanish
	russian
)

// commonWords tell languages with Latin letters apart.
var commonWords = sync.OnceValue(func() map[string]uint {
	m := map[string]uint{}
	for lang, list := range map[int]string{
		english: "the and is to of that it for you this with not are have can please should what we",
		german:  "der die das und ist nicht ein eine bitte mit für auf wir ich den noch auch wenn soll kannst",
		french:  "le la les et est une des pas pour dans que je tu nous avec sur peux il du ce",
		spanish: "el los las y es una por para que con no en puedes del lo se esto hay un como",
	} {
		for w := range strings.FieldsSeq(list) {
			m[w] |= 1 << lang
		}
	}
	return m
})

// languageOf returns the language of the user's messages. Code and names are
// mostly Latin whatever the language, so other scripts count more.
func languageOf(users []Quote) int {
	var scripts [russian + 1]int
	latin := 0
	looked := 0
	for _, u := range users {
		t := text.OutsideFences(u.Text)
		if looked += len(t); looked > 100_000 {
			break
		}
		for _, r := range t {
			switch {
			case r < 0x80:
				if r|0x20 >= 'a' && r|0x20 <= 'z' {
					latin++
				}
			case unicode.In(r, unicode.Hiragana, unicode.Katakana):
				scripts[japanese] += 3
			case unicode.Is(unicode.Hangul, r):
				scripts[korean] += 3
			case unicode.Is(unicode.Han, r):
				scripts[chinese] += 3
			case unicode.Is(unicode.Cyrillic, r):
				scripts[russian]++
			}
		}
		for w := range strings.FieldsFuncSeq(strings.ToLower(t), func(r rune) bool { return !unicode.IsLetter(r) }) {
			for of := commonWords()[w]; of != 0; of &= of - 1 {
				scripts[bits.TrailingZeros(of)]++
			}
		}
	}
	if scripts[japanese]*5 > scripts[chinese] && scripts[japanese]+scripts[chinese] > latin/2 {
		return japanese
	}
	for _, lang := range []int{chinese, korean, russian} {
		if scripts[lang] > latin/2 {
			return lang
		}
	}
	best := english
	for lang := german; lang <= spanish; lang++ {
		if scripts[lang] > scripts[best] && scripts[lang] >= 3 {
			best = lang
		}
	}
	return best
}

// isLatest reports whether a line of the Goal section is about the current request.
func isLatest(s string) bool {
	return slices.ContainsFunc(languages, func(l phrases) bool {
		return strings.HasPrefix(s, l.current) || strings.HasPrefix(s, l.latest)
	})
}

// withoutFirst takes away what stands before the first request.
func withoutFirst(s string) string {
	for _, l := range languages {
		if rest, ok := strings.CutPrefix(s, l.first); ok {
			return rest
		}
	}
	return s
}

// passing returns the command that a line of an earlier summary says to pass.
func passing(s string) (command string, ok bool) {
	if !strings.HasPrefix(s, "`") {
		return "", false
	}
	for _, l := range languages {
		if c, rest, ok := strings.Cut(s[1:], "`"+l.passes); ok {
			if rest = strings.TrimPrefix(rest, l.since); rest == "" || rest[0] == ':' {
				return c, true
			}
		}
	}
	return "", false
}

// spoken holds what a document says already, in lower case and each statement before a zero
// byte, so that nothing is said twice.
type spoken []byte

func (s *spoken) add(t string) { *s = append(append(*s, strings.ToLower(t)...), 0) }

// has reports whether a statement is a part of one that is there.
func (s *spoken) has(t string) bool {
	return bytes.Contains(*s, []byte(strings.ToLower(strings.TrimRight(t, ".:!… "))))
}
