package io.sluice.spark.conf;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Prints {@code docs/configuration.md} from the declarations in {@link SluiceSettings}. */
public final class SettingsReference {
  private static final String HEAD = """
      # Configuration

      Generated from `SluiceSettings` by `SettingsReference`; a test holds this page equal to the code.

      Two settings switch Sluice on, on every Spark line:

      <!-- tested by BlocksOnPagesTest -->
      ```properties
      spark.plugins=io.sluice.spark.SluicePlugin
      spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager
      ```

      Everything else has a default, and most applications need no other setting ([what to change, and
      when](tuning.md)). An unknown `spark.sluice.*` key or a value outside its range stops the application when it
      starts. Settings marked *session* can be changed at run time with `spark.conf.set` and hold for the shuffles
      registered from then on; a value outside its range then fails the query. The others are fixed for the
      application: where a session sets one of them, or a name that is no setting, nothing changes, and the driver
      logs a warning at the session's next shuffle.

      Sizes are written as `64k`, `1m`, `2g`, times as `100ms`, `120s`.
      """;

  private SettingsReference() {}

  /** The whole page. */
  public static String markdown() {
    StringBuilder page = new StringBuilder(HEAD);
    for (SettingsGroup group : SluiceSettings.groups()) {
      page.append("\n## ").append(group.title()).append("\n\n").append(group.purpose()).append("\n\n")
          .append("| setting | default | values | changes |\n| --- | --- | --- | --- |\n");
      for (Setting<?> setting : group.settings()) {
        page.append("| [`").append(setting.key()).append("`](#").append(anchor(setting)).append(") | ")
            .append(code(setting.defaultText())).append(" | ").append(setting.range()).append(" | ")
            .append(setting.perSession() ? "session" : "").append(" |\n");
      }
      for (Setting<?> setting : group.settings()) {
        page.append("\n### ").append(setting.key()).append("\n\n").append(setting.doc()).append('\n');
      }
    }
    return page.append('\n').append(SPARK_SETTINGS).toString();
  }

  /** The name of its heading in the page, as MkDocs and GitHub make it. */
  private static String anchor(Setting<?> setting) {
    return setting.key().replace(".", "").toLowerCase(Locale.ROOT);
  }

  private static String code(String text) {
    return text.isEmpty() ? "(empty)" : "`" + text + "`";
  }

  private static final String SPARK_SETTINGS = """
      ## Settings of Spark that Sluice honours

      | setting | effect |
      | --- | --- |
      | `spark.shuffle.compress` | false writes rows as they are (`plain`) |
      | `spark.io.compression.codec` | the general compression inside frames: lz4, zstd or snappy; with any other \
      codec shuffles fall back |
      | `spark.shuffle.checksum.enabled`, `.algorithm` | checksums per partition, ADLER32, CRC32 or CRC32C, in Spark's \
      checksum files |
      | `spark.shuffle.sync` | data files are forced to the disk before they are committed |
      | `spark.memory.offHeap.enabled`, `.size` | block memory is taken from Spark's off-heap execution memory |
      | `spark.sql.shuffleDependency.skipMigration.enabled` (Spark 4, for Spark Connect) | a decommissioned \
      executor does not move outputs of SQL executions that have ended without a failure; each executor learns that \
      within a few seconds, if `spark.decommission.enabled` and `spark.storage.decommission.enabled` are set. Spark by \
      itself moves them in a cluster all the same |
      | `spark.local.dir` | where spill files and map outputs are written |
      | `spark.sql.shuffle.orderIndependentChecksum.enabled` | row checksums are kept as Spark's own writers keep them |
      | `spark.io.encryption.enabled`, `.keySizeBits`, `.keygen.algorithm` | frames are encrypted and authenticated \
      with AES-GCM before they reach a file, a memory file or the network, under keys made of Spark's key; with \
      `spark.shuffle.useOldFetchProtocol` shuffles fall back to Spark's own sort shuffle |
      | push-based shuffle | all shuffles of the application fall back ([why all](what-is-accelerated.md)), and blocks are fetched by netty |
      | `spark.network.crypto.enabled`, `spark.ssl.rpc.enabled`, `spark.authenticate.enableSaslEncryption` | blocks \
      are fetched by netty, but for frames that `spark.io.encryption.enabled` has encrypted and authenticated |
      | `spark.authenticate` | executors that do not know the application's secret are not told where blocks are; \
      blocks are fetched by netty, unless `spark.sluice.ucx.allowUnauthenticatedTcp` is true or \
      `spark.executorEnv.UCX_TLS` permits no TCP |
      | `spark.shuffle.useOldFetchProtocol` | blocks are fetched by netty |
      | `spark.reducer.maxSizeInFlight` | limits the bytes that a task has requested and not yet read, by either \
      transport |
      | `spark.network.maxRemoteBlockSizeFetchToMem` | requests for more bytes are fetched by netty, to disk |
      | `spark.shuffle.sort.io.plugin.class` | shuffles fall back unless it is Spark's default |
      """;

  /** Writes the page to the path given. */
  public static void main(String[] args) throws IOException {
    Files.writeString(Path.of(args[0]), markdown());
  }
}
