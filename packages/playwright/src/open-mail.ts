import type { MessageSummary } from '@mayfly/client';
import type { Page } from '@playwright/test';

/** Opens a message in the page through a preview link. @throws Error if the server returns an error */
export async function openMail(page: Page, message: MessageSummary): Promise<void> {
  const response = await page.goto(await message.previewUrl());
  // Playwright does not throw for error responses.
  if (response && !response.ok())
    throw new Error(
      `The mail cannot be shown: ${response.url()} responded ${response.status()}. ${await response.text()}`,
    );
  // Links of a mail open in a new tab, but a test continues in its page.
  await page.evaluate(
    `document.querySelectorAll('[target]').forEach((element) => element.removeAttribute('target'))`,
  );
}
