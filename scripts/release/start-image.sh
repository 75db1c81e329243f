#!/bin/sh
# start-image.sh IMAGE: starts an image with a read-only root file system, waits until it is healthy, and stops it. If
# a step fails, it prints the log of the server.
set -eu
image="$1"
container="$(docker run --detach --read-only --tmpfs /tmp --cap-drop ALL --env JOUST_API_KEY=check "$image")"
trap 'docker rm --force --volumes "$container" >/dev/null' EXIT

fail() {
  echo "the image $1" >&2
  docker logs "$container" >&2
  exit 1
}

tries=0
until [ "$(docker inspect --format '{{.State.Health.Status}}' "$container")" = healthy ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || fail "is not healthy after a minute"
  [ "$(docker inspect --format '{{.State.Running}}' "$container")" = true ] || fail "ended by itself"
  sleep 1
done
docker stop --time 40 "$container" >/dev/null
code="$(docker inspect --format '{{.State.ExitCode}}' "$container")"
[ "$code" = 0 ] || fail "ended with $code after SIGTERM"
echo "the image became healthy and stopped cleanly"
