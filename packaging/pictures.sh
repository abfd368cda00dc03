#!/bin/sh
# Draws every page and state in English and German, both themes, on an X11 screen with a window
# manager: build/pictures, with an index.html. Further arguments go to pytest (-k agents).
set -eu
for program in Xvfb openbox; do
    command -v "$program" >/dev/null || { echo "Install $program first." >&2; exit 1; }
done
folder=$PWD/build/pictures
failed=0
number=90
while [ -e "/tmp/.X$number-lock" ]; do number=$((number + 1)); done
export DISPLAY=":$number" QT_QPA_PLATFORM=xcb
Xvfb "$DISPLAY" -screen 0 1600x1000x24 -nolisten tcp >/dev/null 2>&1 &
screen=$!
manager=
trap 'kill $manager $screen 2>/dev/null || true' EXIT
while [ ! -e "/tmp/.X11-unix/X$number" ]; do sleep 0.1; done
openbox >/dev/null 2>&1 &
manager=$!
for language in en de; do
    AGENT_STUDIO_SCREENSHOTS="$folder/$language" AGENT_STUDIO_LANGUAGE=$language \
        .venv/bin/python -m pytest -q -p no:xdist tests/ui/test*_screenshots.py \
        tests/packs/kanzlei/test_pictures.py "$@" || failed=1
done
.venv/bin/python packaging/pictures_index.py "$folder"
exit $failed
