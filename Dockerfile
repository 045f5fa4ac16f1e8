# A node, or any other command of coind: docker run … coind start. See README.md. `--target explorer` builds an explorer of a node's chain.
ARG NODE_IMAGE=node:26-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
# No install script of any package runs. Among the optional packages are the bundler's native part, tools of development, and a Node.js
# for older systems.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY assembly ./assembly
COPY scripts ./scripts
COPY bin ./bin
COPY src ./src
COPY explorer ./explorer
RUN npm run build && node scripts/imageFiles.js

# The system and Node.js, without headers, package managers and their caches, manuals and translations. Licences stay.
FROM ${NODE_IMAGE} AS system
RUN rm -rf /usr/local/include /usr/local/lib/node_modules /usr/local/share/doc /usr/local/share/man /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    /usr/local/CHANGELOG.md /usr/local/README.md /var/cache/* /var/lib/apt/lists/* /var/log/* \
    /usr/share/man /usr/share/locale /usr/share/info \
  && find /usr/share/doc -type f ! -name copyright -delete

# In one layer of its own: what the stage above removed would be in the image otherwise.
FROM scratch AS software
COPY --from=system / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV NODE_ENV=production HOMEDIR=/var/lib/coind NODE_COMPILE_CACHE=/tmp/coind-compiled
# As in bin/coind.js, which then need not set them.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=65536
# In the volume: a key beside it would go with the container.
ENV COIND_KEYSTORE=/var/lib/coind/keys
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY package.json LICENSE /app/
COPY bin /app/bin
COPY docker/healthCheck.js /app/docker/
RUN mkdir -m 0700 "$HOMEDIR" && chown node:node "$HOMEDIR" && ln -s /app/bin/coind.js /usr/local/bin/coind
USER node
WORKDIR /var/lib/coind
VOLUME /var/lib/coind
STOPSIGNAL SIGTERM
ENTRYPOINT ["coind"]

FROM software AS explorer
ENV EXPLORER_DATABASE=/var/lib/coind/explorer.sqlite EXPLORER_COMPILER_CACHE=/var/lib/coind/compilers
EXPOSE 8090
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/docker/healthCheck.js", "8090"]
CMD ["explorer"]

FROM software
EXPOSE 8080 26656
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/docker/healthCheck.js"]
CMD ["start"]
