#!/usr/bin/env bash
# A private Docker engine for the sandbox tests: no bridge, no firewall rules, own folders.
#
#   scripts/docker_for_tests.sh start    installs what is missing, starts it, builds the image
#   scripts/docker_for_tests.sh env      prints the line that points docker at it (eval it)
#   scripts/docker_for_tests.sh stop     stops it and removes everything it had
#
# Needs root on Debian or Ubuntu. It says so and fails where it cannot: a test that must run is not
# skipped in silence.
set -euo pipefail
cd "$(dirname "$0")/.."

home="${DOCKER_FOR_TESTS_HOME:-/var/lib/coding-framework-docker}"
socket="unix://$home/docker.sock"
image="${SANDBOX_IMAGE:-coding-framework-sandbox}"

fail() { echo "docker_for_tests: $*" >&2; exit 1; }

install_missing() {
    local packages=()
    command -v dockerd >/dev/null || packages+=(docker.io)
    command -v docker >/dev/null || packages+=(docker-cli)
    command -v debootstrap >/dev/null || packages+=(debootstrap)
    command -v bwrap >/dev/null || packages+=(bubblewrap)
    [ ${#packages[@]} -gt 0 ] || return 0
    # Older releases carry the docker command inside docker.io.
    apt-cache show docker-cli >/dev/null 2>&1 || packages=("${packages[@]/docker-cli/docker.io}")
    echo "Installing ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}" tini; } >"$home.apt.log" 2>&1 ||
        { tail -n 20 "$home.apt.log" >&2; fail "apt cannot install ${packages[*]}: install them by hand"; }
    rm -f "$home.apt.log"
}

answers() { DOCKER_HOST="$socket" docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

start() {
    [ "$(id -u)" = 0 ] || fail "an engine needs root"
    mkdir -p "$(dirname "$home")"
    install_missing
    mkdir -p "$home"
    if ! answers; then
        launch overlay2 || launch vfs || { tail -n 20 "$home/engine.log" >&2; fail "the engine does not start"; }
    fi
    DOCKER_HOST="$socket" docker image inspect "$image" >/dev/null 2>&1 ||
        DOCKER_HOST="$socket" scripts/build_sandbox_image.sh "$image"
}

launch() {
    setsid dockerd --bridge=none --iptables=false --ip6tables=false --storage-driver="$1" \
        --data-root="$home/data" --exec-root="$home/exec" --pidfile="$home/engine.pid" -H "$socket" \
        >"$home/engine.log" 2>&1 </dev/null &
    for _ in $(seq 100); do
        if answers; then echo "Docker engine $(DOCKER_HOST="$socket" docker version --format '{{.Server.Version}}') at $socket ($1)"; return 0; fi
        kill -0 $! 2>/dev/null || return 1
        sleep 0.2
    done
    return 1
}

stop() {
    if [ -s "$home/engine.pid" ]; then
        local pid
        pid="$(cat "$home/engine.pid")"
        kill "$pid" 2>/dev/null || true
        for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -9 "$pid" 2>/dev/null || true
    fi
    # What the engine mounted for itself must go before its folder can.
    awk -v home="$home/" 'index($2, home) == 1 {print $2}' /proc/mounts | sort -r |
        while read -r place; do umount -l "$place" || true; done
    rm -rf "$home"
}

case "${1:-}" in
    start) start ;;
    stop) stop ;;
    env) echo "export DOCKER_HOST=$socket" ;;
    *) fail "say start, env or stop" ;;
esac
