# The version that the scripts start: VERSION of the environment or, as compose reads it, of .env. Its image must exist.
kept=$([ ! -f .env ] || sed --quiet 's/^VERSION=//p' .env)
: "${VERSION:=$kept}"
export VERSION="${VERSION:?write VERSION=TAG to .env, the tag of the image to start}"
[ "$VERSION" = "$kept" ] || echo "write VERSION=$VERSION to .env: other commands of compose start ${kept:-latest}" >&2
# shellcheck disable=SC2046
docker image inspect $(docker compose config --images engine worker api) >/dev/null
