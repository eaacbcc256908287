#!/usr/bin/env bash
# Replaces the running processes, or those of the services that it is given, by those of VERSION in .env and of the
# settings as they are now, one container after the other, so that every request is answered:
#   deploy/rolling-upgrade.sh [engine] [worker] [api]
# The image has to exist, and `migrate` to have run. A balancer has to check /readyz more often than every DRAIN_MS. It
# stops at the first replica that does not become healthy, or ready within READY_SECONDS (120), and leaves the others of
# the service as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/version.sh

[ $# -gt 0 ] || set -- engine worker api
for service; do
  containers=$(docker compose ps --quiet "$service")
  [ -n "$containers" ] || echo "$service: none runs"
  for container in $containers; do
    echo "$service: replaces ${container:0:12}"
    # SIGTERM: /readyz returns 503, and the process still answers for DRAIN_MS.
    docker stop --time 30 "$container" >/dev/null
    docker rm "$container" >/dev/null
    # Starts what is missing, from the new image. --no-recreate keeps the replicas of the previous version.
    docker compose up --detach --no-deps --no-recreate --no-build --wait --wait-timeout 120 "$service"
    # Healthy means that it answers. The balancer needs /readyz: 200 when its database and the lag of the index allow.
    if [ "$service" = api ]; then
      replicas=$(docker compose ps --quiet api)
      for replica in $replicas; do
        timeout "${READY_SECONDS:-120}" docker exec --env HEALTH_URL=http://127.0.0.1:3000/readyz "$replica" \
          bash -c 'until bash health.sh 2>/dev/null; do sleep 1; done' || {
          echo "${replica:0:12} is not ready: run this script again when /status shows no lag" >&2
          exit 1
        }
      done
      # For the balancer to notice, before the next one drains.
      sleep "${BALANCER_SECONDS:-10}"
    fi
  done
done
