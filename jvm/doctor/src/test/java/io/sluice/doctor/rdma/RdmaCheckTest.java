package io.sluice.doctor.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.FakeHost;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * RDMA devices as the kernel shows them. The trees are written after the kernel's documentation, not copied
 * from cards.
 */
class RdmaCheckTest {
  private static final String DEVICE = "/sys/class/infiniband/mlx5_0";

  @TempDir private Path root;
  private FakeHost host;

  @BeforeEach
  void makeHost() {
    host = FakeHost.ordinary(root);
  }

  @Test
  void machineWithoutDevicesIsOnlyNoted() {
    assertEquals(List.of(Verdict.NOTE), new RdmaCheck().look(host).stream().map(Finding::verdict).toList());
  }

  @Test
  void rocePortShowsItsNetworkAndMtu() {
    roce();
    Finding port = new RdmaCheck().look(host).get(0);
    assertEquals(Verdict.OK, port.verdict(), port::toString);
    assertEquals("mlx5_0:1 ACTIVE, Ethernet (RoCE), 100 Gb/sec (4X EDR), active MTU 1024 (by ens1f0's MTU of 1500), "
        + "firmware 16.35.2000, ens1f0 (31.31.31.41/24)", port.text());
    host.command("ibv_devinfo -d mlx5_0 -i 1", "hca_id: mlx5_0\n  active_mtu:   4096 (5)\n");
    assertTrue(new RdmaCheck().look(host).get(0).text().contains("active MTU 4096,"));
  }

  @Test
  void mapOutputsAreRegisteredByKernelAndFileSystem() {
    RegistrationCheck check = new RegistrationCheck(List.of("/tmp", "/dev/shm", "/missing"));
    assertEquals(List.of(), check.look(host), "no RDMA device");
    roce();
    assertEquals(List.of("/tmp (ext4): from the page cache, which Linux 6.1.0 pins there",
        "/dev/shm (tmpfs): from the page cache, which Linux 6.1.0 pins there"),
        check.look(host).stream().map(Finding::text).toList());
    for (String version : List.of("6.5.0", "6.12.117+deb13-amd64", "7.0.1", "odd")) {
      host.property("os.version", version);
      List<Finding> findings = check.look(host);
      assertEquals(List.of(Verdict.NOTE, Verdict.OK), findings.stream().map(Finding::verdict).toList(), version);
      assertTrue(findings.get(0).text().startsWith("/tmp (ext4): as copies in memory"), findings::toString);
    }
    host.property("os.version", "5.15.0");
    assertEquals(Verdict.OK, check.look(host).get(0).verdict());
  }

  @Test
  void devicesThatCannotBeOpenedAreAWarning() {
    roce();
    Finding files = new RdmaCheck().look(host).get(1);
    assertEquals(Verdict.WARNING, files.verdict());
    assertTrue(files.next().contains("--device=/dev/infiniband"));
    host.with("/dev/infiniband/uverbs0", "");
    assertEquals(Verdict.OK, new RdmaCheck().look(host).get(1).verdict());
  }

  @Test
  void roceNeedsAnAddressAndVersionTwo() {
    roce();
    host.address("ens1f0");
    assertTrue(new RdmaCheck().look(host).get(0).next().contains("ip addr add ADDRESS/PREFIX dev ens1f0"));
    host.with(DEVICE + "/ports/1/gid_attrs/types/1", "IB/RoCE v1\n");
    assertTrue(new RdmaCheck().look(host).get(0).text().contains("no RoCE v2 address"));
  }

  @Test
  void infinibandPortThatIsDownSaysWhereToLook() {
    infiniband("1: DOWN");
    Finding port = new RdmaCheck().look(host).get(0);
    assertEquals(Verdict.WARNING, port.verdict());
    assertTrue(port.text().startsWith("mlx5_0:1 DOWN, InfiniBand, 10 Gb/sec (4X)") && port.next().contains("cable"),
        port::toString);
    infiniband("2: INIT");
    assertTrue(new RdmaCheck().look(host).get(0).next().contains("opensm"));
    infiniband("4: ACTIVE");
    assertEquals(Verdict.OK, new RdmaCheck().look(host).get(0).verdict());
  }

