#!/bin/sh
# Makes the secrets that compose.yaml mounts, in the folder secrets beside it, once. Only its owner can enter the
# folder; the files can be read by the containers, which run as other users.
set -eu
cd "$(dirname "$0")"
[ ! -e secrets ] || { echo "there are secrets already, in $(pwd)/secrets"; exit 0; }
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
umask 022
mkdir -m 700 secrets.new
cd secrets.new
random >key
random >password
printf '*:*:*:clew:%s\n' "$(cat password)" >pgpass
printf 'ROOT_ACCESS_KEY_ID=clew\nROOT_SECRET_ACCESS_KEY=%s\n' "$(random)" >s3.env
cd ..
mv secrets.new secrets
echo "the key of the gateways is in $(pwd)/secrets/key"
