/**
 * {@code java -jar sluice-VERSION.jar perftest}: whether, how and how fast a process of one machine reads the memory of
 * a process of another with Sluice's transport. It needs the jar alone.
 *
 * <pre>
 * --listen   BlockFile ─► Transport ── address over a TCP connection ─► Transport   --connect
 *                            ▲──────────────── one-sided reads ──────────────┘
 * </pre>
 */
package io.sluice.doctor.perftest;
