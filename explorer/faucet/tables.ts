import { bytes, defineTable, int, nullable, numbered, text } from '../database/defineTable.ts'

/* Grants of the faucet. No node can provide them again, so these tables are next to the index: services.ts. */

export const FAUCET_TABLES = {
  /** Coins for an account. */
  faucet_grant: defineTable({
    since: '0002_faucet',
    columns: {
      number: numbered,
      /** 20 bytes */
      address: bytes,
      /** acoin */
      amount: bytes,
      /** when it was asked for */
      created: int,
      /** one of {@link GRANT_STATES} */
      state: text,
      /** nonce of the payment, from `sent` on */
      nonce: nullable(int),
      /** the signed transaction: no other is sent until this one can never be in a block */
      raw: nullable(bytes),
      hash: nullable(bytes),
      /** height of the index when the transaction was signed: no block up to there has it */
      signed_height: nullable(int),
      /** of the block that it is in */
      height: nullable(int),
      /** why it failed */
      problem: nullable(text),
    },
    key: ['number'],
    indexes: {
      faucet_grant_state: { columns: ['state', 'number'] },
    },
  }),
  /** How much of a limit is used up. */
  faucet_limit: defineTable({
    since: '0002_faucet',
    columns: {
      /** `address …`, `client …` or `all` */
      subject: text,
      /** when its first grant of the last 24 hours was */
      since: int,
      count: int,
    },
    key: ['subject'],
    indexes: {
      faucet_limit_since: { columns: ['since'] },
    },
  }),
} as const

/** waiting: not signed yet; sent: its transaction may be in a block at any time; paid and failed: it is over. */
export const GRANT_STATES = ['waiting', 'sent', 'paid', 'failed'] as const
