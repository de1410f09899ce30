#!/bin/bash
# In the virtual machine: memlock.sh PROGRAM: the transport's test below limits of pinned memory, as a user whom they
# hold for. Where UCX may use the RDMA device, too low a limit is an error at the start; where it may not, reads go over
# TCP. Exits with 1 if something else happens.
program=$1
chmod 666 /dev/infiniband/uverbs*
failed=0

# below KIB WHAT NAME=VALUE…: what must happen with this limit and these variables.
below() {
  local limit=$1 must=$2
  shift 2
  echo "limit of $limit KiB, $*:"
  (ulimit -l "$limit" && SLUICE_TEST_MEMLOCK=$must env "$@" chroot --userspec=1000:1000 / "$program" --nocapture) ||
    failed=1
}
below 64 refuses
below 1024 refuses
below 1024 refuses -u UCX_TLS UCX_NET_DEVICES=all
below 1024 reads UCX_TLS=tcp,sm,self UCX_NET_DEVICES=all
below unlimited reads
exit "$failed"
