#!/bin/sh
# bin/coind of a release: runs the node with the Node.js in the same release. A link to this file works too.
set -e
directory=$(dirname "$(readlink -f "$0")")/..
for node in "$directory"/node_modules/node-linux-*/bin/node; do
  exec "$node" "$directory/bin/coind.js" "$@"
done
