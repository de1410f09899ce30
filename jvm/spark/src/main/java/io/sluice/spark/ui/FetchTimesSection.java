package io.sluice.spark.ui;

import io.sluice.spark.metrics.LatencyCounts;
import java.util.List;

/** The part of the page of executors that says how long fetched blocks took: a histogram, and the slowest peers. */
final class FetchTimesSection {
  private static final int MOST_PEERS = 20;
  private static final String TABLE =
      "<table class=\"table table-bordered table-sm table-striped w-auto\"><thead><tr>";

  private final Html html;

  FetchTimesSection(Html html) {
    this.html = html;
  }

  void add(List<ExecutorRow> executors) {
    FetchTimes times = FetchTimes.of(executors);
    html.raw("<h4>How long fetched blocks took</h4>");
    if (times.all().blocks() == 0) {
      html.raw("<p>No executor has reported a block of another executor yet.</p>");
      return;
    }
    html.raw("<p class=\"text-muted\">From the request of a block until it is there, by whatever transport; since ")
        .raw(
            "executors started. Several blocks are under way at a time.</p>")
        .raw("<div class=\"row\"><div class=\"col-auto\">");
    histogram(times.all());
    html.raw("</div><div class=\"col-auto\">");
    peers(times.peers());
    html.raw("</div></div>");
  }

  private void histogram(LatencyCounts all) {
    head("Latency", "Blocks", "Compared", "Up to this");
    long most = 1;
    for (int i = 0; i < LatencyCounts.BUCKETS; i++) {
      most = Math.max(most, all.count(i));
    }
    long seen = 0;
    for (int i = 0; i < LatencyCounts.BUCKETS; i++) {
      seen += all.count(i);
      html.raw("<tr>").number(LatencyCounts.label(i)).number(Amounts.count(all.count(i))).raw("<td>");
      Drawing.bar(html, all.count(i), most);
      html.raw("</td>").number(Amounts.percent(seen, all.blocks())).raw("</tr>");
    }
    html.raw("</tbody></table><p style=\"max-width:24em\">").text(words(all)).raw("</p>");
  }

  /** Percentiles in words. */
  static String words(LatencyCounts counts) {
    return Amounts.count(counts.blocks()) + " blocks: half within " + Amounts.nanos(counts.percentile(0.5))
        + ", 95 % within "
        + Amounts.nanos(counts.percentile(FetchTimes.SLOW)) + ", all within " + Amounts.nanos(counts.longestNanos())
        + ".";
  }

  private void peers(List<FetchTimes.Peer> peers) {
    head("Slowest peers", "Named by", "Blocks", "Latencies", "95 % within", "Longest", "Share of the time");
    for (FetchTimes.Peer peer : peers.subList(0, Math.min(MOST_PEERS, peers.size()))) {
      html.raw("<tr>").cell("executor " + peer.executorId()).number(Amounts.count(peer.readers()))
          .number(Amounts.count(peer.blocks().blocks())).raw("<td>");
      Drawing.latencies(html, peer.blocks());
      html.raw("</td>").number(Amounts.nanos(peer.blocks().percentile(FetchTimes.SLOW)))
          .number(Amounts.nanos(peer.blocks().longestNanos()))
          .number(Amounts.percent(peer.blocks().totalNanos(), peer.ofReaders().totalNanos())).raw("</tr>");
    }
    html.raw("</tbody></table><p class=\"text-muted\" style=\"max-width:44em\">")
        .raw("Each executor names at most five, whose blocks take it longest. The ")
        .raw("share is of the latencies of all blocks that these readers fetched");
    html.text(peers.size() > MOST_PEERS
        ? "; " + Amounts.count(peers.size() - MOST_PEERS) + " more were named." : ".").raw("</p>");
  }

  private void head(String... heads) {
    html.raw(TABLE);
    for (String head : heads) {
      html.raw("<th scope=\"col\">").text(head).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
  }
}
