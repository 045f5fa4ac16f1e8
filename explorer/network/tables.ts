import { bytes, defineTable, int, nullable, numbered, text, unique } from '../database/defineTable.ts'

/* Nodes that report. No node can provide its old reports again, so these tables are next to the index: services.ts. */

export const NETWORK_TABLES = {
  /** A node that reports. Times are milliseconds since 1970. */
  node: defineTable({
    since: '0001_network',
    columns: {
      /** in the order of their first reports */
      number: numbered,
      /** 20 bytes */
      node_id: unique(bytes),
      /** 1: its reports are signed by the key of its node ID */
      is_verified: int,
      /** when the newest signed report was signed: an older one is a replay */
      signed_at: int,
      first_seen: int,
      last_seen: int,
      moniker: text,
      version: text,
      height: int,
      block_hash: bytes,
      block_time: int,
      peers: int,
      /** blocks that it was behind the chain when it reported */
      lag: int,
      rpc_address: nullable(text),
      /** when its RPC address was asked last; 0: never */
      probed_at: int,
      /** milliseconds that a right answer took; null: there was none */
      rpc_latency: nullable(int),
      /** why there was none */
      rpc_problem: nullable(text),
    },
    key: ['number'],
    indexes: {
      node_last_seen: { columns: ['is_verified', 'last_seen'] },
    },
  }),
  /** The reports of a node in an hour. */
  heartbeat: defineTable({
    since: '0001_network',
    columns: {
      node_id: bytes,
      /** when the hour began */
      hour: int,
      reports: int,
      /** of the last report in the hour */
      height: int,
      lag: int,
      peers: int,
    },
    key: ['node_id', 'hour'],
    indexes: {
      heartbeat_hour: { columns: ['hour'] },
    },
  }),
} as const
