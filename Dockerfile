FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

# Names of receivers are looked up on these threads (decision 0017).
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16
WORKDIR /app

# The image brings Node.js and talks to real servers: neither the optional packages nor any install script is needed.
COPY package.json package-lock.json ./
COPY packages packages
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force

COPY LICENSE ./
COPY engine engine
COPY streams streams
COPY contracts contracts
COPY commands commands
COPY projections projections
COPY processes processes
COPY read-api read-api
COPY platform platform
COPY embedded embedded
COPY app app

RUN mkdir /data .compiled && chown node:node /data .compiled
USER node
# Without its variables the program loads all that it runs, names them and ends. What it compiled is kept for each start.
ENV NODE_COMPILE_CACHE=/app/.compiled
RUN ! node app/main.ts serve 2> /tmp/said && grep -q 'set them in the environment' /tmp/said && rm /tmp/said && test -n "$(ls .compiled)"
EXPOSE 8080
ENTRYPOINT ["node", "app/main.ts"]
CMD ["serve"]
