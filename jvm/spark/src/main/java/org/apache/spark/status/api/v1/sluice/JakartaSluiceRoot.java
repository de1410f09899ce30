package org.apache.spark.status.api.v1.sluice;

import jakarta.servlet.ServletContext;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Context;

/** Where Sluice's part of the REST interface begins, on Spark 4; found by its annotation. One for each request. */
@Path("/v1")
public final class JakartaSluiceRoot {
  @Context private ServletContext servletContext;
  @Context private HttpServletRequest request;

  @Path("applications/{appId}/sluice")
  public JakartaSluiceResource ofApplication(@PathParam("appId") String appId) {
    return resource(appId, null);
  }

  @Path("applications/{appId}/{attemptId}/sluice")
  public JakartaSluiceResource ofAttempt(@PathParam("appId") String appId, @PathParam("attemptId") String attemptId) {
    return resource(appId, attemptId);
  }

  private JakartaSluiceResource resource(String appId, String attemptId) {
    return new JakartaSluiceResource(new SluiceView(servletContext, request.getRemoteUser(), appId, attemptId));
  }
}
