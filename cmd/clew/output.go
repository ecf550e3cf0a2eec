package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON; docs/JSON.md describes it")
}

// printJSON writes one indented JSON value to the output.
func printJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// output buffers what a command prints line by line; flush it before returning.
func output(cmd *cobra.Command) *bufio.Writer {
	return bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
}

// size prints a number of bytes for people, in decimal units.
func size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	i := -1
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[i])
	}
	return fmt.Sprintf("%.0f %cB", f, units[i])
}

// number prints n with a comma between groups of three digits.
func number(n int64) string {
	s := fmt.Sprint(n)
	neg := n < 0
	if neg {
		s = s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		s = "-" + s
	}
	return s
}

// count prints "1 entry", "2 entries"; without a plural it is singular and s.
func count(n int, singular string, plural ...string) string {
	word := singular
	if n != 1 {
		word += "s"
		if len(plural) > 0 {
			word = plural[0]
		}
	}
	return number(int64(n)) + " " + word
}

// clock prints a time for people, in their zone; a time that is not known is dashes.
func clock(t time.Time) string {
	if t.IsZero() {
		return "---------- --:--"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// jsonTime prints a time for programs, "" when it is not known.
func jsonTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
