#!/usr/bin/env bash
# Builds the index again in a second database of the same server, while the service uses the first one, and switches to
# it:
#   VERSION=1.2.3 deploy/rebuild.sh fx_next
# It can be ended and started again until it prints "switches". The first database stays as it is then.
set -euo pipefail
cd "$(dirname "$0")/.."
# Each container reads the secrets as its own user; the mode of the folder keeps other accounts out.
umask 022
: "${VERSION:?the tag of the image to start}"
name=${1:?the name of the new database}
case $name in *[!a-z0-9_]*) echo "expected lower-case letters, digits and underscores: $name" >&2; exit 2 ;; esac

secrets=deploy/secrets
next=$secrets/database_url_next
current=$(sed --regexp-extended 's|.*/([^/?]+)(\?.*)?$|\1|' $secrets/database_url)
[ "$name" != "$current" ] || { echo "the service uses the database $name: choose another name" >&2; exit 2; }
psql() { docker compose exec -T postgres psql --username fx --set ON_ERROR_STOP=1 --quiet --tuples-only --no-align "$@"; }
# Runs a command of the new version on the new database. JOBS_PREFIX keeps its jobs apart from those of the service.
on_next() {
  docker compose run --no-deps --volume "$PWD/$next:/run/next:ro" --env DATABASE_URL_FILE=/run/next \
    --env JOBS_PREFIX="fx-$name" "$@"
}
# The URL of a secret with the new database in it.
in_next() { sed --regexp-extended "s|/[^/?]+(\?.*)?\$|/$name\1|" "$1"; }

[ "$(psql --command "SELECT 1 FROM pg_database WHERE datname = '$name'" "$current")" = 1 ] ||
  docker compose exec -T postgres createdb --username fx "$name"
in_next $secrets/database_url >$next
on_next --rm migrate

chains=$(psql --command 'SELECT count(*) FROM cursors' "$current")
docker rm --force "fx-rebuild-$name" >/dev/null 2>&1 || true
on_next --detach --name "fx-rebuild-$name" worker >/dev/null
echo "indexes $chains chains: docker logs --follow fx-rebuild-$name shows the progress"
# As many chains as before are near the head, and nothing is left to read.
behind="SELECT $chains - count(*) FROM cursors JOIN heartbeats USING (chain_id) WHERE head_number - block_number < 50
  AND NOT EXISTS (SELECT FROM log_gaps WHERE log_gaps.chain_id = cursors.chain_id AND state = 'open')
  AND (SELECT count(*) FROM refresh_queue WHERE refresh_queue.chain_id = cursors.chain_id) < 100"
is_running() { [ -n "$(docker ps --quiet --filter "name=^fx-rebuild-$name\$")" ]; }
until [ "$(psql --command "$behind" "$name")" -le 0 ]; do
  is_running || { echo "the worker ended: docker logs fx-rebuild-$name shows why" >&2; exit 1; }
  sleep 2
done
echo "compares the new index with the chains"
on_next --rm worker audit

echo "switches: no worker runs until the end; the APIs answer from the first database"
give_up() {
  docker compose start worker
  echo "nothing was switched; the service runs on the first database" >&2
  exit 1
}
trap give_up INT TERM
docker compose stop worker
# The worker of the new database goes on until it has every block of the first one.
held=$(psql --command "SELECT string_agg(format('(%s, %s)', chain_id, block_number), ', ') FROM cursors" "$current") ||
  give_up
missing="SELECT count(*) FROM (VALUES $held) AS held (chain_id, number) LEFT JOIN cursors USING (chain_id)
  WHERE coalesce(cursors.block_number, -1) < held.number"
until [ "$(psql --command "$missing" "$name")" = 0 ]; do
  is_running || give_up
  sleep 1
done
docker stop --time 30 "fx-rebuild-$name" >/dev/null
on_next --rm --env PREVIOUS_DATABASE_URL_FILE=/run/secrets/database_url worker carry || give_up
trap '' INT TERM
docker rm "fx-rebuild-$name" >/dev/null
for secret in database_url api_database_url; do
  in_next $secrets/$secret >$secrets/$secret.part
  mv $secrets/$secret.part $secrets/$secret
done
rm $next
trap - INT TERM
docker compose up --detach --no-deps --force-recreate --no-build --wait --wait-timeout 120 worker
# The jobs of the new database's worker. Those of the service have another prefix.
docker compose exec -T redis sh -c "redis-cli --scan --pattern 'fx-$name:*' | tr '\\n' '\\0' | xargs -0 -r redis-cli unlink" >/dev/null
# One container after the other.
deploy/rolling-upgrade.sh
