#!/bin/sh
# Checks that all that the recipes need is in the pantry.
# Use: sh check.sh
awk -F ': ' '
  FILENAME == "pantry.txt" { pantry[$1] = 1; next }
  /^[A-Z]/ { dish = $0; next }
  !NF { next }
  { name = $1; sub(/^ +/, "", name); needed++ }
  name in pantry { print "ok    " dish " needs " name ", " $2; next }
  {
    missing++
    print "FAIL  " FILENAME ":" FNR ": " dish " needs " name ", and pantry.txt has no " name
  }
  END {
    print needed + 0 " needed, " missing + 0 " missing"
    exit (missing > 0)
  }
' pantry.txt recipes/*.txt
