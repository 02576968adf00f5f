import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET); // whsec_…
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  try {
    const event = webhook.verify(body, request.headers);
    console.log(event.data.message.subject);
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(process.env.PORT ?? 9000), '127.0.0.1');
