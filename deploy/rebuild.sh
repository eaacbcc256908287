#!/usr/bin/env bash
# Builds the index again in a second database of the same server, while the service uses the first one, and switches to
# it, with VERSION of .env:
#   deploy/rebuild.sh fx_next
# It can be ended and started again. Until it prints that it switches, the first database stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
# Each container reads the secrets as its own user; the mode of the folder keeps other accounts out.
umask 022
name=${1:?the name of the new database}
case $name in *[!a-z0-9_]*) echo "expected lower-case letters, digits and underscores: $name" >&2; exit 2 ;; esac

secrets=deploy/secrets
next=$secrets/database_url_next
current=$(sed --regexp-extended 's|.*/([^/?]+)(\?.*)?$|\1|' $secrets/database_url)
[ "$name" != "$current" ] || { echo "the service uses the database $name: choose another name" >&2; exit 2; }
. deploy/version.sh
psql() { docker compose exec -T postgres psql --username fx --set ON_ERROR_STOP=1 --quiet --tuples-only --no-align "$@"; }
# Runs a command of the new version on the new database. JOBS_PREFIX keeps its jobs apart from those of the service.
jobs=fx-rebuild-$name
on_next() {
  docker compose run --no-deps --volume "$PWD/$next:/run/next:ro" --env DATABASE_URL_FILE=/run/next \
    --env JOBS_PREFIX="$jobs" "$@"
}
# The URL of a secret with the new database in it.
in_next() { sed --regexp-extended "s|/[^/?]+(\?.*)?\$|/$name\1|" "$1"; }

chains=$(psql --command "SELECT string_agg(chain_id::text, ' ') FROM cursors" "$current")
: "${chains:?the service has indexed no chain}"
configured=$(docker compose run -T --rm --no-deps --entrypoint printenv worker CHAINS | tr -d ' \r') ||
  configured=8453,56
for chain in $chains; do
  case ,$configured, in *,"$chain",*) continue ;; esac
  echo "the database $current has chain $chain, which CHAINS lacks: see docs/operations/configure.md" >&2
  exit 2
done

# The APIs would go on reading the first database.
replica=$(docker compose run -T --rm --no-deps --entrypoint printenv api DATABASE_READ_URL DATABASE_READ_URL_FILE) || true
if [ -n "$replica" ]; then
  echo "the APIs read a replica of $current: unset DATABASE_READ_URL and run deploy/rolling-upgrade.sh api first" >&2
  exit 2
fi

[ "$(psql --command "SELECT 1 FROM pg_database WHERE datname = '$name'" "$current")" = 1 ] ||
  docker compose exec -T postgres createdb --username fx "$name"
in_next $secrets/database_url >$next
on_next --rm migrate

docker rm --force "fx-rebuild-$name" >/dev/null 2>&1 || true
on_next --detach --name "fx-rebuild-$name" worker >/dev/null
echo "indexes chains $chains: docker logs --follow fx-rebuild-$name shows the progress"
# Near the head, and nothing is left to read.
ready="SELECT chain_id FROM cursors JOIN heartbeats USING (chain_id) WHERE head_number - block_number < 50
  AND NOT EXISTS (SELECT FROM log_gaps WHERE log_gaps.chain_id = cursors.chain_id AND state = 'open')
  AND (SELECT count(*) FROM refresh_queue WHERE refresh_queue.chain_id = cursors.chain_id) < 100"
behind="SELECT string_agg(chain_id::text, ' ') FROM unnest('{${chains// /,}}'::int[]) AS held (chain_id)
  WHERE chain_id NOT IN ($ready)"
is_running() { [ -n "$(docker ps --quiet --filter "name=^fx-rebuild-$name\$")" ]; }
shown=$chains
until left=$(psql --command "$behind" "$name") && [ -z "$left" ]; do
  is_running || { echo "the worker ended: docker logs fx-rebuild-$name shows why" >&2; exit 1; }
  [ "$left" = "$shown" ] || echo "waits for chains $left"
  shown=$left
  sleep 2
done
echo "compares the new index with the chains"
on_next --rm worker audit

echo "switches: no worker runs until the end; the APIs answer from the first database"
history=$(psql --command "SELECT epoch FROM change_counter" "$current")
# Once the new database continues the history of the first one, only it may send webhooks.
give_up() {
  carried=$(psql --command "SELECT count(*) FROM feed_epochs WHERE epoch = '$history'" "$name") || carried=unknown
  if [ "$carried" = 0 ]; then
    docker compose start worker
    echo "nothing was switched; the service runs on the first database" >&2
  else
    echo "start no worker, and run this script again: $name may have the webhooks of $current" >&2
  fi
}
trap give_up EXIT
trap 'exit 1' HUP INT TERM
docker compose stop worker
# The worker of the new database goes on until it has every block of the first one.
held=$(psql --command "SELECT string_agg(format('(%s, %s)', chain_id, block_number), ', ') FROM cursors" "$current")
missing="SELECT count(*) FROM (VALUES $held) AS held (chain_id, number) LEFT JOIN cursors USING (chain_id)
  WHERE coalesce(cursors.block_number, -1) < held.number"
deadline=$((SECONDS + ${SWITCH_SECONDS:-120}))
until left=$(psql --command "$missing" "$name") && [ "$left" = 0 ]; do
  is_running
  [ $SECONDS -lt $deadline ] || { echo "the new worker does not reach the blocks of the first one: $held" >&2; exit 1; }
  sleep 1
done
docker stop --time 30 "fx-rebuild-$name" >/dev/null
trap '' HUP INT TERM
on_next --rm --env PREVIOUS_DATABASE_URL_FILE=/run/secrets/database_url worker carry
go_on() {
  cat >&2 <<END
$name has everything, and the switch is not complete. Start no worker on the database $current. Make sure that the URLs
in $secrets/database_url and $secrets/api_database_url name $name, and run:
  docker compose up --detach --no-deps --force-recreate --no-build --wait worker
  deploy/rolling-upgrade.sh
END
}
trap go_on EXIT
docker rm "fx-rebuild-$name" >/dev/null
for secret in database_url api_database_url; do
  in_next $secrets/$secret >$secrets/$secret.part
  mv $secrets/$secret.part $secrets/$secret
done
rm $next
trap - HUP INT TERM
docker compose up --detach --no-deps --force-recreate --no-build --wait --wait-timeout 120 worker
# The jobs of the new database's worker. Those of the service have another prefix.
docker compose exec -T redis sh -c "redis-cli --scan --pattern '$jobs:*' | tr '\\n' '\\0' | xargs -0 -r redis-cli unlink" >/dev/null
# One container after the other.
deploy/rolling-upgrade.sh
trap - EXIT
