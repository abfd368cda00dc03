#!/bin/sh
# The steps of a release, each as `.github/workflows` calls it and as it runs at a desk:
#   release.sh tag TAG | test | packages | debian OUT | notes [TAG]
#   release.sh gather ARTIFACTS FOLDER | sign FOLDER | sums FOLDER | draft TAG FOLDER | key FILE
#   release.sh fresh | oldest | majors | installers
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

uv_environment() { # a new .venv, for one that pip does not make as wanted
    rm -rf .venv
    "$python" -m venv .venv
    bin=.venv/bin
    [ -d "$bin" ] || bin=.venv/Scripts # on Windows
    "$bin/python" -m pip --disable-pip-version-check -q install uv
}

uv_install() {
    "$bin/uv" pip install -q -p "$bin/python" "$@"
}

test_as_it_is() { # with the model, and without bringing anything up to date
    uv_install --no-deps "$("$bin/python" packaging/definition.py model)"
    "$bin/uv" pip list -p "$bin/python"
    touch .venv/.ready
    make test PYTHON="$python"
}

case ${1:-} in
tag) # before anything else: whether it is of this version, and CHANGELOG.md has its section
    "$python" packaging/notes.py "${2:?which tag}" > /dev/null
    ;;
test)
    make check PYTHON="$python"
    make test PYTHON="$python"
    ;;
packages) # where the tests of the packages need something that a system lacks, that is an error
    [ "$(uname -s)" != Linux ] || export STRICT=1
    sh packaging/packages.sh
    ;;
debian) # the .deb files of OUT/dist in a bare Debian; `packages` does it too, but in the pipeline
    [ "$(id -u)" = 0 ] && as_root= || as_root="sudo -n"
    $as_root env PATH="$PATH" STRICT=1 "$python" packaging/try_debian.py "${2:?which folder}"
    ;;
notes)
    "$python" packaging/notes.py "${2:-}"
    ;;
gather) # the packages of all systems in one folder; wheel and source archive are Linux's alone
    mkdir -p "$3"
    rm -f "$3/SHA256SUMS"
    for file in "$2"/*/*; do
        system=$(basename "$(dirname "$file")")
        case $system/${file##*/} in
        pictures-*/* | */SHA256SUMS) continue ;;
        linux/*) ;;
        */*.whl | */agent_studio-*.tar.gz) continue ;;
        esac
        if [ -e "$3/${file##*/}" ] && ! cmp -s "$file" "$3/${file##*/}"; then
            echo "$file has the name of another file in $3." >&2
            exit 1
        fi
        cp "$file" "$3/"
    done
    ;;
key) # a new key for the file that programs ask for the newest version, see updates.py
    "$python" packaging/updates.py key "$2"
    ;;
sign) # that file, about this version, as updates.json in the folder
    "$python" packaging/updates.py sign "$2/updates.json"
    ;;
sums) # of all that is in the folder
    rm -f "$2/SHA256SUMS"
    sums=$(cd "$2" && sha256sum -- *)
    printf '%s\n' "$sums" > "$2/SHA256SUMS"
    ;;
draft) # of a release on GitHub, which a person looks at and publishes
    "$python" packaging/notes.py "$2" > "$3.notes.md"
    case ${2#v} in
    *[a-z]*) before=true ;; # such as v1.0rc1
    *) before=false ;;
    esac
    gh release create "$2" --draft --verify-tag --prerelease=$before --notes-file "$3.notes.md" "$3"/*
    ;;
fresh) # the newest of everything that pyproject.toml allows, whatever was tested before
    rm -rf .venv
    make check PYTHON="$python"
    .venv/bin/python -m pip --disable-pip-version-check list
    make test PYTHON="$python"
    ;;
oldest) # and the oldest
    uv_environment
    uv_install --resolution lowest-direct -e ".[$("$python" packaging/definition.py test-extras)]" --group dev
    test_as_it_is
    ;;
majors) # and what it does not allow yet: the newest that fit together, without its upper bounds
    uv_environment
    "$python" packaging/majors.py > .venv/majors.txt
    uv_install -r .venv/majors.txt
    uv_install --no-deps -e .
    "$bin/python" packaging/majors.py above
    test_as_it_is
    ;;
installers) # pipx and uv, with every extra
    sh packaging/try_installers.sh
    ;;
*)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
