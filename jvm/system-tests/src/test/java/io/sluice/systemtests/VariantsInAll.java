package io.sluice.systemtests;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Of a test with parameters the first arguments, or one of so many; with the others it is a long test, which {@code
 * ./sluice test --all} alone runs ({@code -Dsystemtests.inAll=true}).
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(VariantsInAll.Chosen.class)
@interface VariantsInAll {
  /** The first arguments run in any case, and from then on one of so many; unless it is given, no others. */
  int oneOf() default Integer.MAX_VALUE;

  /** Knows which arguments they are by the test's id, which ends with their number, from 1 on. */
  final class Chosen implements ExecutionCondition {
    private static final Pattern NUMBER = Pattern.compile("\\[test-template-invocation:#(\\d+)]$");

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      Matcher number = NUMBER.matcher(context.getUniqueId());
      int oneOf = context.getRequiredTestMethod().getAnnotation(VariantsInAll.class).oneOf();
      boolean other = number.find() && (Integer.parseInt(number.group(1)) - 1) % oneOf != 0;
      return other && !Boolean.getBoolean("systemtests.inAll")
          ? ConditionEvaluationResult.disabled("runs with ./sluice test --all")
          : ConditionEvaluationResult.enabled("in the default test, or --all");
    }
  }
}
