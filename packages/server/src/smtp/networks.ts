import ipaddr from 'ipaddr.js';

export type NetworkMatch = (address: string | undefined) => boolean;

/** @param networks addresses or networks in CIDR form @throws Error for one that is neither */
export function networkMatch(networks: readonly string[]): NetworkMatch {
  const ranges = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${network.includes(':') ? 128 : 32}`),
  );
  return (text) => {
    if (ranges.length === 0 || text === undefined || !ipaddr.isValid(text)) return false;
    // Dual-stack listeners report an IPv4 peer as ::ffff:a.b.c.d.
    const address = ipaddr.process(text);
    return ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
  };
}

export const isLoopback: NetworkMatch = networkMatch(['127.0.0.0/8', '::1']);
