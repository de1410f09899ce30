package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the log says of the transports that UCX has chosen. */
class NetworkUseTest {
  private static final String SETTING = "spark.sluice.mode=RDMA";

  @TempDir Path devices;

  private Optional<String> missing(String means, String allowed) {
    return new NetworkUse(means, allowed, devices).missingRdma(SETTING);
  }

  private String warning(String means, String allowed) {
    return missing(means, allowed).orElseThrow();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "tcp/lo | tcp",
    "tcp/eth0,tcp/lo | tcp",
    "rc_mlx5/mlx5_0:1,tcp/eth0 | rc_mlx5/mlx5_0:1, tcp",
    "'' | what UCX chooses",
  })
  void theTransportsAreNamed(String means, String expected) {
    assertEquals(expected, new NetworkUse(means, null, devices).describe());
  }

  @Test
  void withoutADeviceTheWarningSaysSo() {
    String warning = warning("tcp/lo", null);
    assertTrue(warning.startsWith(SETTING + ", but blocks of other hosts are read over tcp, because this host has no"
        + " RDMA device"), warning);
    assertTrue(warning.contains("doctor --mode RDMA") && warning.contains("spark.sluice.mode=UCX"), warning);
    assertTrue(new NetworkUse("tcp/lo", null, devices.resolve("absent")).missingRdma(SETTING).isPresent());
  }

  @Test
  void withADeviceTheWarningNamesItAndWhatMayKeepUcxFromIt() throws IOException {
    Files.createDirectory(devices.resolve("mlx5_1"));
    Files.createDirectory(devices.resolve("mlx5_0"));
    String warning = warning("self/memory,tcp/lo", "^cuda");
    assertTrue(warning.contains("(mlx5_0, mlx5_1)") && warning.contains("libuct_ib"), warning);
    assertTrue(missing("tcp/lo", "rc,tcp").isPresent(), "UCX_TLS asks for it");
  }

  /** As in the machine of tools/rdma-test, with soft-RoCE. */
  @ParameterizedTest
  @ValueSource(
      strings = {"rc_verbs/rxe0:1", "rc_mlx5/mlx5_0:1,tcp/eth0", "srd_v/efa_0:1", "dc_mlx5/mlx5_1:1,self/memory"})
  void whereADeviceIsUsedThereIsNone(String means) {
    assertEquals(Optional.empty(), missing(means, "rc,self"));
    assertEquals(Optional.empty(), missing(means, null));
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "tcp,self", " tcp , sm", "posix,tcp,cma"})
  void whoAsksForTcpGetsNone(String allowed) {
    assertEquals(Optional.empty(), missing("tcp/lo", allowed));
  }

  @Test
  void aUcxThatDoesNotSayIsNotJudged() {
    assertEquals(Optional.empty(), missing("", null));
    assertEquals(Optional.empty(), missing(null, null));
  }
}
