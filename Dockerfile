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
COPY web ./web
RUN npm run build \
  && npm prune --ignore-scripts --omit=dev --omit=optional --no-audit --no-fund \
  && find node_modules -type d -path '*/prebuilds/*' ! -name "linux-*$(node -p process.arch)*" -prune -exec rm -r {} + \
  && find node_modules dist -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM ${NODE_IMAGE} AS software
ENV NODE_ENV=production HOMEDIR=/var/lib/coind NODE_COMPILE_CACHE=/tmp/coind-compiled
# In the volume: a key beside it would go with the container.
ENV COIND_KEYSTORE=/var/lib/coind/keys
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY package.json package-lock.json LICENSE /app/
COPY bin /app/bin
COPY assembly /app/assembly
COPY docker/healthCheck.js /app/docker/
COPY src /app/src
COPY explorer /app/explorer
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
