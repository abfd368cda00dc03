#!/bin/sh
# The tests, with a screen of their own where there is none, in English, side by side.
set -eu
pytest=".venv/bin/python -m pytest -n ${WORKERS:-2} --dist worksteal"
if [ "$(uname -s)" = Linux ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    export QT_QPA_PLATFORM=offscreen
fi
# shellcheck disable=SC2086
exec $pytest "$@"
