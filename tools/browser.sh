#!/bin/sh
# Chromium and Node for the tests of what front ends get, where they are missing (Debian, Ubuntu).
missing=
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || missing="chromium"
command -v node >/dev/null || missing="$missing nodejs"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "tools/browser.sh: install these for the tests of exported bots: $missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null
