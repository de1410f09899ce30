/**
 * The JVM edge of the one-sided transport: blocks of other executors are read straight from their files into leased
 * memory here, without a thread of their JVM.
 *
 * <pre>
 *   map task    writer ── PublishingWriter ──→ Publisher ───────────────→ BlockTransport (native)
 *   reduce task Spark's fetch iterator ──→ OneSidedBlockClient ──→ TransportService ──→ ″
 *                                                 └── all other blocks ──────────→ Spark's block transfer
 *   executor    PeerDiscovery ←── heartbeat, changes ─→ PeerRegistry (driver)
 * </pre>
 *
 * Invariants:
 * <ul>
 *   <li>Every block is always readable through Spark's block transfer; the transport is only ever the faster way. A
 *       block that fails one-sidedly is fetched through it before a failure is reported to Spark.
 *   <li>Spark's listener is called once for each block, whatever fails, is closed or comes late, and without a lock.
 *   <li>Memory of a received block is freed once, when the last reference to it is released.
 *   <li>Nothing here fails a task or an executor: not a peer's death, not a publication, not the discovery.
 * </ul>
 *
 * <p>Not here: which block is where ({@code MapOutputTracker}), retries and corruption (Spark's fetch iterator), the
 * bytes of a block.
 */
package io.sluice.spark.transport;
