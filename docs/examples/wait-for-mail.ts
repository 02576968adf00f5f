const API = process.env.API ?? 'http://127.0.0.1:8025';

/**
 * Waits for one message that matches.
 * Throws with the server's error, or with the explanation of a wait that found nothing.
 */
export async function waitForMail(inbox: { id: string; token: string }, match = {}, timeoutSeconds = 20) {
  const response = await fetch(`${API}/v1/inboxes/${inbox.id}/wait`, {
    method: 'POST',
    headers: { authorization: `Bearer ${inbox.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ match, timeoutSeconds }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The wait failed with status ${response.status}: ${text}`);
  const { matched, messages, explanation } = JSON.parse(text);
  if (!matched) throw new Error(`No message matched: ${JSON.stringify(explanation, null, 2)}`);
  return messages[0];
}
