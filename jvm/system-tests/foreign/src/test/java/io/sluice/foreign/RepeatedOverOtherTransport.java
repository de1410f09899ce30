package io.sluice.foreign;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.scalatest.TagAnnotation;

/**
 * The same tests as in another suite, over another transport of Netty's, which Sluice does not touch: {@code
 * --all-modes} and {@code --all-spark} run them, {@code ./sluice test} does not. On Linux the other suite has epoll by
 * itself.
 */
@TagAnnotation
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface RepeatedOverOtherTransport {}
