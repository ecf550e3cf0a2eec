// Package bench measures what clew costs, mostly as ratios within one run, so
// that the numbers mean something on any machine. README.md lists the commands.
package bench
