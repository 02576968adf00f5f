import { existsSync, readFileSync } from 'node:fs';

interface AddressCorpus {
  deny_ip: string[];
  deny_ip_mailpit_style: string[];
  allow_ip: string[];
  deny_url: string[];
}

const FILE = new URL('../../../../../../shared/corpora/ssrf-addresses/addresses.json', import.meta.url);

/** The shared list of addresses and URLs, or undefined where it is not at hand. */
export const corpus: AddressCorpus | undefined = existsSync(FILE)
  ? JSON.parse(readFileSync(FILE, 'utf8'))
  : undefined;

/** To be put behind the name of a test that needs the corpus. */
export const corpusNote = corpus ? '' : ' (skipped: ../shared/corpora/ssrf-addresses is not there)';
