import { bytes, defineTable, int, nullable, numbered, text, unique } from '../database/defineTable.ts'

/*
 * Verified contracts, and the requests to verify them. No node can provide them again, so these tables are next to the index: services.ts.
 */

export const VERIFICATION_TABLES = {
  /** A contract whose code is that of known sources. */
  verified_contract: defineTable({
    since: '0003_verification',
    columns: {
      /** in the order of their first verification */
      number: numbered,
      address: unique(bytes),
      /** of its creation, as in the index; null: the index does not know it */
      position: nullable(int),
      /** of the block of its creation, in which another contract at this address or another chain is noticed; null as `position` */
      block_hash: nullable(bytes),
      /** see {@link MATCH_LEVELS} */
      runtime_match: int,
      creation_match: int,
      /** higher for better matches: a lower score never replaces a higher one */
      score: int,
      /** milliseconds since 1970 */
      verified_at: int,
      /** name and ABI, which pages ask for often: gzip of JSON, verify/verifiedContracts.ts */
      interface: bytes,
      /** all that is known: gzip of JSON */
      content: bytes,
    },
    key: ['number'],
  }),
  /** A request to verify a contract. */
  verification_job: defineTable({
    since: '0003_verification',
    columns: {
      /** UUID */
      id: text,
      address: bytes,
      /** milliseconds since 1970, as all times here */
      started_at: int,
      /** when the explorer that works on it last reported; after it has ended, nothing reports */
      alive_at: int,
      /** null: it waits, or is under way */
      finished_at: nullable(int),
      /** that solc took */
      compile_ms: nullable(int),
      /** see {@link MATCH_LEVELS}; null: not known, or failed */
      runtime_match: nullable(int),
      creation_match: nullable(int),
      /** why it failed, in the words of Sourcify */
      error_code: nullable(text),
      error_message: nullable(text),
    },
    key: ['id'],
    isKeyed: false,
    indexes: {
      verification_job_started: { columns: ['started_at'] },
    },
  }),
  /** A proxy and the contract whose code it runs. */
  proxy_link: defineTable({
    since: '0004_proxies',
    columns: {
      address: bytes,
      implementation: bytes,
      /** milliseconds since 1970 */
      linked_at: int,
    },
    key: ['address'],
  }),
} as const

/** How well code matches the sources, in Sourcify's terms. */
export const MATCH_LEVELS = { none: 0, match: 1, exact_match: 2 } as const
