#!/bin/sh
# The static seekwise-drive, into the folder named.
set -eu
out=$1
target=$(rustc -vV | sed -n 's/^host: //p')
# `--target` keeps the flags away from build scripts and macros, which cannot be static.
RUSTFLAGS='-C target-feature=+crt-static -C strip=symbols' cargo build --release --quiet --package seekwise-drive \
    --bin seekwise-drive --target "$target" --target-dir target/static
mkdir -p "$out"
install -m 755 "target/static/$target/release/seekwise-drive" "$out/seekwise-drive"
if ldd "$out/seekwise-drive" 2>/dev/null | grep -q '=>'; then
    echo "error: $out/seekwise-drive is not static" >&2
    exit 1
fi
