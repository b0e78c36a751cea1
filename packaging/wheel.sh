#!/bin/sh
# The three wheels, into dist/: the product and the proof abi3, manylinux2014.
# BUILD is a virtual environment of its own.
set -eu
BUILD=${BUILD:-target/package-venv}
[ -x "$BUILD/bin/maturin" ] || { ${PYTHON:-python3} -m venv "$BUILD" && "$BUILD/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.7,<2' ziglang; }
export PATH="$PWD/$BUILD/bin:$PATH"
out=$PWD/dist target=$PWD/target/wheel
for folder in . proof; do
    (cd "$folder" && maturin build --profile dist --strip --zig --compatibility manylinux2014 --out "$out" --target-dir "$target" --quiet)
done
pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist ./papers
