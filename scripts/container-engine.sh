#!/usr/bin/env bash
# A container engine for `npm run test:container` where there is none, and no image registry to pull from: Debian's
# packages, and a stand-in for the base image made of them and of Node from npm. As root, on Debian 12, amd64.
#
#   eval "$(scripts/container-engine.sh up)"    starts what is missing, and prints what a shell needs to use it
#   scripts/container-engine.sh down            stops what `up` started and removes its network; keeps the images
#   scripts/container-engine.sh clean           the same, and removes the images
#
# READYROOM_ENGINE_DIR (default: readyroom-engine in the temporary folder) holds everything. The images are for tests: they
# trust the certificates that this machine trusts, and are not for shipping.
set -euo pipefail

home=${READYROOM_ENGINE_DIR:-${TMPDIR:-/tmp}/readyroom-engine}
tag=node:24-bookworm-slim
suite=bookworm
# Debian's client: its build knows BuildKit without a plugin.
docker=/usr/bin/docker
export DOCKER_HOST=unix://$home/docker.sock DOCKER_BUILDKIT=1 DOCKER_CONFIG=$home/config

note () { echo "container-engine: $*" >&2; }
die () { note "$*"; exit 1; }
# A pid that belongs to another program by now is not ours.
runs () { local pid; pid=$(cat "$home/$1.pid" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "${1:0:15}" ]; }
until_true () { local what=$1; shift; for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done; die "waited 40 s for $what"; }

install_packages () {
  local missing=() name
  for name in docker.io docker-compose mmdebstrap qemu-user-static binfmt-support arch-test docker-registry curl; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  note "installing ${missing[*]}"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -qy --no-install-recommends "${missing[@]}"; } \
    >"$home/apt.log" 2>&1 || die "apt-get failed; see $home/apt.log"
}

start_registry () {
  runs docker-registry && return
  # The port stays the same: the engine is told it once, as the mirror of what it would pull from elsewhere.
  [ -s "$home/port" ] || node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })' >"$home/port"
  printf 'version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: "%s/registry"}}\nhttp: {addr: "127.0.0.1:%s"}\n' "$home" "$(cat "$home/port")" >"$home/registry.yml"
  setsid docker-registry serve "$home/registry.yml" >"$home/registry.log" 2>&1 </dev/null &
  echo $! >"$home/docker-registry.pid"
  until_true 'the registry' curl -sf "http://127.0.0.1:$(cat "$home/port")/v2/"
}

start_engine () {
  runs dockerd && return
  ip link show docker0 >/dev/null 2>&1 || touch "$home/bridge-is-ours"
  # Ports are mapped by the engine's own proxy, and builds use the host's network: no packet filter is touched.
  setsid dockerd --data-root "$home/data" --exec-root "$home/exec" --pidfile "$home/dockerd.pid" -H "$DOCKER_HOST" \
    --iptables=false --ip-masq=false --ip-forward=false --registry-mirror "http://127.0.0.1:$(cat "$home/port")" >"$home/dockerd.log" 2>&1 </dev/null &
  until_true "the engine (see $home/dockerd.log)" $docker version
}

emulate_arm64 () {
  mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || update-binfmts --enable qemu-aarch64 >/dev/null 2>&1 || update-binfmts --import qemu-aarch64
}

