package io.sluice.doctor.rdma;

import io.sluice.doctor.host.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * One port of an RDMA device, as {@code /sys/class/infiniband} has it.
 *
 * @param state such as ACTIVE, DOWN, INIT
 * @param linkLayer InfiniBand, Ethernet, or another name that the driver reports
 * @param iwarp whether it is iWARP, the other RDMA over Ethernet
 * @param rate such as {@code 100 Gb/sec (4X EDR)}
 * @param firmware the device's
 * @param interfaces the network interfaces that share the port
 * @param gidTypes kinds of addresses it has, such as {@code RoCE v2}
 */
record RdmaPort(String device, String port, String state, String linkLayer, boolean iwarp, String rate, String firmware,
    List<String> interfaces, List<String> gidTypes) {

  private static final String DEVICES = "/sys/class/infiniband";

  static List<RdmaPort> all(Host host) {
    List<RdmaPort> ports = new ArrayList<>();
    for (String device : host.list(DEVICES)) {
      for (String port : host.list(DEVICES + "/" + device + "/ports")) {
        ports.add(read(host, device, port));
      }
    }
    return ports;
  }

  private static RdmaPort read(Host host, String device, String port) {
    String folder = DEVICES + "/" + device;
    String here = folder + "/ports/" + port;
    // "4: ACTIVE"
    String state = host.read(here + "/state").or("unknown").replaceFirst("^\\d+: *", "");
    return new RdmaPort(device, port, state, host.read(here + "/link_layer").or("link layer unknown"),
        host.read(folder + "/node_type").or("").contains("RNIC"), host.read(here + "/rate").or("rate unknown"),
        host.read(folder + "/fw_ver").or("unknown"),
        interfaces(host, folder, here), gidTypes(host, here));
  }

  /** By the port's addresses; older kernels know only which interfaces the device has. */
  private static List<String> interfaces(Host host, String folder, String here) {
    List<String> byAddress = values(host, here + "/gid_attrs/ndevs");
    return byAddress.isEmpty() ? host.list(folder + "/device/net") : byAddress;
  }

  private static List<String> gidTypes(Host host, String here) {
    return values(host, here + "/gid_attrs/types");
  }

  /** Files of unused addresses cannot be read. */
  private static List<String> values(Host host, String folder) {
    return host.list(folder).stream().flatMap(name -> Stream.of(host.read(folder + "/" + name).or("")))
        .filter(value -> !value.isEmpty()).distinct().toList();
  }

  String name() {
    return device + ":" + port;
  }

  boolean ethernet() {
    return linkLayer.equals("Ethernet");
  }

  boolean active() {
    return state.equals("ACTIVE");
  }
}
