package measure

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// spelling makes an identifier of a class in one of the ways it is written, and its
// normal form.
func spelling(rng *rand.Rand, c Class) (written, normal string) {
	word := func(least int) string {
		b := make([]byte, least+rng.IntN(5))
		for i := range b {
			b[i] = "ghijkmnopqrstuvwxyz"[rng.IntN(19)] // no hex digits
		}
		return string(b)
	}
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[rng.IntN(16)]
		}
		b[0], b[1] = 'a', '7'
		return string(b)
	}
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	switch c {
	case URL:
		normal = "https://" + word(3) + ".org/" + word(3)
		return normal + []string{"", "/", "#" + word(2)}[rng.IntN(3)], normal
	case Path:
		normal = word(3) + "/" + word(3) + ".go"
		return []string{"", "./", "../", "/", "~/", "/home/me/" + word(2) + "/"}[rng.IntN(6)] + normal + []string{"", ":12", "."}[rng.IntN(3)], normal
	case File:
		normal = word(3) + "." + []string{"go", "ts", "json", "test.py"}[rng.IntN(4)]
		return normal, normal
	case UUID:
		normal = hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12)
	case Hash:
		normal = hex(7 + rng.IntN(33))
	case Ref:
		normal = []string{fmt.Sprintf("#%d", 10+rng.IntN(9000)), fmt.Sprintf("%s-%d", strings.ToUpper(word(2)), 1+rng.IntN(999))}[rng.IntN(2)]
	case Env:
		normal = strings.ToUpper(word(3) + "_" + word(2))
	case Ident:
		normal = []string{word(3) + "_" + word(2), word(3) + title(word(3)), title(word(3)) + title(word(3)), "HTTP" + title(word(3))}[rng.IntN(4)]
	case Flag:
		normal = "--" + word(3)
		return normal + []string{"", "=on"}[rng.IntN(2)], normal
	default:
		normal = []string{fmt.Sprint(10000 + rng.IntN(1e6)), fmt.Sprintf("%d.%d.%d", rng.IntN(90), 10+rng.IntN(90), rng.IntN(90)), fmt.Sprintf("v1.%d.%d", 10+rng.IntN(90), rng.IntN(90))}[rng.IntN(3)]
	}
	return normal, normal
}

// Whatever stands around an identifier, and however it is spelled, it is found in
// its normal form and nothing else is.
func TestIdentifiersBySpelling(t *testing.T) {
	around := [][2]string{{"", ""}, {"(", ")"}, {"`", "`"}, {`"`, `"`}, {"[", "]"}, {"", ","}, {"", ";"}, {"修改", "文件"}, {"**", "**"}, {"<", ">"}}
	seeds(t, 400, func(t *testing.T, rng *rand.Rand) {
		var text strings.Builder
		var want []string
		for range 12 {
			c := Class(rng.IntN(int(NumClasses)))
			written, normal := spelling(rng, c)
			a := around[rng.IntN(len(around))]
			if c == URL && (a[1] == ";" || a[1] == "文件" || strings.Contains(a[1], "*")) {
				a = around[0] // those can be part of a URL
			}
			text.WriteString(a[0] + written + a[1] + []string{" ", "\n", " the thing "}[rng.IntN(3)])
			want = append(want, c.String()+" "+normal)
		}
		var got []string
		for id := range Identifiers(text.String()) {
			got = append(got, id.Class.String()+" "+id.Text)
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s\n got\n%s\nwant\n%s", text.String(), g, w)
		}
	})
}
