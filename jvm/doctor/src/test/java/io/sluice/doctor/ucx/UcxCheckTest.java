package io.sluice.doctor.ucx;

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

/** How UCX and its version and transports are found. */
class UcxCheckTest {
  private static final String LIB = "/usr/lib/x86_64-linux-gnu";

  @TempDir private Path root;
  private FakeHost host;

  @BeforeEach
  void makeHost() {
    host = FakeHost.ordinary(root);
  }

  @Test
  void noUcxIsAProblemOfTheModesThatNeedIt() {
    Finding finding = look("").get(0);
    assertEquals(Verdict.PROBLEM, finding.verdict());
    assertTrue(finding.next().contains("Install UCX 1.14"), finding.next());
  }

  @Test
  void versionIsReadFromTheLibraryThatTheLoaderFinds() {
    library(LIB, "1.16.0").cache(LIB);
    assertEquals("UCX 1.16.0 (from its file), " + LIB + "/libucp.so.0.0.0", look("").get(0).text());
    assertEquals(Verdict.OK, look("").get(0).verdict());
  }

  @Test
  void oldUcxIsAProblem() {
    library(LIB, "1.13.1").cache(LIB);
    Finding finding = look("").get(0);
    assertEquals(Verdict.PROBLEM, finding.verdict());
    assertTrue(finding.text().contains("UCX 1.13.1") && finding.text().endsWith("older than 1.14.0"), finding.text());
  }

  @Test
  void configuredFileOrFolderWinsOverTheLoader() {
    library(LIB, "1.13.1").cache(LIB);
    library("/opt/ucx/lib", "1.17.0");
    for (String path : List.of("/opt/ucx/lib", "/opt/ucx/lib/libucp.so.0")) {
      assertTrue(look(path).get(0).text().startsWith("UCX 1.17.0"), path);
    }
    assertEquals(Verdict.PROBLEM, look("/opt/ucx").get(0).verdict());
  }

  @Test
  void libraryPathOfTheEnvironmentComesBeforeTheCache() {
    library(LIB, "1.13.1").cache(LIB);
    library("/home/me/ucx/lib", "1.18.0");
    host.environment("LD_LIBRARY_PATH", "relative:/nowhere:/home/me/ucx/lib");
    assertTrue(look("").get(0).text().startsWith("UCX 1.18.0"));
  }

  @Test
  void jarsUcxIsUsedWhereTheSystemHasNone() {
    host.jarFile("io/sluice/native/linux-x86_64/ucx/libucp.so.0", "A1.22.0\0")
        .jarFile("io/sluice/native/linux-x86_64/ucx/ucx/libuct_cma.so.0", "")
        .jarFile("io/sluice/native/linux-x86_64/ucx/ucx/libuct_cuda.so.0", "");
    assertEquals("UCX 1.22.0 (from its file), in Sluice's jar", look("").get(0).text());
    assertEquals("built in: tcp, shared memory; modules: cma, cuda", look("").get(1).text());
    library(LIB, "1.13.1").cache(LIB);
    assertEquals(Verdict.PROBLEM, look("").get(0).verdict());
    assertTrue(look("").get(0).next().startsWith("Update or remove it"), look("").get(0).next());
    library(LIB, "1.16.0");
    assertTrue(look("").get(0).text().startsWith("UCX 1.16.0"));
    assertEquals(Verdict.PROBLEM, look("/opt/absent").get(0).verdict());
  }

  @Test
  void jarsUcxHasNoRdma() {
    host.jarFile("io/sluice/native/linux-x86_64/ucx/libucp.so.0", "A1.22.0\0").folder("/sys/class/infiniband/mlx5_0");
    Finding transports = look("").get(1);
    assertEquals(Verdict.WARNING, transports.verdict());
    assertTrue(transports.next().startsWith("Install UCX 1.14"), transports.next());
    library("/opt/ucx/lib", "1.17.0");
    assertTrue(look("").get(1).next().startsWith("spark.sluice.ucx.library=/opt/ucx/lib/libucp.so.0"));
  }

  @Test
  void loaderHasFoldersOfItsOwnWithoutACache() {
    library("/usr/lib64", "1.16.0");
    assertEquals(Verdict.OK, look("").get(0).verdict());
  }

  @Test
  void libraryOutsideTheLoadersFoldersMustBeConfigured() {
    library("/opt/ucx/lib", "1.17.0");
    Finding finding = look("").get(0);
    assertEquals(Verdict.PROBLEM, finding.verdict());
    assertTrue(finding.next().startsWith("spark.sluice.ucx.library=/opt/ucx/lib/libucp.so.0"), finding.next());
  }

