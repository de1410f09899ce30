package io.sluice.bench;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** A long test, which {@code ./sluice test --all} alone runs ({@code -Dunittests.inAll=true}). */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@EnabledIfSystemProperty(named = "unittests.inAll", matches = "true", disabledReason = "runs with ./sluice test --all")
public @interface InAll {}
