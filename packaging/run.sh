#!/bin/sh
# Opens the studio; with no display, one real turn in the terminal.
set -eu
bin=.venv/bin
[ -d "$bin" ] || bin=.venv/Scripts # on Windows
if [ "$(uname -s)" != Linux ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    exec "$bin/agent-studio"
fi
message="List the files here and tell me what README.md says."
echo "There is no display, so the window cannot open."
echo "The built-in model takes one turn here instead. It is small and often wrong,"
echo "and good for listing, reading and searching files only."
echo
echo "> $message"
exec "$bin/agent-studio" run --provider builtin --agent Assistant --folder resources/demo "$message"
