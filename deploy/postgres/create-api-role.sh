#!/bin/sh
# Creates the role of API and engine processes, which reads and writes nothing: the migrate command grants it the tables.
# PostgreSQL runs this file when it creates the database. For an older database, run it once:
#   docker compose exec postgres sh /docker-entrypoint-initdb.d/create-api-role.sh
set -eu
# psql reads the password itself: the arguments of a process can be read by other accounts of the machine.
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 << 'SQL'
\set password `cat /run/secrets/api_password`
CREATE ROLE fx_api LOGIN PASSWORD :'password';
SQL
