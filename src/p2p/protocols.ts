/** Names of the stream protocols. A change that an older node would misread gets a new number. */
export const PROTOCOLS = {
  /** the greeting of a connection: who is at each end, and of which chain (connections.ts) */
  hello: '/coind/hello/1',
  /** votes, proposals and statuses; each side opens one and only writes to it */
  consensus: '/coind/consensus/1',
  /** parts of blocks, so that votes need not wait behind them */
  parts: '/coind/parts/1',
  blocks: '/coind/blocks/1',
  peers: '/coind/peers/1',
  status: '/coind/status/1',
} as const

export type ProtocolName = keyof typeof PROTOCOLS

/** Version in the hello: nodes with different versions refuse each other. */
export const PROTOCOL_VERSION = 1
