package org.apache.spark.status.api.v1.sluice;

import io.sluice.spark.ui.StatusAnswers;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.spark.status.api.v1.ForbiddenException;
import org.apache.spark.status.api.v1.NotFoundException;
import org.apache.spark.status.api.v1.UIRoot;
import org.apache.spark.ui.SparkUI;
import scala.Option;
import scala.runtime.AbstractFunction1;

/**
 * One application, for one request of Spark's REST interface: what Spark's own resources do for theirs (its trait
 * {@code BaseAppResource}), without the servlet interface, whose package differs between Spark 3 and 4.
 */
final class SluiceView {
  private static final String UI_ROOT = "org.apache.spark.status.api.v1.UIRootFromServletContext";

  private final Object servletContext;
  private final String user;
  private final String applicationId;
  private final String attemptId;

  /**
   * @param servletContext of {@code javax} or {@code jakarta}
   * @param user who asks; null if Spark does not know
   * @param attemptId null for none
   */
  SluiceView(Object servletContext, String user, String applicationId, String attemptId) {
    this.servletContext = servletContext;
    this.user = user;
    this.applicationId = applicationId;
    this.attemptId = attemptId;
  }

  Map<String, Object> overview() {
    return read(StatusAnswers::overview);
  }

  /** @param length negative for all */
  List<Map<String, Object>> shuffles(int offset, int length) {
    return read(answers -> answers.shuffles(offset, length < 0 ? Integer.MAX_VALUE : length));
  }

  Map<String, Object> shuffle(int shuffleId) {
    return read(answers -> answers.shuffle(shuffleId)
        .orElseThrow(() -> new NotFoundException("unknown shuffle: " + shuffleId)));
  }

  List<Map<String, Object>> executors() {
    return read(StatusAnswers::executors);
  }

  List<String> diagnosis() {
    return read(StatusAnswers::diagnosis);
  }

  private <T> T read(Function<StatusAnswers, T> answer) {
    try {
      return root().withSparkUI(applicationId, Option.apply(attemptId), new AbstractFunction1<>() {
        @Override
        public T apply(SparkUI ui) {
          return answer.apply(answers(ui));
        }
      });
    } catch (NoSuchElementException absent) {
      throw new NotFoundException("no such app: " + name());
    }
  }

  private StatusAnswers answers(SparkUI ui) {
    if (!ui.securityManager().checkUIViewPermissions(user)) {
      throw new ForbiddenException("user \"" + user + "\" is not authorized");
    }
    return StatusAnswers.of(ui.store().store())
        .orElseThrow(() -> new NotFoundException("nothing of Sluice in app: " + name()));
  }

  private String name() {
    return attemptId == null ? applicationId : applicationId + "/" + attemptId;
  }

  /** Spark's method has the type of the servlet context in its signature. */
  private UIRoot root() {
    try {
      for (Method method : Class.forName(UI_ROOT).getMethods()) {
        if (method.getName().equals("getUiRoot")) {
          return (UIRoot) method.invoke(null, servletContext);
        }
      }
    } catch (ClassNotFoundException | IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("Spark's REST interface hides its applications", e);
    }
    throw new IllegalStateException("Spark's REST interface hides its applications: " + UI_ROOT + " has no getUiRoot");
  }
}
