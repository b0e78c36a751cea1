#!/bin/sh
# System packages that the build and the measurement need: installs them as root, otherwise prints the one line to run.
set -eu
PYTHON=${PYTHON:-python3}
packages=''
need() { packages="$packages $1"; }

command -v fio >/dev/null || need fio
command -v cc >/dev/null || need gcc
"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || need python3-venv
# Debian 12's `cargo` is 1.63; its `cargo-web`, kept for browsers, is new enough.
rust=cargo
[ "$(. /etc/os-release 2>/dev/null; echo "${ID:-}${VERSION_ID:-}")" != debian12 ] || rust=cargo-web
command -v cargo >/dev/null || need $rust

# Only for the laboratory; without it its tests say so and are skipped.
[ "$(id -u)" != 0 ] || command -v qemu-system-x86_64 >/dev/null || need qemu-system-x86

if [ -n "$packages" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing:$packages"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
    else
        echo "missing packages; run this line, then make again:" >&2
        echo "  sudo apt-get install -y$packages" >&2
        exit 4
    fi
fi

# What an older cargo says is about the format of a file.
declared=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
version=$(cargo --version | cut -d ' ' -f 2)
if ! printf '%s\n%s\n' "$declared" "$version" | sort --version-sort --check=quiet; then
    have=''
    [ $rust = cargo ] || have="sudo apt-get install -y $rust, or "
    echo "cargo $version is too old; Rust $declared or newer is needed: ${have}https://rustup.rs installs one, then make again" >&2
    exit 4
fi
