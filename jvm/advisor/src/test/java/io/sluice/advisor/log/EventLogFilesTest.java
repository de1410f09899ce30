package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files make a log. */
class EventLogFilesTest {
  @TempDir private Path folder;

  @Test
  void rollingLogIsReadInTheOrderOfItsNumbers() throws Exception {
    Path log = rolling("eventlog_v2_app-1", "events_10_app-1.zstd", "events_2_app-1.zstd", "events_1_app-1.zstd",
        "appstatus_app-1", ".events_1_app-1.zstd.crc");
    List<EventLog> found = EventLogFiles.at(log);
    assertEquals(1, found.size());
    assertEquals(List.of("events_1_app-1.zstd", "events_2_app-1.zstd", "events_10_app-1.zstd"), names(found.get(0)));
  }

  @Test
  void compactFileTakesThePlaceOfThoseUpToIt() throws Exception {
    Path log = rolling("eventlog_v2_app-1", "events_1_app-1", "events_2_app-1", "events_2_app-1.compact",
        "events_3_app-1", "events_1_app-1.compact");
    assertEquals(List.of("events_2_app-1.compact", "events_3_app-1"), names(EventLogFiles.at(log).get(0)));
  }

  @Test
  void folderGivesAllLogsInIt() throws Exception {
    rolling("eventlog_v2_app-2", "events_1_app-2");
    Files.createDirectories(folder.resolve("other"));
    Files.writeString(folder.resolve("app-1.inprogress"), "x");
    Files.writeString(folder.resolve(".hidden"), "x");
    assertEquals(List.of("app-1.inprogress", "eventlog_v2_app-2"),
        EventLogFiles.at(folder).stream().map(log -> log.path().getFileName().toString()).toList());
  }

  @Test
  void nothingToReadIsSaid() throws IOException {
    assertSays("there is no such file", folder.resolve("missing"));
    assertSays("the folder has no event log in it", Files.createDirectories(folder.resolve("empty")));
    assertSays("has no file of events", rolling("eventlog_v2_app-3", "appstatus_app-3"));
  }

  private static void assertSays(String text, Path path) {
    String message = assertThrows(UnreadableLogException.class, () -> EventLogFiles.at(path)).getMessage();
    assertTrue(message.contains(text) && message.startsWith(path.toString()), message);
  }

  private Path rolling(String name, String... files) throws IOException {
    Path log = Files.createDirectories(folder.resolve(name));
    for (String file : files) {
      Files.writeString(log.resolve(file), "x");
    }
    return log;
  }

  private static List<String> names(EventLog log) {
    return log.files().stream().map(file -> file.getFileName().toString()).toList();
  }
}
