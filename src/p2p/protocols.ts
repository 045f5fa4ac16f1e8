/** Names of the stream protocols. An incompatible change gets a new number. */
export const PROTOCOLS = {
  /** the handshake of a connection: identity and chain of each side (connections.ts) */
  hello: '/coind/hello/1',
  /** votes, proposals and statuses; each side opens one stream and only writes to it */
  consensus: '/coind/consensus/2',
  /** parts of blocks; separate, so that votes need not wait for them */
  parts: '/coind/parts/1',
  blocks: '/coind/blocks/1',
  peers: '/coind/peers/1',
  status: '/coind/status/1',
  /** header, commit and validators of a height (lightExchange.ts) */
  light: '/coind/light/1',
  /** old blocks without their transactions, from a height down (headerExchange.ts) */
  headers: '/coind/headers/1',
  /** snapshots of the state, in pieces (snapshotExchange.ts) */
  snapshots: '/coind/snapshots/1',
} as const

export type ProtocolName = keyof typeof PROTOCOLS

/** Version in the hello: nodes with different versions refuse each other. */
export const PROTOCOL_VERSION = 1
