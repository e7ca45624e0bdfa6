# The image, in two targets: `fluxd` (git, openssh-client, gnupg) and `tools`, which adds what generator commands often
# call: kustomize, helm, sops, git-secret, envsubst.
#
#   docker buildx build --platform linux/amd64,linux/arm64 --target fluxd -t REGISTRY/fluxd:VERSION .
#
# Compilers run on the build machine's architecture and produce the target's. Where no base image can be pulled,
# scripts/image-rootfs makes the same root file system from Debian packages, and its tar file can be imported as BASE.
ARG DEBIAN=bookworm
ARG BASE=debian:${DEBIAN}-slim

FROM --platform=$BUILDPLATFORM rust:1.95-${DEBIAN} AS build
ARG TARGETARCH
WORKDIR /src
RUN set -eu; \
    case "$TARGETARCH" in \
      amd64) triple=x86_64-unknown-linux-gnu; gcc=x86_64-linux-gnu-gcc ;; \
      arm64) triple=aarch64-unknown-linux-gnu; gcc=aarch64-linux-gnu-gcc ;; \
      *) echo "no build for $TARGETARCH" >&2; exit 1 ;; \
    esac; \
    rustup target add "$triple"; \
    if [ "$(dpkg --print-architecture)" != "$TARGETARCH" ]; then \
      apt-get update; apt-get install -y --no-install-recommends "crossbuild-essential-$TARGETARCH"; \
    fi; \
    under=$(echo "$triple" | tr - _); \
    printf 'export CARGO_BUILD_TARGET=%s CARGO_TARGET_%s_LINKER=%s CC_%s=%s\n' \
      "$triple" "$(echo "$under" | tr a-z A-Z)" "$gcc" "$under" "$gcc" >/build-env
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY tests/main.rs tests/main.rs
COPY benches/main.rs benches/main.rs
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target,id=target-$TARGETARCH \
    . /build-env && cargo build --locked --release --bin fluxd && \
    install -D "target/$CARGO_BUILD_TARGET/release/fluxd" /out/fluxd

FROM --platform=$BUILDPLATFORM golang:1.26-${DEBIAN} AS gotools
ARG TARGETARCH
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-trimpath
COPY e2e/tools /tools
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    export GOARCH=$TARGETARCH && mkdir /out && \
    (cd /tools/etcd-kwok-kustomize && go build -ldflags '-s -w' -o /out/ sigs.k8s.io/kustomize/kustomize/v5) && \
    (cd /tools/helm && go build -ldflags '-s -w' -o /out/ helm.sh/helm/v3/cmd/helm) && \
    (cd /tools/sops && go build -ldflags '-s -w' -o /out/ github.com/getsops/sops/v3/cmd/sops)

FROM ${BASE} AS fluxd
COPY deploy/image/packages /tmp/image/packages
RUN apt-get update && \
    apt-get install -y --no-install-recommends $(sed '/^#/d; /^tools:/d' /tmp/image/packages) && \
    rm -rf /var/lib/apt/lists/*
COPY deploy/image /tmp/image
COPY --from=build /out/fluxd /usr/local/bin/fluxd
RUN /tmp/image/setup && rm -rf /tmp/image
# Tools that generators call keep their caches under /tmp, the only writable place of a read-only root.
ENV HOME=/root XDG_CACHE_HOME=/tmp/.cache
WORKDIR /home/flux
USER 65532:65532
EXPOSE 3030
ENTRYPOINT ["/usr/local/bin/fluxd"]

FROM fluxd AS tools
USER 0:0
COPY deploy/image/packages /tmp/packages
RUN apt-get update && \
    apt-get install -y --no-install-recommends $(sed -n 's/^tools://p' /tmp/packages) && \
    rm -rf /var/lib/apt/lists/* /tmp/packages
COPY --from=gotools /out/ /usr/local/bin/
ENV HELM_CONFIG_HOME=/tmp/.helm/config HELM_DATA_HOME=/tmp/.helm/data
USER 65532:65532

# The last target is what a plain `docker build .` makes.
FROM fluxd
