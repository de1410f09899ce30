package io.sluice.bench.scale;

import java.util.List;

/**
 * {@code y = a·x + b·z} by least squares of relative errors, neither {@code a} nor {@code b} below 0.
 *
 * @param a of {@code x}
 * @param b of {@code z}
 * @param mostOff the largest relative error at a point
 */
public record Fit(double a, double b, double mostOff) {

  /** A measured {@code y} above 0 at {@code x} and {@code z}. */
  public record Point(double x, double z, double y) {}

  /** Through at least two points. */
  public static Fit of(List<Point> points) {
    double xx = 0;
    double xz = 0;
    double zz = 0;
    double xs = 0;
    double zs = 0;
    for (Point point : points) {
      double x = point.x / point.y;
      double z = point.z / point.y;
      xx += x * x;
      xz += x * z;
      zz += z * z;
      xs += x;
      zs += z;
    }
    double determinant = xx * zz - xz * xz;
    double a = (xs * zz - zs * xz) / determinant;
    double b = (zs * xx - xs * xz) / determinant;
    if (b < 0) {
      a = xs / xx;
      b = 0;
    } else if (a < 0) {
      a = 0;
      b = zs / zz;
    }
    double most = 0;
    for (Point point : points) {
      most = Math.max(most, Math.abs((a * point.x + b * point.z) / point.y - 1));
    }
    return new Fit(a, b, most);
  }
}
