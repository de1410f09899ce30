package org.apache.spark.status.api.v1.sluice;

import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.MediaType;
import java.util.List;
import java.util.Map;

/** What can be asked of one application, on Spark 4; Spark makes JSON of the answers. */
@Produces(MediaType.APPLICATION_JSON)
public final class JakartaSluiceResource {
  private final SluiceView view;

  JakartaSluiceResource(SluiceView view) {
    this.view = view;
  }

  @GET
  public Map<String, Object> overview() {
    return view.overview();
  }

  @GET
  @Path("shuffles")
  public List<Map<String, Object>> shuffles(
      @DefaultValue("0") @QueryParam("offset") int offset, @DefaultValue("-1") @QueryParam("length") int length) {
    return view.shuffles(offset, length);
  }

  @GET
  @Path("shuffles/{shuffleId: \\d+}")
  public Map<String, Object> shuffle(@PathParam("shuffleId") int shuffleId) {
    return view.shuffle(shuffleId);
  }

  @GET
  @Path("executors")
  public List<Map<String, Object>> executors() {
    return view.executors();
  }

  @GET
  @Path("diagnosis")
  public List<String> diagnosis() {
    return view.diagnosis();
  }
}
