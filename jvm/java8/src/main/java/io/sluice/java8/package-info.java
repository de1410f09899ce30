/**
 * Static methods in place of the JDK methods that Java 8 lacks and Sluice calls.
 *
 * <p>The class for {@code java.util.List} is {@code JavaUtilList}, and so on. Its methods have the replaced method's
 * name and parameters; the receiver of an instance method comes first. The build ({@code io.sluice.java8.build}) finds
 * them by that rule and redirects calls of the Java 8 classes to them; on Java 17 and later nothing of this package is
 * loaded. Where Java 8 has no such class at all ({@code CRC32C}), the class here takes its place; it is an interface
 * where that is one.
 *
 * <p>Collections made here are unmodifiable copies and refuse null, as the JDK's do.
 */
package io.sluice.java8;
