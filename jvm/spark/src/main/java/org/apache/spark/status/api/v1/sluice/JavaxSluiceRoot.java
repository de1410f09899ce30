package org.apache.spark.status.api.v1.sluice;

import javax.servlet.ServletContext;
import javax.servlet.http.HttpServletRequest;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;
import javax.ws.rs.core.Context;

/** Where Sluice's part of the REST interface begins, on Spark 3; found by its annotation. One for each request. */
@Path("/v1")
public final class JavaxSluiceRoot {
  @Context private ServletContext servletContext;
  @Context private HttpServletRequest request;

  @Path("applications/{appId}/sluice")
  public JavaxSluiceResource ofApplication(@PathParam("appId") String appId) {
    return resource(appId, null);
  }

  @Path("applications/{appId}/{attemptId}/sluice")
  public JavaxSluiceResource ofAttempt(@PathParam("appId") String appId, @PathParam("attemptId") String attemptId) {
    return resource(appId, attemptId);
  }

  private JavaxSluiceResource resource(String appId, String attemptId) {
    return new JavaxSluiceResource(new SluiceView(servletContext, request.getRemoteUser(), appId, attemptId));
  }
}
