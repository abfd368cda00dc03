#!/bin/sh
# Opens the studio; with no display, one real turn in the terminal.
set -eu
bin=.venv/bin
if [ "$(uname -s)" != Linux ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    exec "$bin/agent-studio"
fi
echo "There is no display, so the window cannot open. The built-in model takes one turn here instead."
echo "It is small and often wrong."
echo
echo "> What files are in this folder, and what does README.md say?"
exec "$bin/agent-studio" run --provider builtin --agent Assistant --folder resources/demo \
    "List the files here and tell me what README.md says"
