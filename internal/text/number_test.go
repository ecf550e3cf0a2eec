package text

import "testing"

func TestTokenCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1k", 9_540: "9.5k", 99_949: "99.9k", 99_950: "100k", 168_000: "168k", 999_499: "999k", 999_500: "1M", 1_048_576: "1.05M", 2_000_000: "2M", 12_340_000: "12.34M",
	} {
		if got := Tokens(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
