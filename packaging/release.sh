#!/bin/sh
# The steps of a release, each as `.github/workflows` calls it and as it runs at a desk:
#   release.sh test | packages | notes [TAG] | gather ARTIFACTS FOLDER | fresh
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

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
fresh) # the newest of everything that pyproject.toml allows, whatever was tested before
    rm -rf .venv
    make check PYTHON="$python"
    .venv/bin/python -m pip --disable-pip-version-check list
    make test PYTHON="$python"
    ;;
*)
    echo "One of: test, packages, notes, gather, fresh" >&2
    exit 2
    ;;
esac
