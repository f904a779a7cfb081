# syntax=docker/dockerfile:1
# The program `brocot`, by default as the daemon. Where the database is comes from the environment: BROCOT_DATABASE_URL,
# or PGHOST, PGUSER, PGPASSWORD, PGDATABASE.

FROM swift:6.3-bookworm AS build
RUN apt-get update --quiet \
    && apt-get install --yes --quiet --no-install-recommends libpq-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The cache keeps what was compiled from one build of the image to the next.
RUN --mount=type=cache,target=/source/.build \
    swift build -c release --product brocot -Xswiftc -static-stdlib -Xlinker --strip-all \
    && cp "$(swift build -c release --show-bin-path)/brocot" /usr/local/bin/brocot

FROM debian:bookworm-slim
RUN apt-get update --quiet \
    && apt-get install --yes --quiet --no-install-recommends ca-certificates libpq5 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home brocot
COPY --from=build /usr/local/bin/brocot /usr/local/bin/brocot
USER 10001
# Fails where the database can't be reached or its schema is not the one that this program needs.
HEALTHCHECK --interval=30s --timeout=10s --start-period=70s CMD ["brocot", "migrate", "status"]
ENTRYPOINT ["brocot"]
CMD ["daemon"]
