/**
 * Makes classes of Java 17 loadable on an older Java, when the jar is packaged. Not part of the jar.
 *
 * <pre>
 * Main           reads a jar or a folder, writes the other
 * ClassRewriter  one class: version, records, string concatenation, private members, calls of the JDK
 * JdkApi         which classes and members the older Java has, from the JDK's own table (lib/ct.sym)
 * ApiRewriter    replaces calls of missing APIs by calls of io.sluice.java8, or ends the build with an error
 * </pre>
 *
 * Not supported: new constant kinds, pattern switches and whatever javac makes only for releases after 17. A
 * class that needs such a thing ends the build.
 */
package io.sluice.java8.build;
