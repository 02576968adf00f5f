import { type Static, Type } from 'typebox';
import { ref } from './ref.ts';

/** A domain under which the account may have inboxes. */
export const ServedDomain = Type.Object(
  {
    domain: Type.String({ description: 'The domain.', examples: ['mayfly.test'] }),
    default: Type.Boolean({ description: 'Whether new inboxes are here when the request names no domain.' }),
    shared: Type.Boolean({ description: 'True: every account may use it. False: yours alone.' }),
  },
  { $id: 'ServedDomain', description: 'A domain under which you may have inboxes.' },
);
export type ServedDomain = Static<typeof ServedDomain>;

export const DomainList = Type.Object(
  { domains: Type.Array(ref(ServedDomain), { description: 'The default first, then by name.' }) },
  { $id: 'DomainList', description: 'The domains that the account may use.' },
);
export type DomainList = Static<typeof DomainList>;
