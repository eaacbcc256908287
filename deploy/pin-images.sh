#!/usr/bin/env bash
# Pulls the images of docker-compose.yml and of the Dockerfile, and prints an override that names them by their digests:
#   deploy/pin-images.sh > docker-compose.override.yml
set -euo pipefail
cd "$(dirname "$0")/.."

digest() { # of an image
  docker pull --quiet "$1" >&2
  docker image inspect --format '{{index .RepoDigests 0}}' "$1"
}

echo "services:"
sed -n 's/^  \([a-z]*\):$/service \1/p; s/^    image: /image /p' docker-compose.yml | while read -r kind value; do
  if [ "$kind" = service ]; then service=$value; else echo "  $service: { image: \"$(digest "$value")\" }"; fi
done
node=$(digest "$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)")
for service in migrate api worker engine; do
  echo "  $service: { build: { context: ., args: { NODE_IMAGE: \"$node\" } } }"
done
