package io.sluice.spark.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AdmissionTest {
  private static final JarBuild OWN = new JarBuild("2.0", "bbbb");

  private final List<Object> sent = new ArrayList<>();

  private Object record(Object message) {
    sent.add(message);
    return null;
  }

  private String refusal(Map<String, String> fromDriver, Admission.Driver driver) {
    return assertThrows(SluiceException.class, () -> Admission.check("7", "node3", fromDriver, OWN, driver))
        .getMessage();
  }

  @Test
  void theSameClassesTakePart() {
    Admission.check("7", "node3", OWN.toSettings(), OWN, this::record);
    Admission.check("7", "node3", new JarBuild("2.0.1", "bbbb").toSettings(), OWN, this::record);
    assertEquals(List.of("7", "7"), sent.stream().map(message -> Refusal.admittedBy(message).orElseThrow()).toList());
    assertTrue(Refusal.fromMessage(sent.get(0)).isEmpty());
  }

  /** As in a jar within a jar: the version decides. */
  @Test
  void whereClassesCannotBeReadTheVersionDecides() {
    for (String unread : List.of("unknown", "in no jar")) {
      Admission.check("7", "node3", new JarBuild("2.0", unread).toSettings(), OWN, this::record);
      refusal(new JarBuild("2.1", unread).toSettings(), this::record);
      assertTrue(new JarBuild("2.0", unread).worksWith(OWN));
      assertFalse(new JarBuild("2.1", unread).worksWith(new JarBuild("2.0", unread)));
    }
  }

  @Test
  void otherClassesAreRefusedAndTheDriverIsTold() {
    String sentence = refusal(new JarBuild("2.0", "aaaa").toSettings(), this::record);
    assertTrue(sentence.startsWith("Executor 7 on host node3 is refused: it has Sluice 2.0 (classes bbbb), the driver "
        + "has Sluice 2.0 (classes aaaa). "), sentence);
    assertEquals(new Refusal("7", sentence), Refusal.fromMessage(sent.get(0)).get());
  }

  @Test
  void aDriverThatSendsNothingIsOfAnotherVersion() {
    String sentence = refusal(Map.of(), this::record);
    assertTrue(sentence.contains("a Sluice that does not say which it is"), sentence);
  }

  /** The executor ends all the same. */
  @Test
  void aDriverThatDoesNotAnswer() {
    String sentence = refusal(Map.of(), message -> {
      throw new IllegalStateException("gone");
    });
    assertTrue(sentence.startsWith("Executor 7"), sentence);
  }

  @Test
  void otherMessagesAreNoRefusals() {
    assertTrue(Refusal.fromMessage(Map.of("a", "b")).isEmpty());
    assertTrue(Refusal.fromMessage("text").isEmpty());
    assertTrue(Refusal.fromMessage(null).isEmpty());
  }
}
