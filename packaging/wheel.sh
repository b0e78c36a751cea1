#!/bin/sh
# The wheel, into dist/: abi3, manylinux2014, with the static seekwise-drive as a script. BUILD is a virtual environment of its own.
set -eu
BUILD=${BUILD:-target/package-venv}
[ -x "$BUILD/bin/maturin" ] || { ${PYTHON:-python3} -m venv "$BUILD" && "$BUILD/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.7,<2' ziglang; }
sh packaging/drive.sh dist
rm -rf target/wheel-out
PATH=$BUILD/bin:$PATH "$BUILD/bin/maturin" build --release --strip --zig --compatibility manylinux2014 --out target/wheel-out --target-dir target/wheel --quiet
${PYTHON:-python3} packaging/repack.py whole target/wheel-out/seekwise-*.whl dist dist/seekwise-drive