  @Test
  void rocePortWithoutItsInterfaceIsInAnotherNamespace() {
    host.with(DEVICE + "/ports/1/state", "4: ACTIVE\n").with(DEVICE + "/ports/1/link_layer", "Ethernet\n");
    assertTrue(new RdmaCheck().look(host).get(0).next().contains("--network=host"));
  }

  @Test
  void iwarpIsNotSupportedByUcx() {
    roce();
    host.with(DEVICE + "/node_type", "4: RNIC\n");
    assertTrue(new RdmaCheck().look(host).get(0).text().contains("Ethernet (iWARP)"));
    assertEquals(Verdict.WARNING, new RdmaCheck().look(host).get(0).verdict());
  }

  @Test
  void deviceWithEmptyFoldersIsNoCrash() {
    host.folder(DEVICE + "/ports/1");
    assertTrue(new RdmaCheck().look(host).get(0).text().contains("unknown"));
  }

  @Test
  void roceMtuLeavesRoomForHeaders() {
    assertEquals(1024, RdmaCheck.roceMtu(1500));
    assertEquals(4096, RdmaCheck.roceMtu(4200));
    assertEquals(2048, RdmaCheck.roceMtu(4096));
    assertEquals(4096, RdmaCheck.roceMtu(9000));
  }

  @Test
  void trustCongestionControlAndLossesOfARocePort() {
    assertEquals(List.of(), new RoceQualityCheck().look(host), "no RDMA device");
    roce();
    Finding unknown = new RoceQualityCheck().look(host).get(0);
    assertEquals(Verdict.NOTE, unknown.verdict(), unknown::toString);
    host.with("/sys/class/net/ens1f0/qos/trust", "dscp\n")
        .with("/sys/class/net/ens1f0/ecn/roce_np/enable/3", "1\n")
        .with("/sys/class/net/ens1f0/ecn/roce_rp/enable/3", "1\n")
        .with(DEVICE + "/ports/1/hw_counters/out_of_sequence", "0\n");
    Finding good = new RoceQualityCheck().look(host).get(0);
    assertEquals(Verdict.OK, good.verdict(), good::toString);
    assertEquals("mlx5_0:1: ens1f0 trusts dscp, ECN roce_np on priority 3 on, ECN roce_rp on priority 3 on, "
        + "no packet lost since the driver was loaded", good.text());
    host.with("/sys/class/net/ens1f0/qos/trust", "pcp\n").with("/sys/class/net/ens1f0/ecn/roce_rp/enable/3", "0\n")
        .with(DEVICE + "/ports/1/hw_counters/out_of_sequence", "17\n");
    Finding bad = new RoceQualityCheck().look(host).get(0);
    assertEquals(Verdict.WARNING, bad.verdict(), bad::toString);
    assertTrue(bad.text().endsWith("ens1f0 trusts pcp, ECN roce_rp on priority 3 off, out_of_sequence 17"), bad.text());
    assertTrue(bad.next().contains("mlnx_qos -i INTERFACE --trust dscp") && bad.next().contains("drop and pause"),
        bad.next());
  }

  @Test
  void pausesNoticesAndTrafficClassOfARocePort() {
    roce();
    String notices = "/sys/class/net/ens1f0/ecn/roce_np/cnp_dscp";
    String trafficClass = DEVICE + "/tc/1/traffic_class";
    // As in the manual page of dcb-pfc.
    host.command("dcb pfc show dev ens1f0", "pfc-cap 8 macsec-bypass off delay 4096\n"
        + "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n").with(notices, "48\n")
        .with(trafficClass, "Global tclass=106\n");
    Finding good = new RoceQualityCheck().look(host).get(0);
    assertEquals(Verdict.OK, good.verdict(), good::toString);
    assertEquals("mlx5_0:1: ens1f0 has PFC on for 3, ens1f0 sends notices of congestion with DSCP 48, "
        + "traffic class 106 (DSCP 26) for all of RoCE", good.text());
    host.command("dcb pfc show dev ens1f0", "pfc-cap 8 macsec-bypass off delay 0\n"
        + "prio-pfc 0:on 1:off 2:off 3:off 4:on 5:off 6:off 7:off\n").with(notices, "26\n")
        .with(trafficClass, "Global tclass=96\nsrc_ip=31.31.31.0/24,tclass=106\n");
    Finding bad = new RoceQualityCheck().look(host).get(0);
    assertEquals(Verdict.WARNING, bad.verdict(), bad::toString);
    assertEquals("mlx5_0:1: ens1f0 has PFC on for 0, 4, ens1f0 sends notices of congestion with DSCP 26, "
        + "traffic class 96 (DSCP 24) for all of RoCE", bad.text());
    assertTrue(bad.next().contains("prio-pfc all:off 3:on") && bad.next().contains("echo 48 to")
        && bad.next().contains("echo 106 to"), bad.next());
  }

