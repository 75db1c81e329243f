#!/bin/sh
# publish-image.sh FOLDER: pushes the tested images of a folder (joust-image-linux-<arch>.tar.gz) to the registry of
# GitHub as one multi-platform image. Needs TOKEN, ACTOR and REPOSITORY. Writes the name and the digest of the image to
# GITHUB_OUTPUT.
set -eu
folder="$1"
version="$(node -p "require('./package.json').version")"
# Image names must be lowercase.
name="ghcr.io/$(echo "$REPOSITORY" | tr '[:upper:]' '[:lower:]')"
echo "$TOKEN" | docker login ghcr.io --username "$ACTOR" --password-stdin

set --
for file in "$folder"/joust-image-linux-*.tar.gz; do
  arch="$(basename "$file" .tar.gz)"
  arch="${arch##*-}"
  docker load --input "$file"
  docker tag joust "$name:$version-$arch"
  docker push "$name:$version-$arch"
  set -- "$@" "$name:$version-$arch"
done

tags="--tag $name:$version"
case "$version" in
  *-*) ;; # A prerelease such as 1.0.0-rc.1 does not get the tag latest.
  *) tags="$tags --tag $name:latest" ;;
esac
# shellcheck disable=SC2086 # two words for each tag
docker buildx imagetools create $tags "$@"
digest="$(docker buildx imagetools inspect "$name:$version" --format '{{.Manifest.Digest}}')"
echo "name=$name" >> "$GITHUB_OUTPUT"
echo "digest=$digest" >> "$GITHUB_OUTPUT"
