#!/bin/bash
# In the virtual machine: a soft-RoCE device on its network card, file systems to test on, and then the commands that
# the host leaves in /share, one after the other.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root UCX_WARN_UNUSED_ENV_VARS=n
ulimit -l unlimited
read -r number </share/number
ip link set lo up
ip link set eth0 mtu 9000
ip addr add "10.9.0.$number/24" dev eth0
ip link set eth0 up
echo "vm$number" >/proc/sys/kernel/hostname
# Spark asks for the user's name and the machine's address.
echo "root:x:0:0:root:/root:/bin/bash" >/etc/passwd
echo "127.0.0.1 localhost vm$number" >/etc/hosts
rdma link add rxe0 type rxe netdev eth0

# file_system TYPE OPTIONS…: a file system in memory at /data/TYPE.
file_system() {
  local type=$1
  shift
  truncate -s 400M "/tmp/$type.img"
  mkdir -p "/data/$type"
  "mkfs.$type" "$@" "/tmp/$type.img" >/dev/null && mount -o loop "/tmp/$type.img" "/data/$type"
}
mkdir -p /data/tmpfs /data/overlay
mount -t tmpfs tmpfs /data/tmpfs
file_system ext4 -q
file_system xfs -q
mkdir -p /data/ext4/upper /data/ext4/work
mount -t overlay -o lowerdir=/run,upperdir=/data/ext4/upper,workdir=/data/ext4/work overlay /data/overlay

if [[ ! -d /sys/class/infiniband/rxe0 ]]; then
  echo "There is no soft-RoCE device."
  echo o >/proc/sysrq-trigger
fi
read -r uptime _ </proc/uptime
echo "READY after $uptime s: Linux $(uname -r), $(nproc) processors"
for ((next = 1; ; next++)); do
  until [[ -e /share/$next.command ]]; do sleep 0.2; done
  # A command that hangs is ended, so that the next one is run. One that a person wrote has no limit.
  limit=0
  [[ -e /share/$next.limit ]] && read -r limit <"/share/$next.limit"
  timeout -k 5 "$limit" bash "/share/$next.command" >"/share/$next.output" 2>&1
  echo $? >"/share/$next.status.new"
  mv "/share/$next.status.new" "/share/$next.status"
done
