/**
 * {@code ./sluice doctor} and {@code java -jar sluice-VERSION.jar doctor}: looks at a machine and says which modes of
 * Sluice it can run.
 *
 * <pre>
 * Options ─► Doctor ─► Check… ── ask ─► Host (/proc, /sys, programs)
 *                        │
 *                        ▼
 *                     Finding… ─► Mode's requirements ─► ModeVerdict… ─► Report ─► text or JSON, exit code
 * </pre>
 *
 * Invariants: nothing on the machine is changed (a file is made and removed to see that a folder can be written); a
 * file that cannot be read is a finding, never an exception; every program that is run has a time limit; no class
 * of Spark and no third-party class is used, so that the jar alone is enough.
 *
 * <p>It does not load UCX, open RDMA devices or connect to other machines.
 */
package io.sluice.doctor;
