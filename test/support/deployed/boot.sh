#!/bin/sh
# boot.sh <folder> <checkout> <role>...: becomes systemd, process 1 of new namespaces, over this machine's files, of which
# it changes none: what it writes is in the folder. There the units are installed as deploy/docs/containers.md has it.
set -eu
folder=$1 checkout=$2
shift 2
mount --make-rprivate /
for top in etc var; do
  mkdir "$folder/$top" "$folder/$top.work"
  mount -t overlay overlay -o "lowerdir=/$top,upperdir=$folder/$top,workdir=$folder/$top.work" "/$top"
done
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /opt
mkdir /opt/attribution
mount --bind "$checkout" /opt/attribution
: >/etc/machine-id
# Nothing of the machine's own starts.
for unit in /lib/systemd/system/*.wants/* /etc/systemd/system/*.wants/*; do
  ln -sf /dev/null "/etc/systemd/system/${unit##*/}"
done

# What 0.3.0 has left, whose roles were dynamic users.
left=/var/lib/private/attribution/gateway
mkdir -p "$left" /var/lib/attribution
chmod 700 /var/lib/private
touch "$left/of-0.3.0"
chown -R 61234:61234 "$left"
ln -s ../private/attribution/gateway /var/lib/attribution/gateway

mkdir -p /etc/sysusers.d /etc/attribution "/etc/systemd/system/attribution@.service.d"
install -m 600 "$folder/environment" /etc/attribution/environment
cp "$checkout/deploy/systemd/attribution.conf" /etc/sysusers.d/
systemd-sysusers
cp -r "$checkout"/deploy/systemd/attribution@* /etc/systemd/system/
# No journal runs here.
printf '[Service]\nStandardOutput=append:%s/%%i.log\nStandardError=inherit\n' "$folder" \
  >"/etc/systemd/system/attribution@.service.d/log.conf"
for role; do SYSTEMD_OFFLINE=1 systemctl enable "attribution@$role"; done
exec env -i container=private PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=0
