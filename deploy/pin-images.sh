#!/usr/bin/env bash
# Pulls the images of docker-compose.yml and of the Dockerfile, and prints an override that names them by their digests:
#   deploy/pin-images.sh > docker-compose.override.yml
# Prints nothing when one of them cannot be pulled.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

digest() { # of an image
  docker pull --quiet "$1" >&2
  docker image inspect --format '{{index .RepoDigests 0}}' "$1"
}

node=$(digest "$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)")
images=$(sed -n 's/^  \([a-z]*\):$/service \1/p; s/^    image: /image /p' docker-compose.yml | while read -r kind value; do
  if [ "$kind" = service ]; then service=$value; continue; fi
  pinned=$(digest "$value")
  echo "  $service: { image: \"$pinned\" }"
done)

printf 'services:\n%s\n' "$images"
for service in migrate api worker engine; do
  echo "  $service: { build: { context: ., args: { NODE_IMAGE: \"$node\" } } }"
done
