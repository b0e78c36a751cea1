#!/bin/sh
# The Debian package for one release: packaging/deb.sh 12|13, after the wheel is in dist/. Nothing of the release is needed to build it.
set -eu
release=$1
case $release in
    12) python=3.11 next=3.12 brings='' own='' ;;
    # Its own libraries are new enough but for one.
    13) python=3.13 next=3.14 brings=--no-deps own='python3-click, python3-rich, python3-pydantic, python3-numpy, python3-jinja2, ' ;;
    *) echo "error: Debian $release is unknown; known: 12, 13" >&2; exit 2 ;;
esac
PYTHON=${PYTHON:-target/package-venv/bin/python}
wheel=$(ls dist/seekwise-*-manylinux*_x86_64.whl)
version=$(basename "$wheel" | cut -d- -f2)~deb$release
root=target/deb/$release
rm -rf "$root"
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/seekwise" "$root/usr/share/doc/seekwise" "$root/usr/share/lintian/overrides" \
    "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions" \
    "$root/usr/share/fish/vendor_completions.d" "$root/usr/lib/systemd/system"

# Wheels of the Python of that release, whatever Python runs here.
$PYTHON -m pip install --quiet --disable-pip-version-check --no-compile --target "$root/usr/lib/seekwise" \
    --python-version $python --implementation cp --abi cp${python%.*}${python#*.} --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --only-binary=:all: $brings "$wheel" ${brings:+backports.zstd}
rm -rf "$root/usr/lib/seekwise/bin" "$root/usr/lib/seekwise/share"
# No path of the builder: where the wheel lay, and hashes of programs that name the builder's Python and are not here.
rm "$root"/usr/lib/seekwise/seekwise-*.dist-info/direct_url.json
sed -i '/direct_url\.json,/d; /^\.\.\//d' "$root"/usr/lib/seekwise/*.dist-info/RECORD
# Tests, sources and headers of the libraries: a third of their size, used by nobody here.
find "$root/usr/lib/seekwise" -depth -type d \( -name tests -o -name __pycache__ \) -exec rm -rf {} +
find "$root/usr/lib/seekwise" -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' -o -name '*.h' -o -name '*.a' \) -delete
find "$root/usr/lib/seekwise" -type f -name '*.so*' -exec chmod 644 {} +
# Not stripped: `strip` ruins libraries whose paths auditwheel has patched (OpenBLAS no longer loads).
find "$root/usr/lib/seekwise" -type f -name '*.py' -exec chmod 644 {} +

cat > "$root/usr/bin/seekwise" <<'SCRIPT'
#!/usr/bin/python3 -sP
"""seekwise, with the libraries that its package brings."""

import sys

sys.path.insert(0, "/usr/lib/seekwise")
from seekwise.cli.main import main

main()
SCRIPT
chmod 755 "$root/usr/bin/seekwise"

pages=target/pages
cp "$pages"/man/*.1 "$root/usr/share/man/man1/"
gzip -9n "$root"/usr/share/man/man1/*.1
cp "$pages/completions/bash" "$root/usr/share/bash-completion/completions/seekwise"
cp "$pages/completions/zsh" "$root/usr/share/zsh/vendor-completions/_seekwise"
cp "$pages/completions/fish" "$root/usr/share/fish/vendor_completions.d/seekwise.fish"

cp packaging/systemd/* "$root/usr/lib/systemd/system/"

$PYTHON packaging/notice.py --wheels "$root/usr/lib/seekwise" > "$root/usr/share/doc/seekwise/copyright"
cp packaging/debian/overrides "$root/usr/share/lintian/overrides/seekwise"
printf 'seekwise (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' "$version" \
    "Seekwise maintainers <maintainers@seekwise.example>" "$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")" \
    | gzip -9n > "$root/usr/share/doc/seekwise/changelog.gz"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN/"
size=$(du -sk --exclude=DEBIAN "$root" | cut -f1)
sed -e "s/@VERSION@/$version/; s/@PYTHON@/$python/; s/@NEXT@/$next/; s/@SIZE@/$size/; s/@OWN@/$own/" packaging/debian/control > "$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
find "$root/usr/share" "$root/usr/lib/systemd" -type f -exec chmod 644 {} +
mkdir -p dist
dpkg-deb --root-owner-group -Zxz -z1 --build "$root" "dist/seekwise_${version}_amd64.deb"
