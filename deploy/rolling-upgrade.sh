#!/usr/bin/env bash
# Replaces the running processes, or those of the services that it is given, by those of VERSION in .env and of the
# settings as they are now, one container after the other, so that every request is answered:
#   deploy/rolling-upgrade.sh [engine] [worker] [api]
# The image has to exist, and `migrate` to have run. A balancer has to check /readyz more often than every DRAIN_MS. It
# stops at the first replica that does not become healthy, or ready within READY_SECONDS (120), and leaves the others of
# the service as they are. It can be ended and run again: containers that ended, or that are not ready, come first.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/version.sh

# Healthy means that it answers. The balancer needs /readyz of an API: 200 when its database and the lag of the index allow.
is_ready() { # container, and for how many seconds it may become ready
  [ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" = healthy ] || return 1
  [ "$service" != api ] || docker exec --env HEALTH_URL=http://127.0.0.1:3000/readyz "$1" \
    timeout "$2" bash -c 'until bash health.sh 2>/dev/null; do sleep 1; done'
}
# Starts what is missing of the service, from the new image. --no-recreate keeps the replicas of the previous version.
# Waits for all replicas but those that were not ready before and have their turn.
start() {
  docker compose up --detach --no-deps --no-recreate --no-build --wait --wait-timeout 120 "$service"
  [ "$service" = api ] || return 0
  replicas=$(docker compose ps --quiet api)
  for replica in $replicas; do
    case " ${broken[*]-} " in *" $replica "*) continue ;; esac
    is_ready "$replica" "${READY_SECONDS:-120}" || {
      echo "${replica:0:12} is not ready: run this script again when /status shows no lag" >&2
      exit 1
    }
  done
  # For the balancer to notice, before the next one drains.
  sleep "${BALANCER_SECONDS:-10}"
}

[ $# -gt 0 ] || set -- engine worker api
for service; do
  # Ended containers count as replicas of compose, which would start them again as they were.
  ended=$(docker compose ps --all --quiet --status exited --status created --status dead "$service")
  containers=$(docker compose ps --quiet "$service")
  [ -n "$ended$containers" ] || echo "$service: none runs"
  broken=() sound=()
  for container in $containers; do
    if is_ready "$container" 5; then sound+=("$container"); else broken+=("$container"); fi
  done
  if [ -n "$ended" ]; then
    # shellcheck disable=SC2086
    docker rm $ended >/dev/null
    start
  fi
  for container in ${broken[@]+"${broken[@]}"} ${sound[@]+"${sound[@]}"}; do
    echo "$service: replaces ${container:0:12}"
    # SIGTERM: /readyz returns 503, and the process still answers for DRAIN_MS.
    docker stop --time 30 "$container" >/dev/null
    docker rm "$container" >/dev/null
    start
  done
done
