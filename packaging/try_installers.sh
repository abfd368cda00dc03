#!/bin/sh
# Installs the wheel as people do, by pipx and by `uv tool`, with every extra, each into a home of its
# own. The program says how it was installed and how the built-in model comes there; it is installed
# by that command and answers, and every extra can be imported.
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
export PATH="$bin:$PATH" PYTHONUTF8=1

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

doctor() { # what the command at $1 says of $2: how it is, what is so, what to do
    { "$1" doctor --offline --json || true; } | "$python" -c 'import json, sys
for one in json.load(sys.stdin):
    if one["name"] == sys.argv[1]:
        print(one["state"], one["text"], one["advice"], sep="\n")' "$2"
}

tried() { # by $1, "pipx" or "uv tool", with the command at $2 and the Python at $3
    told=$(doctor "$2" Installation)
    echo "$told"
    case $told in
    *"$1, in "*) ;;
    *) fail "The doctor does not know that $1 installed it." ;;
    esac
    "$3" packaging/try_extras.py
    command=$(doctor "$2" "Built-in model" | sed -n 's/.*Type: //p')
    [ -n "$command" ] || fail "The doctor does not say how the built-in model is installed."
    echo "$command"
    sh -c "$command" > "$place/said" 2>&1 || fail "$(cat "$place/said")"
    told=$(doctor "$2" "Built-in model")
    echo "$told"
    [ "$(echo "$told" | head -n 1)" = ok ] || fail "The built-in model is not there."
    "$2" run --provider builtin --agent Plain Hello > "$place/said"
    grep -q . "$place/said" || fail "The built-in model says nothing."
}

export AGENT_STUDIO_HOME="$place/home-pipx" PIPX_HOME="$place/pipx" PIPX_BIN_DIR="$place/pipx/bin"
pipx install --python "$python" "$wheel[$extras]" > "$place/said"
tried pipx "$PIPX_BIN_DIR/agent-studio" "$PIPX_HOME/venvs/agent-studio/bin/python"
pipx uninstall agent-studio > "$place/said"
[ ! -e "$PIPX_BIN_DIR/agent-studio" ]

export AGENT_STUDIO_HOME="$place/home-uv" UV_TOOL_DIR="$place/uv" UV_TOOL_BIN_DIR="$place/uv/bin"
uv -q tool install --python "$("$python" -c 'import sys; print(sys.executable)')" "$wheel[$extras]"
tried "uv tool" "$UV_TOOL_BIN_DIR/agent-studio" "$UV_TOOL_DIR/agent-studio/bin/python"
uv -q tool uninstall agent-studio
[ ! -e "$UV_TOOL_BIN_DIR/agent-studio" ]
echo "pipx and uv install it, with every extra and the built-in model"
