#!/usr/bin/env bash
# Builds the image of the Docker sandbox: a minimal Debian with Python, nothing else.
#
#   scripts/build_sandbox_image.sh [IMAGE]        (default: coding-framework-sandbox)
#
# Needs root, debootstrap and a running engine (DOCKER_HOST is honoured). DEBIAN_MIRROR and
# DEBIAN_SUITE choose where from and which; by default this machine's own, else Debian's.
set -euo pipefail

image="${1:-coding-framework-sandbox}"
. /etc/os-release
default_suite=stable
if [ "${ID:-}" = debian ] && [ -n "${VERSION_CODENAME:-}" ]; then default_suite="$VERSION_CODENAME"; fi
suite="${DEBIAN_SUITE:-$default_suite}"

configured_mirror() {
    local found=""
    if [ "${ID:-}" = debian ]; then
        found="$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
            grep -Ev '^ *#' | grep -v security | grep -oE '(https?|file|copy)://?[^ ]+' | head -n 1 || true)"
    fi
    echo "${found:-http://deb.debian.org/debian}"
}
mirror="${DEBIAN_MIRROR:-$(configured_mirror)}"

if [ "$(id -u)" != 0 ]; then echo "build_sandbox_image: needs root (debootstrap makes a system)" >&2; exit 1; fi
for tool in debootstrap docker; do
    command -v "$tool" >/dev/null || { echo "build_sandbox_image: no $tool; apt-get install $tool" >&2; exit 1; }
done
docker version --format '{{.Server.Version}}' >/dev/null ||
    { echo "build_sandbox_image: no Docker engine answers; start one or set DOCKER_HOST" >&2; exit 1; }

root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
echo "Building $image from $suite at $mirror (under a minute)"
log="$root.log"
if ! debootstrap --variant=minbase --include=python3-minimal "$suite" "$root/system" "$mirror" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
rm -rf "$root"/system/var/cache/apt/* "$root"/system/var/lib/apt/lists/* "$root"/system/usr/share/doc
tar -C "$root/system" --numeric-owner -c . | docker import - "$image" >/dev/null
docker image inspect --format "$image: {{.Size}} bytes" "$image"
