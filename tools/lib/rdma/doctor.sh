#!/bin/bash
# In the virtual machine: what the doctor says of its soft-RoCE device, as it is and with one part after the other taken
# away. Exits with 1 if a report lacks what it must say.
jar=$(ls /checkout/build/sluice-[0-9]*.jar)
modules=/usr/lib/x86_64-linux-gnu/ucx
failed=0

# says WHAT TEXT…: the doctor's report has each TEXT. It runs as the user of $as, if there is one.
as=()
says() {
  local what=$1 report text
  shift
  report=$("${as[@]}" /jdk/bin/java -Xmx100m -jar "$jar" doctor --mode RDMA --local-dirs /data/ext4 2>&1 |
    tr -s ' \n' ' ')
  for text; do
    if [[ $report != *"$text"* ]]; then
      printf '%s: the doctor does not say "%s" but:\n%s\n\n' "$what" "$text" "$report"
      failed=1
    fi
  done
  echo "$what: looked at"
}

says "as it is" "RDMA ready" "ok RDMA port rxe0:1 ACTIVE, Ethernet (RoCE)" "active MTU 4096" \
  "eth0 (10.9.0.$(</share/number)" \
  "ok RDMA device files /dev/infiniband has" "ok verbs library" "UCX 1.18" "ok UCX transports" \
  "ok locked memory unlimited"

ip addr flush dev eth0
says "no address, so no GID that works" "warning RDMA port" "ip addr add ADDRESS/PREFIX dev eth0"
ip addr add "10.9.0.$(</share/number)/24" dev eth0

# Last of what is done to the interface: when it comes up, it is given its link-local address again.
ip link set eth0 down
says "port down" "warning RDMA port rxe0:1 DOWN" "ip link set eth0 up; then look at cable and switch port"
ip link set eth0 up

chmod 666 /dev/infiniband/uverbs*
as=(chroot --userspec=1000:1000 /)
(ulimit -l 64 && says "no memlock" "warning locked memory at most 64 KiB: RDMA pins what it reads and will be refused" \
  "memlock unlimited in /etc/security/limits.d" && exit "$failed") || failed=1
as=()

mkdir /tmp/away
mv "$modules"/libuct_ib.so.0 /tmp/away
says "UCX whose module does not load" "none of RDMA's, though there are RDMA devices and the module libuct_ib"
mv "$modules"/libuct_ib* "$modules"/libuct_rdmacm* /tmp/away
says "UCX without verbs" "no RDMA module (libuct_ib), though there are RDMA devices"
mv /tmp/away/* "$modules"

mv /usr/lib/x86_64-linux-gnu/libucp.so.0 /tmp
says "no UCX of the system" "UCX 1.22" "in Sluice's jar" "no RDMA module (libuct_ib), though there are RDMA devices"
mv /tmp/libucp.so.0 /usr/lib/x86_64-linux-gnu

mv /dev/infiniband /dev/infiniband-away
says "no device files" "warning RDMA device files no /dev/infiniband/uverbs*" "modprobe ib_uverbs"
mv /dev/infiniband-away /dev/infiniband

says "as it was" "RDMA ready" "ok RDMA port rxe0:1 ACTIVE"
exit "$failed"
