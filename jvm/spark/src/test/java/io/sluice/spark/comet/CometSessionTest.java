package io.sluice.spark.comet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CometSessionTest {
  private static final String SLUICES = "io.sluice.spark.SluiceShuffleManager";
  private static final String COMETS = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager";
  private static final String MANAGER = "spark.shuffle.manager";
  private static final String EXTENSIONS = "spark.sql.extensions";

  private final ClassLoader before = Thread.currentThread().getContextClassLoader();
  private final SQLConf session = SQLConf$.MODULE$.get();

  /** Comet as far as its version goes. */
  private static final class Comet extends ClassLoader {
    private final String build;

    Comet(String build) {
      super(CometSessionTest.class.getClassLoader());
      this.build = build;
    }

    @Override
    public InputStream getResourceAsStream(String name) {
      return name.equals("comet-git-info.properties")
          ? new ByteArrayInputStream(build.getBytes(StandardCharsets.ISO_8859_1)) : super.getResourceAsStream(name);
    }
  }

  private static void load(String build) {
    Thread.currentThread().setContextClassLoader(new Comet(build));
  }

  @BeforeEach
  void sluicesManager() {
    session.setConfString(MANAGER, SLUICES);
    session.setConfString(EXTENSIONS, "a.b.C,org.apache.comet.CometSparkSessionExtensions");
  }

  @AfterEach
  void restore() {
    Thread.currentThread().setContextClassLoader(before);
    session.unsetConf(MANAGER);
    session.unsetConf(EXTENSIONS);
  }

  @Test
  void theSessionsManagerFollowsTheSetting() {
    load("git.build.version=0.12.0");
    for (int i = 0; i < 2; i++) {
      CometSession.prepare(true, SLUICES, "3.5.8");
      assertEquals(COMETS, session.getConfString(MANAGER));
    }
    for (int i = 0; i < 2; i++) {
      CometSession.prepare(false, SLUICES, "3.5.8");
      assertEquals(SLUICES, session.getConfString(MANAGER));
    }
  }

  @ParameterizedTest
  @CsvSource({"git.build.version=0.13.0", "git.build.version=1.2.0", "git.build.version=0.120.0", "git.branch=main"})
  void exchangesOfAnotherCometAreNotCarried(String build) {
    load(build);
    CometSession.prepare(true, SLUICES, "3.5.8");
    assertEquals(SLUICES, session.getConfString(MANAGER));
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.4.4", "4.0.2", "4.2.0", "3.50.0"})
  void norAreThoseOnAnotherSpark(String spark) {
    load("git.build.version=0.12.0");
    CometSession.prepare(true, SLUICES, spark);
    assertEquals(SLUICES, session.getConfString(MANAGER));
  }

  @Test
  void withoutItsExtensionCometIsNotThere() {
    load("git.build.version=0.12.0");
    session.setConfString(EXTENSIONS, "a.b.C");
    CometSession.prepare(true, SLUICES, "3.5.8");
    assertEquals(SLUICES, session.getConfString(MANAGER));
  }

  @Test
  void withoutItsVersionNothingIsChanged() {
    session.unsetConf(MANAGER);
    CometSession.prepare(true, SLUICES, "3.5.8");
    CometSession.prepare(false, SLUICES, "3.5.8");
    assertEquals("none", session.getConfString(MANAGER, "none"));
  }
}
