#!/bin/sh
# Installs the wheel as people do, by pipx and by `uv tool`, with every extra, each into a home of its
# own, and asks the program how it was installed.
set -eu
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/tools"
bin=$place/tools/bin
"$bin/python" -m pip --disable-pip-version-check -q install build pipx uv
"$bin/python" -m build -q -w -o "$place" .
wheel=$(echo "$place"/*.whl)
extras=$("$python" -c 'import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"], sep=",")')

asked() { # by "pipx" or "uv tool", the command at $2
    told=$(AGENT_STUDIO_HOME="$place/home" "$2" doctor --offline) || true
    echo "$told" | grep -E "^. (Program|Installation|Built-in model)"
    echo "$told" | grep -q "$1, in " || exit 1
    AGENT_STUDIO_HOME="$place/home" "$2" run --provider simulator --agent Plain Hello > "$place/said"
    grep -q . "$place/said"
}

export PIPX_HOME="$place/pipx" PIPX_BIN_DIR="$place/pipx/bin"
"$bin/pipx" install --python "$python" "$wheel[$extras]" > "$place/said"
asked pipx "$PIPX_BIN_DIR/agent-studio"
"$bin/pipx" uninstall agent-studio > "$place/said"
[ ! -e "$PIPX_BIN_DIR/agent-studio" ]

export UV_TOOL_DIR="$place/uv" UV_TOOL_BIN_DIR="$place/uv/bin"
"$bin/uv" -q tool install --python "$("$python" -c 'import sys; print(sys.executable)')" "$wheel[$extras]"
asked "uv tool" "$UV_TOOL_BIN_DIR/agent-studio"
"$bin/uv" -q tool uninstall agent-studio
[ ! -e "$UV_TOOL_BIN_DIR/agent-studio" ]
echo "pipx and uv install it"
