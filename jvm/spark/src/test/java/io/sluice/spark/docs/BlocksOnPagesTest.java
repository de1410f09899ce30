package io.sluice.spark.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceCache;
import io.sluice.spark.SluicePlugin;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.Store;
import io.sluice.spark.conf.Transport;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.apache.spark.SparkConf;
import org.apache.spark.util.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings that pages show are read as Spark and Sluice read them, and Java is compiled, as it is printed. */
class BlocksOnPagesTest {
  private static final Map<String, String> ON = Map.of(
      "spark.plugins", SluicePlugin.class.getName(), "spark.shuffle.manager", SluiceShuffleManager.class.getName());

  @TempDir private Path folder;

  /** What Spark reads of a {@code spark-defaults.conf} that has this block, and nothing else. */
  private Map<String, String> read(String block) throws IOException {
    Path file = Files.writeString(folder.resolve("spark-defaults.conf"), block + "\n");
    Map<String, String> found = new TreeMap<>();
    Utils.getPropertiesFromFile(file.toString()).foreach(setting -> found.put(setting._1(), setting._2()));
    return found;
  }

  private Settings settings(String block) throws IOException {
    SparkConf conf = new SparkConf(false);
    read(block).forEach(conf::set);
    return Settings.from(conf);
  }

  @Test
  void twoSettingsSwitchItOnAndNoOthers() throws IOException {
    List<String> blocks = new ArrayList<>(Pages.blocks("README.md", "BlocksOnPagesTest", "properties"));
    blocks.addAll(Pages.blocks("docs/configuration.md", "BlocksOnPagesTest", "properties"));
    blocks.addAll(Pages.blocks("docs/upgrading.md", "BlocksOnPagesTest", "properties"));
    for (String block : blocks) {
      assertEquals(new TreeMap<>(ON), read(block));
    }
  }

  @Test
  void settingsOfModesMeanWhatThePagesSay() throws IOException {
    List<String> modes = Pages.blocks("docs/modes.md", "BlocksOnPagesTest", "properties");
    assertEquals(2, modes.size());
    assertEquals(Transport.UCX, settings(modes.get(0)).transport().transport());
    Settings inMemory = settings(modes.get(1));
    assertEquals(Transport.UCX, inMemory.transport().transport());
    assertEquals(Store.CACHE, inMemory.store().kind());
    assertEquals("4g", read(modes.get(1)).get("spark.sluice.cache.hostLimit"));

    String ucx = Pages.blocks("docs/deployment/ucx.md", "BlocksOnPagesTest", "properties").get(0);
    assertTrue(read(ucx).entrySet().containsAll(ON.entrySet()), ucx);
    assertEquals(Transport.UCX, settings(ucx).transport().transport());

    String gpu = Pages.blocks("docs/gpu.md", "BlocksOnPagesTest", "properties").get(0);
    assertEquals(GpuUse.AUTO, settings(gpu).gpu().use());
  }

  @Test
  void aMistakeInABlockIsFound() {
    assertThrows(RuntimeException.class, () -> settings("spark.sluice.transport  ucx  # read one-sidedly"));
    assertThrows(RuntimeException.class, () -> settings("spark.sluice.transprt  ucx"));
  }

  @Test
  void javaIsCompiled() throws Exception {
    for (String block : Pages.blocks("docs/modes.md", "BlocksOnPagesTest", "java")) {
      assertEquals("", complaints(block));
      assertFalse(complaints(block.replace("Sluice", "Other")).isEmpty());
    }
  }

  /** What the compiler says of these statements. */
  private String complaints(String statements) throws Exception {
    String text = "class Block { void run() { " + statements + "\n} }";
    JavaFileObject source = new SimpleJavaFileObject(URI.create("string:///Block.java"), JavaFileObject.Kind.SOURCE) {
      @Override
      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return text;
      }
    };
    Path classes = Path.of(SluiceCache.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter said = new StringWriter();
    ToolProvider.getSystemJavaCompiler().getTask(said, null, null,
        List.of("-proc:none", "-cp", classes.toString(), "-d", folder.toString()), null, List.of(source)).call();
    return said.toString();
  }
}
