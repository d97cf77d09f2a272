import com.unboundid.scim2.client.ScimService;
import com.unboundid.scim2.common.exceptions.ResourceConflictException;
import com.unboundid.scim2.common.filters.Filter;
import com.unboundid.scim2.common.types.GroupResource;
import com.unboundid.scim2.common.types.Member;
import com.unboundid.scim2.common.types.UserResource;
import jakarta.ws.rs.client.ClientBuilder;
import jakarta.ws.rs.client.ClientRequestFilter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.glassfish.jersey.client.HttpUrlConnectorProvider;

/** What a program with Ping's SCIM 2 SDK does: it follows the addresses of resources. */
public class Drive {
  static <T> T check(String name, Callable<T> work) {
    try {
      T value = work.call();
      System.out.println("ok " + name);
      return value;
    } catch (Exception fault) {
      System.out.println("not ok " + name + ": " + String.valueOf(fault).replace('\n', ' '));
      System.exit(0);
      return null;
    }
  }

  static boolean expect(boolean condition) {
    if (!condition) throw new IllegalStateException("not as expected");
    return true;
  }

  public static void main(String[] args) {
    Logger.getLogger("").setLevel(Level.OFF);
    String key = "Bearer " + System.getenv("API_KEY");
    var client = ClientBuilder.newClient()
        // java.net knows no PATCH.
        .property(HttpUrlConnectorProvider.SET_METHOD_WORKAROUND, true)
        .register((ClientRequestFilter) request -> request.getHeaders().putSingle("Authorization", key));
    var scim = new ScimService(client.target(System.getenv("SCIM_URL")));

    check("discover", () -> expect(scim.getServiceProviderConfig().getPatch().isSupported()
        && scim.getSchemas().getTotalResults() == 2
        && scim.getResourceType("User").getName().equals("User")));
    var wanted = new UserResource().setUserName("Sdk.User@example.com").setActive(true);
    wanted.setExternalId("sdk-1");
    var user = check("create a user", () -> scim.create("Users", wanted));
    check("create it again", () -> {
      try {
        scim.create("Users", new UserResource().setUserName("sdk.user@example.com"));
      } catch (ResourceConflictException refused) {
        return expect("uniqueness".equals(refused.getScimError().getScimType()));
      }
      return expect(false);
    });
    check("retrieve it by its address", () -> expect(scim.retrieve(user).getExternalId().equals("sdk-1")));
    check("search", () -> expect(scim.searchRequest("Users").filter(Filter.eq("userName", "sdk.user@example.com"))
        .page(1, 10).invoke(UserResource.class).getTotalResults() == 1));
    check("search by POST", () -> expect(scim.searchRequest("Users").filter(Filter.eq("externalId", "sdk-1"))
        .attributes("userName").invokePost(UserResource.class).getTotalResults() == 1));
    check("modify it", () -> expect(!scim.modifyRequest(user).replaceValue("active", false).invoke().getActive()));
    check("rename it", () -> expect(scim.replace(scim.retrieve(user).setUserName("sdk.renamed@example.com"))
        .getUserName().equals("sdk.renamed@example.com")));
    var group = check("create a group with a member", () -> scim.create("Groups",
        new GroupResource().setDisplayName("SDK").setMembers(List.of(new Member().setValue(user.getId())))));
    check("read its members", () -> expect(scim.retrieve(group).getMembers().size() == 1));
    check("delete both", () -> {
      scim.delete(group);
      scim.delete(user);
      return true;
    });
  }
}
