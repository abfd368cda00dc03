#!/bin/sh
# The system's packages for building and testing, where apt can install them.
set -eu
case $(uname -s) in
Linux)
    sudo -n true 2>/dev/null && run="sudo -n" || run=
    $run apt-get update -qq
    # shellcheck disable=SC2046
    $run apt-get install -y -qq --no-install-recommends $(sed 's/#.*//' packaging/system.txt)
    ;;
Darwin | MINGW* | MSYS*) ;; # Python's packages bring all that is needed
esac
