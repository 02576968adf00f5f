import type { MessageSummary } from '@mayfly/client';
import type { Page } from '@playwright/test';

/** Shows a message in the page, by a preview link. @throws Error when the server does not show it */
export async function openMail(page: Page, message: MessageSummary): Promise<void> {
  const response = await page.goto(await message.previewUrl());
  // Playwright shows error pages as any other.
  if (response && !response.ok())
    throw new Error(
      `The mail cannot be shown: ${response.url()} responded ${response.status()}. ${await response.text()}`,
    );
  // A mail program opens links in a new tab; a test goes on in its page.
  await page.evaluate(
    `document.querySelectorAll('[target]').forEach((element) => element.removeAttribute('target'))`,
  );
}