  @Test
  void aPortWithoutPausesMayBeMeantSo() {
    roce();
    host.command("mlnx_qos -i ens1f0", "DCBX mode: OS controlled\nPriority trust state: dscp\nPFC configuration:\n"
        + "\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   0   0   0   0   0   \n"
        + "\tbuffer      0   0   0   0   0   0   0   0   \n")
        // No class was set.
        .with(DEVICE + "/tc/1/traffic_class", "\n");
    Finding lossy = new RoceQualityCheck().look(host).get(0);
    assertEquals(Verdict.OK, lossy.verdict(), lossy::toString);
    assertEquals("mlx5_0:1: ens1f0 has PFC off (lossy; switches must have it off too)", lossy.text());
  }

  @Test
  void pausesAreReadFromEitherProgram() {
    assertEquals(Optional.empty(), PriorityPause.of(host, "ens1f0"), "neither is there");
    host.command("dcb pfc show dev ens1f0", "nothing that is known");
    assertEquals(Optional.empty(), PriorityPause.of(host, "ens1f0"));
    host.command("mlnx_qos -i ens1f0", "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n"
        + "\tenabled     0   0   0   1   0   1   0   0   \n\tbuffer      1   1   1   1   1   1   1   1   \n");
    assertEquals(Optional.of(new PriorityPause(List.of(3, 5))), PriorityPause.of(host, "ens1f0"));
  }

  @Test
  void infinibandPortsHaveNoRoceNetwork() {
    infiniband("4: ACTIVE");
    assertEquals(List.of(), new RoceQualityCheck().look(host));
  }

  @Test
  void verbsLibraryIsCheckedOnlyWithDevices() {
    assertEquals(List.of(), new VerbsCheck().look(host));
    roce();
    assertTrue(new VerbsCheck().look(host).get(0).text().contains("silently leaves RDMA out"));
    host.with("/usr/lib64/libibverbs.so.1", "");
    assertTrue(new VerbsCheck().look(host).get(0).text().contains("no driver for mlx5"));
    host.with("/etc/libibverbs.d/mlx5.driver", "driver mlx5\n");
    assertEquals(Verdict.OK, new VerbsCheck().look(host).get(0).verdict());
  }

  private void roce() {
    host.with(DEVICE + "/fw_ver", "16.35.2000\n").with(DEVICE + "/ports/1/state", "4: ACTIVE\n")
        .with(DEVICE + "/ports/1/link_layer", "Ethernet\n").with(DEVICE + "/ports/1/rate", "100 Gb/sec (4X EDR)\n")
        .with(DEVICE + "/ports/1/gid_attrs/ndevs/0", "ens1f0\n").with(DEVICE + "/ports/1/gid_attrs/ndevs/1", "ens1f0\n")
        .with(DEVICE + "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n")
        .with(DEVICE + "/ports/1/gid_attrs/types/1", "RoCE v2\n")
        .with("/sys/class/net/ens1f0/mtu", "1500\n").address("ens1f0", "31.31.31.41/24");
  }

  private void infiniband(String state) {
    host.with(DEVICE + "/fw_ver", "20.38.1002\n").with(DEVICE + "/ports/1/state", state + "\n")
        .with(DEVICE + "/ports/1/link_layer", "InfiniBand\n").with(DEVICE + "/ports/1/rate", "10 Gb/sec (4X)\n");
  }
}
