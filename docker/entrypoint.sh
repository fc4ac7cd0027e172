#!/bin/sh
# Starts Ready Room as the node user. A state folder that Docker made for a bind mount belongs to root: it is handed over
# first. Also what `docker exec` and `docker run` call: `docker exec readyroom readyroom status`.
set -eu
# A blank variable, as a compose file makes of one that is not set, means what the image says.
export READYROOM_STATE_DIR="${READYROOM_STATE_DIR:-/app/.state}" READYROOM_BIND="${READYROOM_BIND:-0.0.0.0}"
state=$READYROOM_STATE_DIR

if [ "$(id -u)" != 0 ]; then exec node /app/readyroom.mjs "$@"; fi

say () { echo "readyroom: $*" >&2; exit 1; }

if ! setpriv --reuid=node --regid=node --init-groups true 2>/dev/null; then
  say "started as root without the right to become another user, and root it must not stay." \
    "Start it with --user 1000:1000 on a state folder of that user, or give it --cap-add SETUID --cap-add SETGID --cap-add CHOWN."
fi

# The folder and what Ready Room keeps in it, and nothing else: whoever sets the variable to a folder with more in it
# keeps the rest. Nothing is followed, and no file that has a second name is touched.
theirs () {
  find "$state" -maxdepth 0 -type d ! -user node
  find "$state/" -mindepth 1 -maxdepth 1 -type f -links 1 ! -user node \
    \( -name 'audit.jsonl*' -o -name 'tickets.json*' -o -name 'index.db*' -o -name 'daemon.json*' -o -name 'daemon.lock*' -o -name linger.log \)
}

[ -e "$state" ] || mkdir -p "$state" 2>/dev/null || true
# One that is empty was made for this, and becomes as private as Ready Room makes its own.
if [ -d "$state" ] && [ -O "$state" ] && [ -z "$(ls -A "$state")" ]; then chmod 700 "$state" 2>/dev/null || true; fi
if [ -d "$state" ] && [ -n "$(theirs 2>/dev/null)" ]; then
  theirs | while IFS= read -r path; do
    chown -h node:node "$path" 2>/dev/null || echo "readyroom: $path is not the node user's (uid $(id -u node)), and cannot be made so: chown it outside" >&2
  done
fi

export HOME=/home/node
exec setpriv --no-new-privs --reuid=node --regid=node --init-groups node /app/readyroom.mjs "$@"