# base_image ARCHITECTURE NAME-IN-NPM: a Debian with Node, npm and the user `node`, as a file that the engine loads.
base_image () {
  local arch=$1 npm_arch=$2 work root
  work=$(mktemp -d -p "$home")
  root=$work/root
  note "making $tag for $arch"
  # The packages are unpacked and not configured, which needs no emulation; what their scripts would do follows by hand.
  mmdebstrap --quiet --variant=extract --architectures="$arch" --include='?essential' --include=ca-certificates,libstdc++6,libatomic1 \
    --aptopt='APT::Sandbox::User "root"' "$suite" "$root" "$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" | head -n 1)" \
    >"$home/$arch.log" 2>&1 || die "mmdebstrap failed; see $home/$arch.log"
  local file
  for file in passwd group; do [ -s "$root/etc/$file" ] || cp "$root/usr/share/base-passwd/$file.master" "$root/etc/$file"; done
  echo 'node:x:1000:1000::/home/node:/bin/bash' >>"$root/etc/passwd"
  echo 'node:x:1000:' >>"$root/etc/group"
  printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
  install -d -m 1777 "$root/tmp"
  install -d "$root/usr/local/bin" "$root/usr/local/lib/node_modules/npm" "$root"/{proc,sys,dev,run} "$root/etc/ssl/certs"
  install -d -o 1000 -g 1000 "$root/home/node"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  (cd "$work" && npm pack --silent "node-linux-$npm_arch@24" npm@11 >/dev/null)
  tar -xzf "$work"/node-linux-*.tgz -C "$root/usr/local" --strip-components=1 package/bin/node
  tar -xzf "$work"/npm-*.tgz -C "$root/usr/local/lib/node_modules/npm" --strip-components=1
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  chmod 755 "$root"/usr/local/lib/node_modules/npm/bin/np?-cli.js
  chown -R 0:0 "$root/usr/local"
  tar -C "$root" --numeric-owner -cf "$work/layer.tar" --exclude='./dev/*' --exclude='./var/cache/apt/archives/*' --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' .
  printf '{"architecture":"%s","os":"linux","config":{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt"],"Cmd":["node"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$arch" "$(sha256sum "$work/layer.tar" | cut -d' ' -f1)" >"$work/config.json"
  printf '[{"Config":"config.json","RepoTags":["base:%s"],"Layers":["layer.tar"]}]' "$arch" >"$work/manifest.json"
  tar -C "$work" -cf - manifest.json config.json layer.tar | $docker load >/dev/null
  rm -rf "$work"
}

# Both under the one name that the Dockerfile asks for, so that --platform chooses.
base_images () {
  local repository arch
  repository=127.0.0.1:$(cat "$home/port")/library/${tag%%:*}
  [ ! -e "$home/bases-are-there" ] || return 0
  base_image amd64 x64
  base_image arm64 arm64
  for arch in amd64 arm64; do
    $docker tag "base:$arch" "$repository:$arch"
    $docker push -q "$repository:$arch" >/dev/null
    $docker rmi "$repository:$arch" "base:$arch" >/dev/null
  done
  rm -rf "$home/config/manifests"
  $docker manifest create --insecure "$repository:${tag##*:}" "$repository:amd64" "$repository:arm64" >/dev/null
  $docker manifest annotate --arch arm64 --variant v8 "$repository:${tag##*:}" "$repository:arm64"
  $docker manifest push --insecure -p "$repository:${tag##*:}" >/dev/null
  touch "$home/bases-are-there"
}

down () {
  local name pid
  for name in dockerd docker-registry; do
    runs $name || continue
    pid=$(cat "$home/$name.pid")
    kill "$pid"
    for _ in $(seq 150); do [ -d "/proc/$pid" ] || break; sleep 0.2; done
    rm -f "$home/$name.pid"
  done
  if [ -e "$home/bridge-is-ours" ]; then ip link del docker0 2>/dev/null || true; rm -f "$home/bridge-is-ours"; fi
}

case ${1:-} in
  up)
    [ "$(id -u)" = 0 ] || die 'needs root; with an engine of your own it is not needed'
    mkdir -p "$home"
    install_packages
    emulate_arm64
    start_registry
    start_engine
    base_images
    install -d "$home/bin" && ln -sf $docker "$home/bin/docker"
    printf 'export DOCKER_HOST=%s DOCKER_BUILDKIT=1 DOCKER_CONFIG=%s PATH=%s/bin:$PATH\n' "$DOCKER_HOST" "$DOCKER_CONFIG" "$home" ;;
  down) down ;;
  clean) down; rm -rf "$home" ;;
  *) die 'usage: container-engine.sh up | down | clean' ;;
esac
