package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** When a host goes, and that it always comes back; runs are played, and so are changes of the link. */
class HostAbsenceTest {

  private static final int LIMIT_S = 30;

  private final List<String> changes = new ArrayList<>();
  private final HostAbsence absence = new HostAbsence(new Hosts.AwayHost("w2", 600), this::change);

  private synchronized void change(String state) {
    changes.add(state);
  }

  private synchronized List<String> changes() {
    return List.copyOf(changes);
  }

  /** Two stages, of 8 and of 200 tasks: a tenth of the second one are 20, so that is 28 tasks. */
  private static void twoStages(Consumer<Reply> heard, long untilTask) {
    for (long done = 0; done <= untilTask; done++) {
      heard.accept(Reply.progress(done, done < 8 ? 8 : 208));
    }
  }

  private void learn() {
    assertEquals(1, absence.<Integer>before("run", reply -> {}, heard -> {
      twoStages(heard, 208);
      return 1;
    }));
    assertEquals(List.of(), changes());
  }

  @Test
  void aHostGoesAtATenthOfTheLastStageAndComesBackWithTheRunsEndAtTheLatest() {
    learn();
    List<Long> passedOn = new ArrayList<>();
    assertEquals("done", absence.during("run", reply -> passedOn.add(reply.tasksDone()), heard -> {
      twoStages(heard, 27);
      heard.accept(Reply.progress(28, 208));
      awaitAbsence();
      heard.accept(Reply.progress(208, 208));
      return "done";
    }));
    assertEquals(List.of("down", "up"), changes());
    assertEquals(30, passedOn.size());
  }

  @Test
  void aLastStageOfOneTaskThatOnlyAddsUpIsNotWaitedFor() {
    absence.before("run", reply -> {}, heard -> {
      twoStages(heard, 208);
      heard.accept(Reply.progress(208, 209));
      heard.accept(Reply.progress(209, 209));
      return 1;
    });
    absence.during("run", reply -> {}, heard -> {
      twoStages(heard, 28);
      awaitAbsence();
      return 1;
    });
    assertEquals(List.of("down", "up"), changes());
  }

  @Test
  void aRunThatEndsOneTaskBeforeThatKeepsItsHost() {
    learn();
    assertThrows(EngineFailure.class, () -> absence.during("run", reply -> {}, heard -> {
      twoStages(heard, 27);
      return 1;
    }));
    assertEquals(List.of(), changes());
  }

  @Test
  void aHostComesBackWhileTheRunGoesOn() {
    HostAbsence shortOne = new HostAbsence(new Hosts.AwayHost("w2", 1), this::change);
    shortOne.before("run", reply -> {}, heard -> {
      heard.accept(Reply.progress(0, 1));
      return 1;
    });
    shortOne.during("run", reply -> {}, heard -> {
      heard.accept(Reply.progress(1, 1));
      await(() -> changes().size() == 2, "the host does not come back");
      return 1;
    });
    assertEquals(List.of("down", "up"), changes());
  }

  @Test
  void aRunThatFailsGetsItsHostBack() {
    learn();
    EngineFailure failure = new EngineFailure("a task failed");
    assertSame(failure, assertThrows(EngineFailure.class, () -> absence.during("run", reply -> {}, heard -> {
      twoStages(heard, 28);
      awaitAbsence();
      throw failure;
    })));
    assertEquals(List.of("down", "up"), changes());
  }

  @Test
  void aRunThatEndsBeforeItsHostGoesHasNoFigures() {
    learn();
    String message = assertThrows(EngineFailure.class, () -> absence.during("run", reply -> {}, heard -> 1))
        .getMessage();
    assertTrue(message.contains("run ended before w2 was cut off, after 28 tasks; it needs more --rows"), message);
  }

  @Test
  void aRunThatWasNeverDoneBeforeIsRefused() {
    assertThrows(IllegalStateException.class, () -> absence.during("run", reply -> {}, heard -> 1));
  }

  @Test
  void aLinkThatCannotBeChangedFailsTheRun() {
    IllegalStateException failure = new IllegalStateException("no tc");
    HostAbsence broken = new HostAbsence(new Hosts.AwayHost("w2", 1), state -> {
      throw failure;
    });
    broken.before("run", reply -> {}, heard -> 1);
    assertSame(failure, assertThrows(IllegalStateException.class, () -> broken.during("run", reply -> {}, heard -> {
      heard.accept(Reply.progress(1, 1));
      return 1;
    })));
  }

  /** Until the link is down and the absence knows it. */
  private void awaitAbsence() {
    await(absence::wasAway, "the host does not go");
  }

  private static void await(BooleanSupplier condition, String otherwise) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_S);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, otherwise);
      Thread.onSpinWait();
    }
  }
}
