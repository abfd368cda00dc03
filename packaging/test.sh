#!/bin/sh
# The tests, in English, side by side: a third of their time is waiting, so two cores carry six
# workers. Where there is no screen, tests/conftest.py makes one.
set -eu
bin=.venv/bin
[ -d "$bin" ] || bin=.venv/Scripts # on Windows
pytest="$bin/python -m pytest -n ${WORKERS:-6} --dist worksteal"
# shellcheck disable=SC2086
exec $pytest "$@"
