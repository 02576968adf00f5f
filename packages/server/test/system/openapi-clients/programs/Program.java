import app.mayfly.ApiClient;
import app.mayfly.ApiException;
import app.mayfly.api.InboxesApi;
import app.mayfly.api.MessagesApi;
import app.mayfly.model.CreateInbox;
import app.mayfly.model.CreatedInbox;
import app.mayfly.model.Message;
import app.mayfly.model.MessageMatch;
import app.mayfly.model.Problem;
import app.mayfly.model.WaitRequest;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.Map;

/** With a client of openapi-generator (java, library native). Arguments: the address of the API, an API key. */
public final class Program {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[1]));
    InboxesApi inboxes = new InboxesApi(client);
    MessagesApi messages = new MessagesApi(client);
    ObjectMapper json = client.getObjectMapper();

    CreatedInbox inbox = inboxes.createInbox(null, new CreateInbox().ttlMinutes(5).putLabelsItem("run", "java"));
    String mail = String.join("\r\n",
        "From: Shop <no-reply@shop.example>", "To: " + inbox.getAddress(), "Subject: Please confirm your address",
        "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b", "", "--b", "", "Your code is 482913.",
        "--b", "Content-Type: application/octet-stream; name=terms.bin", "Content-Transfer-Encoding: base64", "",
        "AP+ACg0=", "--b--", "");
    messages.injectMessage(inbox.getId(), mail, "no-reply@shop.example", null);

    WaitRequest request = new WaitRequest().match(new MessageMatch().subject("confirm")).timeoutSeconds(BigDecimal.valueOf(20));
    String messageId = messages.waitForMessages(inbox.getId(), request).getMessages().get(0).getId();
    Message message = messages.getMessage(inbox.getId(), messageId, null, null);
    String attachmentId = message.getAttachments().get(0).getId();
    byte[] raw = Files.readAllBytes(messages.getRawMessage(inbox.getId(), messageId, null).toPath());
    byte[] bytes = Files.readAllBytes(
        messages.getAttachment(inbox.getId(), messageId, attachmentId, null, null, null).toPath());
    int[] attachment = new int[bytes.length];
    for (int i = 0; i < bytes.length; i++) attachment[i] = bytes[i] & 0xff;

    Map<String, Object> output = new LinkedHashMap<>();
    output.put("subject", message.getSubject());
    output.put("code", message.getCodes().get(0).getValue());
    output.put("rawSize", new int[] {raw.length, message.getSize()});
    output.put("attachment", attachment);
    output.put("deleted", inboxes.deleteInboxWithHttpInfo(inbox.getId()).getStatusCode());
    try {
      inboxes.getInbox(inbox.getId());
    } catch (ApiException e) {
      output.put("gone", json.readValue(e.getResponseBody(), Problem.class).getCode());
    }
    System.out.println(json.writeValueAsString(output));
  }
}
