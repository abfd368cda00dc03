#!/bin/sh
# The tests, in English, side by side; where there is no screen, tests/conftest.py makes one.
set -eu
pytest=".venv/bin/python -m pytest -n ${WORKERS:-4} --dist worksteal"
# shellcheck disable=SC2086
exec $pytest "$@"