  @Test
  void anAmbiguousVersionInTheLibraryIsUnknown() {
    library(LIB, "1.16.0").cache(LIB);
    host.with(LIB + "/libucp.so.0.0.0", "xx\0" + "1.16.0\0" + "1.2.11\0");
    Finding finding = look("").get(0);
    assertEquals(Verdict.NOTE, finding.verdict());
    assertTrue(finding.text().startsWith("UCX of unknown version"));
    host.with(LIB + "/pkgconfig/ucx.pc", "Name: ucx\nVersion: 1.16.0\n");
    assertTrue(look("").get(0).text().startsWith("UCX 1.16.0 (from ucx.pc)"));
  }

  @Test
  void ucxInfoIsUsedOnlyForItsOwnLibrary() {
    library(LIB, "1.16.0").cache(LIB);
    host.command("ucx_info -v", "# Library version: 1.19.0\n# Library path: /opt/other/lib/libucs.so.0\n");
    assertTrue(look("").get(0).text().startsWith("UCX 1.16.0 (from its file)"));
    host.command("ucx_info -v", "# Library version: 1.16.0\n# Library path: " + LIB + "/libucs.so.0\n")
        .command("ucx_info -d",
            "#      Transport: tcp\n#         Device: eth0\n#      Transport: cma\n#      Transport: tcp\n");
    assertTrue(look("").get(0).text().startsWith("UCX 1.16.0 (from ucx_info)"));
    assertEquals("work here: tcp, cma", look("").get(1).text());
  }

  @Test
  void transportsAreListedByTheirModules() {
    library(LIB, "1.16.0").cache(LIB);
    host.with(LIB + "/ucx/libuct_cma.so.0", "").with(LIB + "/ucx/libuct_cma.so.0.0.0", "");
    assertEquals("built in: tcp, shared memory; modules: cma", look("").get(1).text());
    host.folder("/sys/class/infiniband/mlx5_0/ports/1");
    assertEquals(Verdict.WARNING, look("").get(1).verdict());
    host.with(LIB + "/ucx/libuct_ib.so.0", "");
    assertEquals(Verdict.OK, look("").get(1).verdict());
  }

  @Test
  void aModuleWhoseTransportsDoNotWorkIsNotEnough() {
    library(LIB, "1.16.0").cache(LIB);
    host.with(LIB + "/ucx/libuct_ib.so.0", "").folder("/sys/class/infiniband/mlx5_0/ports/1")
        .command("ucx_info -v", "# Library version: 1.16.0\n# Library path: " + LIB + "/libucs.so.0\n")
        .command("ucx_info -d", "#      Transport: tcp\n");
    Finding none = look("").get(1);
    assertEquals(Verdict.WARNING, none.verdict());
    assertEquals("work here: tcp; none of RDMA's, though there are RDMA devices and the module libuct_ib", none.text());
    host.command("ucx_info -d", "#      Transport: tcp\n#      Transport: rc_verbs\n");
    assertEquals(Verdict.OK, look("").get(1).verdict());
  }

  @Test
  void versionsAreOrderedByNumber() {
    assertTrue(version("1.9.0").compareTo(version("1.14.0")) < 0);
    assertTrue(version("1.14.0-rc2").compareTo(UcxVersion.OLDEST) == 0);
    assertTrue(version("2.0").compareTo(version("1.22.1")) > 0);
    assertEquals(Optional.empty(), UcxVersion.parse("unknown"));
  }

  private static UcxVersion version(String text) {
    return UcxVersion.parse(text).orElseThrow();
  }

  private List<Finding> look(String configured) {
    return new UcxCheck(new UcxSearch(configured), UcxProbe.all()).look(host);
  }

  private UcxCheckTest library(String folder, String version) {
    host.with(folder + "/libucp.so.0.0.0", "\177ELF\0junk 12.1.5 \u00cd\u00cdA" + version + "\0more")
        .link(folder + "/libucp.so.0", "libucp.so.0.0.0");
    return this;
  }

  private void cache(String folder) {
    host.command("ldconfig -p", "2 libs found in cache\n\tlibucp.so.0 (libc6,x86-64) => " + folder + "/libucp.so.0\n"
        + "\tlibucs.so.0 (libc6,x86-64) => " + folder + "/libucs.so.0\n");
  }
}
