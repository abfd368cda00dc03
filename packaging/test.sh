#!/bin/sh
# The tests, in English, side by side: a third of their time is waiting, so two cores carry six
# workers. Where there is no screen, tests/conftest.py makes one.
set -eu
. packaging/apt.sh

missing= # Debian's packages with programs that tests need; where others are missing, they are skipped
if [ "$(uname -s)" = Linux ]; then
    for program in curl:curl xz:xz-utils; do
        command -v "${program%:*}" >/dev/null || missing="$missing ${program#*:}"
    done
fi
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086
    if ! { may_install && echo "Installing what the tests need:$missing" && install $missing; }; then
        echo "The tests need programs that are missing here. On Debian: sudo apt-get install$missing" >&2
        exit 1
    fi
fi

bin=.venv/bin
[ -d "$bin" ] || bin=.venv/Scripts # on Windows
pytest="$bin/python -m pytest -n ${WORKERS:-6} --dist worksteal"
# shellcheck disable=SC2086
exec $pytest "$@"
