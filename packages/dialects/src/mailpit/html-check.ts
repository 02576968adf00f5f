import type { api } from '@mayfly/client';

/** A mail client as the lint report names it: `Outlook (Windows)`. */
const CLIENT = /^(.*) \((.*)\)$/;

type Support = 'yes' | 'partial' | 'no';

/** Converts our lint report to Mailpit's report of unsupported HTML features. @param html of the message */
export function htmlCheckOf({ features }: api.LintReport, html: string) {
  const warnings = features.map(warningOf);
  const platforms: Record<string, string[]> = {};
  for (const { Family, Platform } of warnings.flatMap(({ Results }) => Results))
    platforms[Platform] = [...new Set([...(platforms[Platform] ?? []), Family])].sort();
  const mean = (of: 'Supported' | 'Partial' | 'Unsupported') =>
    warnings.reduce((sum, { Score }) => sum + Score[of], 0) / (warnings.length || 1);
  return {
    Warnings: warnings,
    Platforms: platforms,
    Total: {
      Tests: warnings.length,
      Nodes: html.match(/<[a-z]/gi)?.length ?? 0,
      Supported: warnings.length === 0 ? 100 : mean('Supported'),
      Partial: mean('Partial'),
      Unsupported: mean('Unsupported'),
    },
  };
}

function warningOf({ feature, reference, lines, full, partial, none }: api.LintFeature) {
  const results = [...of(full, 'yes'), ...of(partial, 'partial'), ...of(none, 'no')];
  const share = (clients: string[]): number => (100 * clients.length) / (results.length || 1);
  return {
    Slug: reference.split('/').filter(Boolean).at(-1) ?? '',
    Title: feature,
    Description: '',
    URL: reference,
    Category: reference.includes('/css-') ? 'css' : 'html',
    Tags: [] as string[],
    Keywords: '',
    Results: results,
    NotesByNumber: {},
    Score: {
      Found: lines.length,
      Supported: share(full),
      Partial: share(partial),
      Unsupported: share(none),
    },
  };
}

const of = (clients: readonly string[], support: Support) =>
  clients.map((client) => {
    const [, family = client, platform = ''] = CLIENT.exec(client) ?? [];
    const Platform = platform.toLowerCase().replaceAll(/[ .]+/g, '-');
    return { Name: client, Platform, Family: family, Version: '', Support: support, NoteNumber: '' };
  });
