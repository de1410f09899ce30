#!/usr/bin/env python3
"""Looks for bytes in every packet that passes over an interface.

    traffic.py --check             exits with 0 if this process may look at packets, else with 1 and a sentence
    traffic.py INTERFACE BYTES     says "capturing", looks until it reads a line, and says
                                   "seen PACKETS BYTES-OF-THEM PACKETS-WITH-THE-BYTES PACKETS-LOST"

A packet socket (AF_PACKET) needs Linux and CAP_NET_RAW, as root has it.
"""
import select
import socket
import struct
import sys

ALL_PROTOCOLS = 3  # ETH_P_ALL
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 256 << 20
LARGEST_PACKET = 1 << 17
STATISTICS_BYTES = 8


def open_socket(interface):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    try:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except OSError:
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    packets.bind((interface, 0))
    packets.setblocking(False)
    return packets


def capture(interface, wanted):
    packets = open_socket(interface)
    print("capturing", flush=True)
    count = total = found = 0
    while True:
        ready, _, _ = select.select([packets, sys.stdin], [], [])
        while packets in ready:
            try:
                packet = packets.recv(LARGEST_PACKET)
            except BlockingIOError:
                break
            count += 1
            total += len(packet)
            found += wanted in packet
        if sys.stdin in ready:
            break
    _, lost = struct.unpack("II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, STATISTICS_BYTES))
    print("seen", count, total, found, lost, flush=True)


def main():
    try:
        if sys.argv[1:] == ["--check"]:
            open_socket("lo").close()
        else:
            capture(sys.argv[1], sys.argv[2].encode())
    except (AttributeError, OSError) as e:
        print(f"packets cannot be looked at here: {e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
