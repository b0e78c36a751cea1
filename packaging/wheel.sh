#!/bin/sh
# The three wheels, into dist/: the product and the proof abi3; the product for every one of TARGETS (glibc as manylinux2014, musl as
# musllinux_1_2), but for those whose standard library rustup cannot bring. BUILD is a virtual environment of its own. No path of the builder is in them, and the same sources give the same bytes.
set -eu
BUILD=${BUILD:-target/package-venv}
[ -x "$BUILD/bin/maturin" ] || { ${PYTHON:-python3} -m venv "$BUILD" && "$BUILD/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2' 'setuptools>=77' wheel ziglang; }
export PATH="$PWD/$BUILD/bin:$PATH"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$PWD=/seekwise --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$(rustc --print sysroot)=/rust"
out=$PWD/dist target=$PWD/target/wheel
host=$(uname -m)-unknown-linux-gnu
for each in ${TARGETS:-$host}; do
    [ "$each" = "$host" ] || rustup --quiet target add "$each" || { echo "no wheel for $each: its Rust standard library is not here, rustup could not add it" >&2; continue; }
    case $each in *-musl) oldest=musllinux_1_2 ;; *) oldest=manylinux2014 ;; esac
    maturin build --profile dist --strip --zig --compatibility $oldest --target "$each" --out "$out" --target-dir "$target" --quiet
done
(cd proof && maturin build --profile dist --strip --zig --compatibility manylinux2014 --target "$host" --out "$out" --target-dir "$target" --quiet)
# Man pages and completions, from the commands of the wheel itself, where installers put them below a prefix.
pages=$PWD/target/pages
wheel=$(ls "$out"/seekwise-*-manylinux*_"$(uname -m)".whl)
pip install --quiet --disable-pip-version-check "$wheel"
pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
rm -rf "$pages" && "$BUILD/bin/python" packaging/pages.py "$pages"
for wheel in "$out"/seekwise-*.whl "$out"/seekwise_proof-*.whl; do
    rm -rf target/unpacked && wheel unpack --dest target/unpacked "$wheel" >/dev/null
    inside=$(echo target/unpacked/*)
    # The list of crates names our own by where they were built.
    sed -i "s#path+file://$PWD/#path+file:///seekwise/#g" "$inside"/*.dist-info/sboms/*.json
    cp "$inside"/*.dist-info/sboms/*.json "$out/${inside##*/}.cyclonedx.json"
    if [ "${inside##*/seekwise-}" != "$inside" ]; then
        share=$inside/${inside##*/}.data/data/share
        mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
        cp "$pages"/man/*.1 "$share/man/man1/"
        cp "$pages/completions/bash" "$share/bash-completion/completions/seekwise"
        cp "$pages/completions/zsh" "$share/zsh/site-functions/_seekwise"
        cp "$pages/completions/fish" "$share/fish/vendor_completions.d/seekwise.fish"
    fi
    rm "$wheel"
    wheel pack --dest-dir "$out" "$inside" >/dev/null
done
pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist ./papers
