#!/bin/sh
# contain.sh <root> <checkout> <node> <user> <volume>:<path>,... <command>...: runs a command as a container engine would
# run the image's: on a root that is read-only but for its volumes and /tmp, as a user without capabilities.
set -eu
root=$1 checkout=$2 node=$3 user=$4 volumes=$5
shift 5
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir "$root/app" "$root/node" "$root/tmp"
for top in usr etc proc dev; do
  mkdir "$root/$top"
  mount --rbind "/$top" "$root/$top"
done
for link in bin sbin lib lib64; do if [ -L "/$link" ]; then cp -P "/$link" "$root/$link"; fi; done
for part in dist node_modules; do
  mkdir "$root/app/$part"
  mount --bind "$checkout/$part" "$root/app/$part"
done
cp "$checkout/package.json" "$checkout/deploy/containers/role.sh" "$root/app/"
ln -s "$node" "$root/node/node"
mkdir -p "$root$(dirname "$node")"
[ -e "$root$node" ] || { : >"$root$node" && mount --bind "$node" "$root$node"; }
for volume in $(echo "$volumes" | tr , ' '); do
  mkdir -p "$root${volume#*:}"
  mount --bind "${volume%%:*}" "$root${volume#*:}"
done
mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups --no-new-privs --inh-caps=-all \
  --bounding-set=-all env PATH=/node:/usr/bin:/bin "$@"
