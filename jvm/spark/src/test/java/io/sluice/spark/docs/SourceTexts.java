package io.sluice.spark.docs;

import com.sun.source.tree.BinaryTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ConditionalExpressionTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.ReturnTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The texts that an expression of the sources may have: what is only known when it runs is {@code …}. Constants,
 * variables with an initializer, and methods of the same class that return texts are followed.
 */
final class SourceTexts {
  static final String UNKNOWN = "…";
  /** Of an expression with more alternatives, the first ones. */
  private static final int MOST = 8;
  private static final int DEEPEST = 6;

  private final Map<String, ExpressionTree> constants = new HashMap<>();

  /** @param units all sources in which constants may be declared */
  SourceTexts(List<CompilationUnitTree> units) {
    units.forEach(unit -> new Constants().scan(unit, null));
  }

  /** Collects the fields with a value, by class and name. */
  private final class Constants extends TreeScanner<Void, Void> {
    private String type = "";

    @Override
    public Void visitClass(ClassTree tree, Void unused) {
      String outer = type;
      type = tree.getSimpleName().toString();
      tree.getMembers().stream().filter(VariableTree.class::isInstance).map(VariableTree.class::cast)
          .filter(field -> field.getInitializer() != null)
          .forEach(field -> constants.put(type + "." + field.getName(), field.getInitializer()));
      super.visitClass(tree, unused);
      type = outer;
      return null;
    }
  }

  /**
   * The texts of {@code expression}.
   *
   * @param type the class that it stands in
   * @param method the method that it stands in; null for none
   */
  Set<String> of(ExpressionTree expression, ClassTree type, MethodTree method) {
    return of(expression, new Place(type, method), 0).stream().map(SourceTexts::tidied)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private record Place(ClassTree type, MethodTree method) {}

  private static String tidied(String text) {
    return text.replaceAll("\\{}|%[sdx]|%\\.\\d[a-z]", UNKNOWN).replaceAll("\\s+", " ").replaceAll("…(\\s?…)+", UNKNOWN)
        .strip();
  }

  private Set<String> of(ExpressionTree tree, Place place, int depth) {
    if (depth > DEEPEST) {
      return Set.of(UNKNOWN);
    }
    if (tree instanceof LiteralTree literal) {
      return Set.of(literal.getValue() == null ? UNKNOWN : String.valueOf(literal.getValue()));
    }
    if (tree instanceof ParenthesizedTree inner) {
      return of(inner.getExpression(), place, depth);
    }
    if (tree instanceof BinaryTree sum && sum.getKind() == Tree.Kind.PLUS) {
      return joined(of(sum.getLeftOperand(), place, depth), of(sum.getRightOperand(), place, depth));
    }
    if (tree instanceof ConditionalExpressionTree choice) {
      Set<String> both = new LinkedHashSet<>(of(choice.getTrueExpression(), place, depth));
      both.addAll(of(choice.getFalseExpression(), place, depth));
      return both;
    }
    if (tree instanceof IdentifierTree name) {
      return ofName(name.getName().toString(), place, depth);
    }
    if (tree instanceof MemberSelectTree select) {
      ExpressionTree value = constants.get(select.getExpression() + "." + select.getIdentifier());
      return value == null ? Set.of(UNKNOWN) : of(value, place, depth + 1);
    }
    return tree instanceof MethodInvocationTree call ? ofCall(call, place, depth) : Set.of(UNKNOWN);
  }

  private static Set<String> joined(Set<String> left, Set<String> right) {
    Set<String> all = new LinkedHashSet<>();
    left.forEach(one -> right.forEach(other -> all.add(one + other)));
    return all.stream().limit(MOST).collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private Set<String> ofName(String name, Place place, int depth) {
    ExpressionTree value = constants.get(place.type().getSimpleName() + "." + name);
    if (value == null && place.method() != null && place.method().getBody() != null) {
      List<ExpressionTree> found = new ArrayList<>();
      new TreeScanner<Void, Void>() {
        @Override
        public Void visitVariable(VariableTree variable, Void unused) {
          // A variable that begins as a number is counted on.
          if (variable.getName().contentEquals(name) && variable.getInitializer() != null
              && !(variable.getInitializer() instanceof LiteralTree literal && literal.getValue() instanceof Number)) {
            found.add(variable.getInitializer());
          }
          return super.visitVariable(variable, unused);
        }
      }.scan(place.method().getBody(), null);
      value = found.isEmpty() ? null : found.get(0);
    }
    return value == null ? Set.of(UNKNOWN) : of(value, place, depth + 1);
  }

  private Set<String> ofCall(MethodInvocationTree call, Place place, int depth) {
    if (call.getMethodSelect().toString().equals("String.format")) {
      return of(call.getArguments().get(0), place, depth);
    }
    if (!(call.getMethodSelect() instanceof IdentifierTree name)) {
      return Set.of(UNKNOWN);
    }
    Set<String> texts = new LinkedHashSet<>();
    for (Tree member : place.type().getMembers()) {
      if (member instanceof MethodTree method && method.getName().equals(name.getName())
          && method.getReturnType() != null
          && method.getReturnType().toString().equals("String")) {
        new TreeScanner<Void, Void>() {
          @Override
          public Void visitReturn(ReturnTree result, Void unused) {
            texts.addAll(of(result.getExpression(), new Place(place.type(), method), depth + 1));
            return null;
          }
        }.scan(method.getBody(), null);
      }
    }
    return texts.isEmpty() ? Set.of(UNKNOWN) : texts;
  }
}
