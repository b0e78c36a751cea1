#!/bin/sh
# The wheel, into dist/: abi3, manylinux2014. BUILD is a virtual environment of its own.
set -eu
BUILD=${BUILD:-target/package-venv}
[ -x "$BUILD/bin/maturin" ] || { ${PYTHON:-python3} -m venv "$BUILD" && "$BUILD/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.7,<2' ziglang; }
PATH=$BUILD/bin:$PATH "$BUILD/bin/maturin" build --release --strip --zig --compatibility manylinux2014 --out dist --target-dir target/wheel --quiet
